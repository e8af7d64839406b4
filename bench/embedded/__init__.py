"""How well the embedded model chooses tools and fills in arguments."""
