"""Splines."""
