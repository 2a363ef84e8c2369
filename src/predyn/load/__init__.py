"""Readers of models: Denavit-Hartenberg tables (dh) and URDF files (urdf)."""
