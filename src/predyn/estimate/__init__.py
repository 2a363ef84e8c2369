"""Torques behind a recorded motion."""
