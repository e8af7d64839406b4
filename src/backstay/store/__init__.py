"""The store: runs, their journals, effects, pending actions, audit and traces, behind one protocol."""
