"""What Backstay costs, measured: `python -m bench`, or `make bench`. The budgets stand in DESIGN, section 7."""
