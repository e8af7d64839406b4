"""What the guard of a run judges by: rules in force, sums under way, labels and what was said before."""
