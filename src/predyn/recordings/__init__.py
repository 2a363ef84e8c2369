"""Recorded motions: measurements, and the readers of their file formats."""
