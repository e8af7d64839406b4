"""From a Python function to what a model is shown, and from what a model says back to a Python call.

    signature_of(function) ── Signature ── schema      shown to the model
                                 │
    validate(model, args) ───────┤         every problem at once, in the model's own words
    canonical_args(input) ───────┤         the one frozen form: judged, journalled, executed, cached
    signature.call(input, ctx) ──┘         real objects, passed by kind of parameter
    dump_result(value, returns)            JSON by the declared type

All reflection happens in `signature_of`, once per tool. Source: SPEC T1, T9, T10, T11.
"""

from backstay.core.schema.arguments import ArgumentsError, validate
from backstay.core.schema.canonical import canonical_args
from backstay.core.schema.constants import constants_of
from backstay.core.schema.json_schema import model_schema, result_schema
from backstay.core.schema.marks import meanings_of, result_meanings
from backstay.core.schema.problems import problems
from backstay.core.schema.results import dump_result
from backstay.core.schema.signature import Signature, signature_of

__all__ = [
    "ArgumentsError",
    "Signature",
    "canonical_args",
    "constants_of",
    "dump_result",
    "meanings_of",
    "model_schema",
    "problems",
    "result_meanings",
    "result_schema",
    "signature_of",
    "validate",
]
