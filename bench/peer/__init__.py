"""The peers: other frameworks doing the same work, each in an environment of its own."""
