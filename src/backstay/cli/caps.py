"""What is used up of the caps of standing grants, by whom.

A cap "a day" is kept in the ledger that all sessions of the store share, under person, day and what the cap says; whose
runs there are tells for whom to look. Any other cap is kept by each session for itself. Source: SPEC B9, B12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from backstay.boundary.constraints import Constraint
from backstay.boundary.grants import Grant
from backstay.boundary.predicates import is_total, most
from backstay.boundary.predicates.units import SECONDS, unit_of
from backstay.boundary.rules import account
from backstay.core.canon import EMPTY
from backstay.core.context import Principal, is_shared
from backstay.store.protocol import RunStore

_ONE = Decimal(1)
_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one person, or one session, has used up of one cap: spent, and reserved by calls under way."""

    rule: str
    who: str
    """Id of the person; of the session where the cap is one of a session."""
    used: Decimal
    most: Decimal
    unit: str
    """`EUR`, `items`, `calls`; used and most are counted in it."""
    per: str
    """`day` or `session`."""

    @property
    def text(self) -> str:
        """`80 of 200 EUR today`."""
        of = f"{self.used:f} of {self.most:f} {self.unit}".rstrip()
        return f"{of} {'today' if self.per == 'day' else 'in this session'}"


def caps(grant: Grant) -> list[Constraint]:
    """The rules of a grant that count something."""
    return [one for one in grant.rules if one.check is not None and is_total(one.check)]


async def used_today(
    store: RunStore, grants: Sequence[Grant], now: float, principal: Principal | None = None
) -> Mapping[str, Sequence[Used]]:
    """Grant → what is used up of its caps "a day", whoever has used most first.

    A person whom a grant names is always there; of everybody's grants only those who have used something.

    Args:
        store: with the ledger and the runs.
        grants: to look at.
        now: seconds since 1970. Which day it is, the zone of each person says.
        principal: for whom; they are told of those whose runs they may see. None: of everybody.
    """
    daily = [(grant, rule) for grant in grants for rule in caps(grant) if is_shared(account(rule, _NOBODY, now))]
    if not daily:
        return EMPTY
    people = await _people(store, principal)
    rows = {
        (rule.id, key): (grant, rule, who)
        for grant, rule in daily
        for who in _those_of(grant, people)
        for key in [account(rule, who, now)]
    }
    spent = await store.spent(list({key: None for _, key in rows}))
    found: dict[str, list[Used]] = {}
    for (_, key), (grant, rule, who) in rows.items():
        if grant.person or spent[key]:
            found.setdefault(grant.id, []).append(_used(rule, who.id, spent[key]))
    return {grant_id: sorted(used, key=lambda one: (one.rule, -one.used)) for grant_id, used in found.items()}


def used_in(session_id: str, spent: Mapping[str, Decimal], grant: Grant) -> Sequence[Used]:
    """What a session has used up of the caps that each session counts for itself.

    Args:
        session_id: whose.
        spent: its keys of the ledger.
        grant: to look at.
    """
    own = [(rule, account(rule, _NOBODY, 0)) for rule in caps(grant)]
    return [_used(rule, session_id, spent.get(key, Decimal(0))) for rule, key in own if not is_shared(key)]


_NOBODY = Principal(id="")


def _those_of(grant: Grant, people: Sequence[Principal]) -> list[Principal]:
    found = [one for one in people if one.tenant == grant.tenant and grant.person in ("", one.id)]
    return found or ([Principal(id=grant.person, tenant=grant.tenant)] if grant.person else [])


async def _people(store: RunStore, principal: Principal | None) -> list[Principal]:
    """Everybody for whom there is a run that the principal may see; somebody in two zones twice."""
    found: dict[tuple[str, str], Principal] = {}
    after = ""
    while page := await store.runs(principal=principal, after=after, limit=_PAGE):
        found.update({(one.principal.key, one.principal.zone): one.principal for one in page})
        after = page[-1].run_id
    return list(found.values())


def _used(rule: Constraint, who: str, used: Decimal) -> Used:
    check = rule.check or EMPTY
    base = SECONDS.get(unit_of(str(check.get("unit", ""))), _ONE)
    unit = check.get("money") or check.get("unit") or ("calls" if check["op"] == "count" else "")
    return Used(
        rule=rule.id,
        who=who,
        used=used / base,
        most=most(check) / base,
        unit=str(unit),
        per=str(check["per"]),
    )
