"""Motions along given paths."""
