"""Examples that run as they are: no key, no network."""
