"""Passive joints integrated in segments: multiple and single shooting."""
