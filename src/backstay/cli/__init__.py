"""The command line: the only room that prints. `main` is the door; each command is a module of its own."""
