"""Provenance: where a value came from, and whether it may go where the call would take it.

    tracing   what of a call is not traced: destinations, free text, secrets
      └── sources   the trusted texts of a session, as an index
            └── tokens    what holds together in running text

Source: SPEC B11.
"""

from backstay.boundary.provenance.sources import SessionSources, TrustedText, texts_in
from backstay.boundary.provenance.tracing import Flow, Sources, origins, sink_values, trace

__all__ = ["Flow", "SessionSources", "Sources", "TrustedText", "origins", "sink_values", "texts_in", "trace"]
