"""Algorithms as printed in the papers, equation by equation, with printed errors corrected."""
