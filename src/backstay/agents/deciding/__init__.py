"""What waits for a person: rows of the inbox, decisions, callbacks and halts."""
