"""AgentDojo's worst case: a model that obeys every injection, against this boundary. Run by hand; see `__main__`."""
