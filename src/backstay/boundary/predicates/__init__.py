"""Predicates: the closed language that constraints are checked in, and its evaluation.

    table ── evaluate, is_missing, check_problems, limit_text; `forbid`, `all`, `any`, `not`
      ├── numbers    comparisons: plain numbers, money, quantities
      ├── sets       one of these, none of these
      ├── windows    spans of days
      ├── units      spellings of units; what a rule about a meaning reaches
      └── language   what is bound, what breaks, what a row is

A check is a JSON object whose `op` names a row of the table; a new kind of check is a new row. Evaluation is pure: the
clock and the zone come in, nothing is converted between currencies, no binary float is calculated with. What cannot
be read as what it should be counts as a breach, and what cannot be evaluated at all raises, so that the caller denies.
Source: SPEC B6, B8; T11.
"""

from backstay.boundary.predicates.language import Bound, Breach
from backstay.boundary.predicates.table import check_problems, evaluate, is_missing, limit_text
from backstay.boundary.predicates.units import selects

__all__ = ["Bound", "Breach", "check_problems", "evaluate", "is_missing", "limit_text", "selects"]
