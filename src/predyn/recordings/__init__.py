"""Recorded motions: measurements and readers for their file formats."""
