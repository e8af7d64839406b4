"""Whether what a user has limited is still there, and still enforced, when the talk is twenty windows long."""
