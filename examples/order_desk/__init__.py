"""The order desk: look-ups run, rules are kept, a refund waits for a person."""
