"""Text becomes predicates: deterministic, English and Chinese, no model. `judge` never imports this.

`parse` reads the rules in a message and is precise first: only restrictive wording of the author's own makes a draft.
`parse_rule` reads one text that is known to be a rule. `bind` fits a draft to tools. Source: SPEC B7, B8; DESIGN 8.2.
"""

from backstay.boundary.text.binding import bind
from backstay.boundary.text.drafts import Draft, ToolWords
from backstay.boundary.text.reading import parse, parse_rule

__all__ = ["Draft", "ToolWords", "bind", "parse", "parse_rule"]
