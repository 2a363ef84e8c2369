"""What is wrong with a problem, before anything is computed."""
