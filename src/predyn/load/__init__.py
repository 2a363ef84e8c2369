"""Readers: a table or a file becomes a Model or Measurements."""
