"""How well sentences become rules: `python -m bench.rules`. Source: SPEC B7, B8."""
