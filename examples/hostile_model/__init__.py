"""A fully wrong model against the boundary, driven from outside through public names only."""
