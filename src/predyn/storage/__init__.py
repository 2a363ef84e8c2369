"""Files written whole or not at all, their formats, and signals held back meanwhile."""
