"""The parts of one step of the loop: its border, its request, its calls, and what may end it."""
