"""What a solution looks like: a self-contained page with plots, tables and an animation."""
