"""From a problem to a nonlinear program and back."""
