"""Algorithms as the papers print them, equation by equation, corrected where the print is wrong."""
