"""Text becomes predicates: deterministic, English and Chinese, no model. `judge` never imports this.

    parse, parse_rule ── reading ── modifiers           who is asked, until when
                            ├────── english_orders, chinese_orders ── orders, places, acts
                            ├────── limits ── things ── numbers, dates; english, chinese: whether they are rules
                            └────── segments            sentences, and what in a message is not its author's
    bind ────────────── binding ─── acts                a draft and the tools that it names
    extraction_problems                                 what a model says that it read

`parse` reads the rules in a message and is precise first: only restrictive wording of the author's own makes a draft.
`parse_rule` reads one text that is known to be a rule. `bind` fits a draft to tools; a draft about an action that none
of them does becomes advisory. Source: SPEC B7, B8; DESIGN 8.2.
"""

from backstay.boundary.text.binding import bind
from backstay.boundary.text.drafts import Act, Draft, ToolWords
from backstay.boundary.text.extraction import extraction_problems
from backstay.boundary.text.reading import parse, parse_rule

__all__ = ["Act", "Draft", "ToolWords", "bind", "extraction_problems", "parse", "parse_rule"]
