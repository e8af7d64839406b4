"""Predicates: the closed language that constraints are checked in, and its evaluation.

    table ── evaluate, ready, is_missing, check_problems, limit_text; `all`, `any`, `not`
      ├── numbers    comparisons: plain numbers, money, quantities
      ├── sets       one of these, none of these
      ├── windows    spans of days
      ├── paths      under these folders
      ├── hosts      at these hosts
      ├── globs      like these patterns
      ├── totals     sums and counts over a session or a day
      ├── others     the same as another argument, among these, in the user's own words, a claim, an owner
      ├── calls      never, only after another tool, as a function of the developer says
      ├── units      spellings of units; what a rule about a meaning reaches
      └── language   what is bound, in which scene, what breaks, what a row is

A check is a JSON object whose `op` names a row of the table; a new kind of check is a new row. Evaluation is pure: the
clock and the zone come in, nothing is converted between currencies, no binary float is calculated with. What cannot
be read as what it should be counts as a breach, and what cannot be evaluated at all raises, so that the caller denies.
Source: SPEC B6, B8; T11.
"""

from backstay.boundary.predicates.language import Bound, Breach, Function, Owner, OwnWords, Scene, Test
from backstay.boundary.predicates.table import (
    WRONG,
    check_problems,
    evaluate,
    is_missing,
    limit_text,
    parts,
    ready,
    unfit,
    why_not,
)
from backstay.boundary.predicates.totals import added, is_total, most
from backstay.boundary.predicates.units import selects

__all__ = [
    "WRONG",
    "Bound",
    "Breach",
    "Function",
    "OwnWords",
    "Owner",
    "Scene",
    "Test",
    "added",
    "check_problems",
    "evaluate",
    "is_missing",
    "is_total",
    "limit_text",
    "most",
    "parts",
    "ready",
    "selects",
    "unfit",
    "why_not",
]
