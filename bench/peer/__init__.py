"""The peer: another framework doing the same work, in an environment of its own."""
