"""What the records of a session are counted into: steps and tokens, repetition, insistence."""
