"""Channels computed from a motion, one per file: values, exact partials, second partials."""
