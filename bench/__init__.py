"""What Backstay costs, measured and printed: `python -m bench` (or `make bench`). The budgets are in DESIGN section 7."""
