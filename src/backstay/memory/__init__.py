"""Memory: what of a session a model is shown, and how it stays valid."""
