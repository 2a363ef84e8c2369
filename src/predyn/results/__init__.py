"""Results for people: folders of files, and texts for a terminal."""
