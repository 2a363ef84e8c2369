"""Atomic writing of files, their formats, and signals that wait until a write is complete."""
