"""Tidy a folder: the agent finds, a person decides, only what was on the screen goes."""
