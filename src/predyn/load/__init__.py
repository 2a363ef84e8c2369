"""Readers: tables and files that become a Model (dh, urdf) or Measurements (recordings)."""
