"""The table of stable codes: for each one what happened and what to do, in words for a person.

Errors, refusals and ends of runs carry a code; `backstay explain CODE` reads this table, and a test fails for a code in
the source that has no row. A row is never renamed, since scripts compare codes. Source: SPEC C6.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import NamedTuple


class Meaning(NamedTuple):
    """What a code says."""

    what: str
    """What happened."""
    do: str
    """What to do about it."""


_SETUP = {
    "error": ("Something went wrong that has no code of its own.", "Read the message; it says what was expected."),
    "setup": ("The program is put together wrongly.", "Change the program as the message says; nothing has run."),
    "internal": (
        "Backstay itself, or code of the app, raised an error that nobody expected.",
        "Run the command again with BACKSTAY_DEBUG=1 to see where, and report it with that output.",
    ),
    "agent.name": ("An agent was made without a name.", "Give it name=; runs and approvals find the agent by it."),
    "app.missing": (
        "The command needs the app and nobody named it.",
        "Give --app module:attribute or --app path/file.py, or set BACKSTAY_APP.",
    ),
    "app.not_found": (
        "The module, file or attribute that was named is not there.",
        "Correct the path; the message lists the agents that the module has.",
    ),
    "app.import": (
        "The app's module raised an error while it was imported.",
        "Mend the module; BACKSTAY_DEBUG=1 shows the whole traceback.",
    ),
    "app.agent": (
        "A run belongs to an agent that this app does not have.",
        "Name the app that has it. The run stays due and loses nothing.",
    ),
    "cli.usage": ("The command line cannot be understood.", "Look at the command's --help."),
    "code.unknown": ("There is no such code.", "`backstay explain` without a code lists them all."),
    "constraint.invalid": (
        "A rule cannot be read, or names a tool or an argument that nobody has.",
        "Correct the rule; it may be a text such as 'only the last 30 days' or a Constraint record.",
    ),
    "deps.missing": (
        "A run was started with deps, and the process that resumes it has none.",
        "Give the agent deps_for=, a function of principal and run id. The run stays due.",
    ),
    "input.empty": ("The input has no words.", "Say what is wanted."),
    "limits": (
        "A limit cannot be kept: it is not above 0, or it counts USD on a model whose price is unknown.",
        "Correct the number, give the model a price, or limit tokens instead.",
    ),
    "memory.config": (
        "A memory's settings could never hold what it must hold.",
        "Raise its size or its threshold as the message says.",
    ),
    "model.unknown": (
        "No model answers to this name.",
        "Write provider:model with a provider from the message, or pass a model object.",
    ),
    "model.base_url": (
        "The address of a model's server is none, or was given for a model that has no server.",
        "Write http://HOST:PORT/v1 or https://HOST/v1, or leave it out.",
    ),
    "model.extra": (
        "The package through which this model is asked is not installed.",
        "Install the extra that the message names, such as backstay[openai].",
    ),
    "principal.kind": (
        "The option --as names a kind of person that there is not.",
        "Use ID:developer, operator, member, customer or anonymous.",
    ),
    "run.stream": (
        "A stream was read before it was opened.",
        "Use `async with agent.run_stream(...) as stream`.",
    ),
    "run.sync": ("A call of run_sync was made inside a running event loop.", "Use `await agent.run(...)` there."),
}

_TOOLS = {
    "tool.definition": (
        "A function or class cannot become a tool, or two tools have one name.",
        "Change the parameter or the name that the message speaks of.",
    ),
    "tool.undescribed": (
        "A tool has no description, so no model could know when to use it.",
        "Give the function a docstring that says what it does and when to use it.",
    ),
    "tool.risk_undeclared": (
        "A tool's name or description speaks of high impact and does not say how much harm it can do.",
        "Declare risk='high', 'write' or 'read'.",
    ),
    "tool.failed": ("A tool raised an error.", "The message is the tool's own; the model was told and went on."),
    "tool.input": (
        "A tool was called with arguments that do not fit.",
        "Nothing ran. The model is told field, expectation and value, and mends its arguments.",
    ),
    "tool.timeout": (
        "A tool did not answer in time and was stopped.",
        "Raise the tool's timeout=, or find out why what it depends on is slow.",
    ),
    "tool.circuit_open": (
        "What a tool depends on has failed several times in a row and is left alone for a while.",
        "Wait; one probe follows by itself. Look after the service behind the tool.",
    ),
    "tool.unknown": (
        "The model called a tool that there is not.",
        "Nothing ran; the model was told which tools exist.",
    ),
    "tool.high": (
        "The model called a high-impact tool directly.",
        "Nothing ran. Such a tool can only be proposed, and a person decides.",
    ),
    "history.lost": (
        "An earlier call in the history has no result.",
        "Nothing to do: the history was completed so that a provider takes it.",
    ),
}

_BOUNDARY = {
    "boundary.error": (
        "The boundary could not judge a call, so the call did not run.",
        "Look at the rule that the message names; what cannot be judged is refused.",
    ),
    "constraint.broken": (
        "A call breaks a rule and was refused before anything ran.",
        "Ask for something inside the rule. A developer's rule can only be changed in the app.",
    ),
    "constraint.asks": (
        "A call breaks a rule that wants a person asked.",
        "Decide it: `backstay pending`, then `backstay decide ID --approve` or `--deny`.",
    ),
    "principal.missing": ("Nobody is named for whom this would be done.", "Give the run a principal with an id."),
    "tier.high": (
        "The action deletes, pays, changes much at once or cannot be undone, so a person has to decide.",
        "`backstay pending` shows it with its targets; `backstay decide ID` decides it.",
    ),
    "limit.steps": ("The run used up its steps.", "Ask for less at once, or raise Limits(steps=...)."),
    "limit.calls": (
        "The run would have passed its number of tool calls; none of that batch ran.",
        "Ask for less at once, or raise Limits(calls=...).",
    ),
    "limit.tokens": ("The run used up its tokens.", "Ask for less at once, or raise Limits(tokens=...)."),
    "limit.usd": ("The run cost as much as it may.", "Ask for less at once, or raise Limits(usd=...)."),
    "limit.seconds": ("The run took as long as it may.", "Ask for less at once, or raise Limits(seconds=...)."),
    "limit.depth": ("Agents called agents deeper than allowed.", "Flatten the team, or raise Limits(depth=...)."),
    "limit.cycle": (
        "One agent would have called another that is already waiting for it.",
        "Break the circle that the message names.",
    ),
}

_ACTIONS = {
    "action.waiting": (
        "The run waits for a person. What it asks for has not happened.",
        "`backstay pending` lists it; `backstay decide ID --approve --execute --app APP` decides and executes it.",
    ),
    "action.too_many": (
        "As many actions wait for this run as may; a further one was refused.",
        "Decide what waits, then ask again.",
    ),
    "action.unattended": (
        "The call needs a person, and the run was started with nobody to ask.",
        "Start it with an inbox (the default) or an approver.",
    ),
    "action.refused": (
        "A person has refused exactly this, or a decision could not stand.",
        "Nothing ran. The same question is not asked again in this session.",
    ),
    "action.decided": (
        "The action has been decided already; nothing was changed.",
        "`backstay pending --state all` shows how. An approved one is executed by `backstay resume RUN_ID --app APP`.",
    ),
    "action.version": (
        "The action has changed since it was read; nothing was changed.",
        "Look at it again and decide what it is now.",
    ),
    "action.digest": (
        "The decision names other arguments than the action has; nothing was changed.",
        "Look at the action again and decide what it is now.",
    ),
    "action.expired": (
        "The decision came after the action's end. It was not executed.",
        "Ask for it anew, and decide in time (24 hours unless Boundary(ask_seconds=...) says otherwise).",
    ),
    "action.stale": (
        "The action was approved, but what holds now is stricter than what was decided, so it was not executed.",
        "Read why. Ask for it anew with other arguments, or decide the question that took its place.",
    ),
    "action.tampered": (
        "The row of an action is not as it was written. It will not be executed.",
        "Find out who wrote to the store, and run `backstay audit verify`.",
    ),
    "action.failed": (
        "The action was approved and carried out, and the tool said that it failed.",
        "Read the tool's message; ask for it anew if it should be tried again.",
    ),
    "effect.changed": (
        "An effect was begun with other arguments and is not begun again with these.",
        "Look at the run's trace; a call may not change after its effect has begun.",
    ),
    "effect.in_doubt": (
        "Nobody knows whether an effect happened: it began and its end was not recorded.",
        "Look at the other side, then decide the row that waits: --approve says it happened, --deny that it did not.",
    ),
    "board.conflict": ("Somebody else wrote the same value in between.", "Read it again, merge, and write."),
}

_MODELS = {
    "model.failed": ("The model could not answer.", "Read the provider's message; `backstay resume` asks again."),
    "model.empty": ("The model answered nothing, twice.", "Ask again, or use another model."),
    "model.cut_off": (
        "A reply was cut off at its token limit, so its calls did not run.",
        "Raise the output limit in settings=, or ask for less.",
    ),
    "model.incomplete": (
        "A reply broke off before its end, or was no reply at all. Nothing of it was used.",
        "It was asked again; `backstay resume` asks once more. Look after the server or a proxy before it.",
    ),
    "model.too_long": (
        "The request is longer than the model's window.",
        "Ask for less at once, shorten the instructions, or use a model with a larger window.",
    ),
    "model.auth": (
        "The model's server wants a key and was given none, or does not accept it.",
        "Set the environment variable that the message names, or pass api_key=.",
    ),
    "model.quota": (
        "The account at the provider has no credit left.",
        "Pay or raise its limit there; asking again does not help before.",
    ),
    "model.no_network": (
        "BACKSTAY_NO_NETWORK is set and the model is on another machine, so nothing was sent.",
        "Unset it, or use a model on this machine.",
    ),
    "model.script": (
        "A scripted model has no line for this step.",
        "Give the script another line, or find out why there was another step.",
    ),
}

_RUNS = {
    "run.not_done": ("The run is not done.", "The result's status, code and reason say how it stands."),
    "run.cancelled": ("The run was cancelled.", "Start it again if it is still wanted; the history stays valid."),
    "run.interrupted": (
        "Ctrl-C stopped the work on a run. What was written is kept, and the run is due.",
        "`backstay resume RUN_ID --app APP` goes on where it stopped.",
    ),
    "run.held": (
        "Another process drives this session now, or an earlier input of it is still queued.",
        "Wait for it; if that process has died, its lease ends within 30 seconds and `backstay resume` takes over.",
    ),
}

_STORES = {
    "store.failed": ("The store could not be used.", "Read the message; nothing that was written before is lost."),
    "store.missing": (
        "There is no store at this path, and the command only reads.",
        "Give the right --store (or BACKSTAY_STORE); `backstay run` makes one.",
    ),
    "store.not_found": (
        "No run, session, action or trace of that id is in this store.",
        "Check the id and --store; `backstay pending --state all` and `backstay trace ls` list what there is.",
    ),
    "store.corrupt": (
        "What is stored is not what was written. Nothing was changed.",
        "Restore the file and the `key` beside it from a backup.",
    ),
    "store.version": (
        "The file is another program's, or was written by a newer Backstay. Nothing was changed.",
        "Name another file, or upgrade Backstay.",
    ),
    "store.key": (
        "The `key` beside the store is not the one it was written with, or cannot be read.",
        "Restore the key from a backup; without it nobody can tell what is genuine.",
    ),
    "store.full": (
        "No room is left on the disk; nothing of this batch was written.",
        "Free some space. What was written before is intact, and runs can be resumed.",
    ),
    "store.readonly": ("The store's file or folder cannot be written.", "Choose a folder that you may write to."),
    "store.busy": ("Another program locked the store for too long.", "End that program and try again."),
    "store.fenced": (
        "Another process has taken over this session; this one wrote nothing more.",
        "Nothing to do: the other one goes on.",
    ),
    "store.gap": (
        "Records do not follow on the last one of their session; nothing was written.",
        "Another process wrote to the session. Resume the run.",
    ),
    "store.closed": ("The store was closed and is used again.", "Open another one."),
    "store.url": ("This is not a kind of store that there is.", "Give 'memory:', a path, or sqlite:///PATH."),
    "store.id": ("An identifier holds what no database can keep.", "Use plain text without NUL and half characters."),
    "store.json": ("A value is not JSON and cannot be kept.", "Return JSON from tools: text, numbers, lists, objects."),
    "audit.broken": (
        "An audit chain does not hold: a row was changed, removed or added outside Backstay.",
        "Keep a copy of the file, find out who wrote to it, and compare with a backup.",
    ),
}

CODES: Mapping[str, Meaning] = MappingProxyType(
    {
        code: Meaning(*row)
        for table in (_SETUP, _TOOLS, _BOUNDARY, _ACTIONS, _MODELS, _RUNS, _STORES)
        for code, row in table.items()
    }
)
"""Code → what happened, what to do."""


def nearest(code: str) -> tuple[str, ...]:
    """Return up to five codes like one that there is not: a misspelt one, or those that hold it as a part."""
    wanted = code.casefold()
    parts = [one for one in CODES if wanted and wanted in one]
    alike = get_close_matches(wanted, CODES, n=5, cutoff=0.6)
    return tuple(dict.fromkeys([*alike, *parts]))[:5]
