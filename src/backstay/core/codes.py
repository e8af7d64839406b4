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
    "cli.folder": ("A folder to write files into cannot be used.", "Name a folder that you may write to."),
    "cli.usage": ("The command line cannot be understood.", "Look at the command's --help."),
    "code.unknown": ("There is no such code.", "`backstay explain` without a code lists them all."),
    "constraint.invalid": (
        "A rule cannot be read, or names a tool or an argument that nobody has.",
        "Correct the rule; it may be a text such as 'only the last 30 days' or a Constraint record.",
    ),
    "grant.unbound": (
        "A standing grant could never hold, or would have no end: no such tool, no cap, a rule that binds to nothing.",
        "Give rules about the tool's own arguments, one of them a cap on a sum or a count, and an end in the future.",
    ),
    "notice.url": (
        "A notice sink cannot be used as it was made.",
        "Give an http or https address, a known chat, a secret, a list of mail addresses.",
    ),
    "deciders.invalid": (
        "A row of Boundary(deciders=...) cannot be kept.",
        "Name roles and tools as lists, a quorum from 1, and the currency of `above`.",
    ),
    "constraint.author": (
        "A rule of somebody else was to be revoked by an author of a lower class.",
        "A developer's rule is changed in the app, an operator's by an operator or developer.",
    ),
    "deps.missing": (
        "A run was started with deps, and the process that resumes it has none.",
        "Give the agent deps_for=, a function of principal and run id. The run stays due.",
    ),
    "input.empty": ("The input has no words.", "Say what is wanted."),
    "cache.file": (
        "A cache's file cannot be used: it is another program's, or it cannot be written.",
        "Name another file, in a folder that you may write to.",
    ),
    "limits": (
        "A limit cannot be kept: it is not above 0, or it counts USD on a model whose price is unknown.",
        "Correct the number, give the model a price, or limit tokens instead.",
    ),
    "memory.read_only": (
        "Something was to be written to a read-only view of a memory.",
        "Write to the memory that the view was made from.",
    ),
    "memory.owner": (
        "Something was to be kept in long-term memory for somebody who has no id.",
        "Give the run a principal with an id; only a program may keep what all of a tenant may read.",
    ),
    "memory.empty": (
        "An entry for long-term memory has no words, or a document has no text.",
        "Give it a text; a file has to be UTF-8.",
    ),
    "memory.too_long": (
        "A single entry for long-term memory is longer than 8,000 characters.",
        "Shorten it, or add it as a document, which is cut into pieces.",
    ),
    "memory.config": (
        "A memory's settings could never hold what it must hold.",
        "Raise its size or its threshold as the message says.",
    ),
    "window.fixed": (
        "Instructions, rules and tools take more than half of the model's window.",
        "Shorten the instructions, give the agent fewer tools, or take a model with a larger window.",
    ),
    "window.narrowing": (
        "There is more to read than the model's window holds, and nothing more can leave by itself.",
        "Answer which part matters: the run goes on with the next message, and with excerpts of the largest items.",
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
    "template.invalid": (
        "A prompt template cannot be used, or the data of a render does not fit its schema.",
        "Correct the template or the data; the message names template, field and type.",
    ),
    "requirement.invalid": (
        "A requirement names a tool that the agent does not have, contradicts itself, or raised an error.",
        "Correct the target or the numbers as the message says; a rule has to be a pure function of what it is given.",
    ),
    "output.type": (
        "An agent was given an output type that no model can be held to.",
        "Use text, a pydantic model, a dataclass, a TypedDict, or a list or union of such types.",
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
    "tool.stand_in": (
        "A test puts a tool in the place of one that the agent does not have.",
        "Give the stand-in the name of the tool that it replaces.",
    ),
    "tool.undescribed": (
        "A tool has no description, so no model could know when to use it.",
        "Give the function a docstring that says what it does and when to use it.",
    ),
    "session.unsafe": (
        "A run that nobody attends could read untrusted text, read secrets, and change or send something.",
        "Give it an approver or presence='inbox', or take one of the three kinds of tools away. Nothing has run.",
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
    "tool.repeated": (
        "A call that had failed in this run came again with the same arguments, and was not run again.",
        "Nothing ran. The model was told; the call runs again once what it depends on has answered somebody else.",
    ),
    "tool.twin": (
        "One reply held the same call of a tool that changes something twice; it ran once.",
        "The model was told, and may call it again in the next step if it has to be done twice.",
    ),
    "requirement.refused": (
        "The model called a tool that a requirement does not allow in this step.",
        "Nothing ran; the model was told why. Look at the requirement if the order it wants is not meant.",
    ),
    "output.early": (
        "The model gave its final answer beside other calls, or gave two.",
        "The other calls ran; the model was told to give one answer by itself, when it knows their results.",
    ),
    "tool.withheld": (
        "A tool was called in the one step in which it was withheld, after the same thing three times in a row.",
        "Nothing ran. Read the trace for what the model repeated.",
    ),
    "credential.handle": (
        "A credential was named in a way that there is not.",
        "Write env:NAME, file:PATH, or give a function of the principal. Never give the value itself.",
    ),
    "credential.missing": (
        "A tool's credential is not where its handle says, so the tool has done nothing.",
        "Set the variable or write the file that the message names. The next call reads it; nothing is restarted.",
    ),
    "credential.readable": (
        "The file of a credential may be read or written by every user of the machine, so it was not used.",
        "Make it yours alone with chmod 600. For a secret mounted in a container, write Credential(..., shared=True).",
    ),
    "credential.unusable": (
        "What a credential's handle gave cannot be used: no text, too short to be redacted, or too large.",
        "Give it at least 6 characters of UTF-8 text. An async function needs `await credential.get(ctx)`.",
    ),
    "credential.argument": (
        "A call that needs a person holds a registered credential among its arguments. It was refused.",
        "Give the tool its credential by handle; a row that waits is stored and shown.",
    ),
    "process.start": (
        "A program that a tool runs cannot be started.",
        "Install it, or correct its path; nothing has happened.",
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
    "plan.outside": (
        "Untrusted text was read, and the call is no step that is left of the plan that was fixed before.",
        "Decide it: `backstay pending`, then `backstay decide ID --approve` or `--deny`; or fix it in the plan.",
    ),
    "plan.invalid": (
        "A plan names a tool, an argument or a step that there is not, or no boundary looks at it.",
        "Correct the step that the message names, or give the agent Boundary(plan='ask').",
    ),
    "constraint.insisted": (
        "The model broke one rule on one target three times and was stopped; nothing of it has happened.",
        "Look at the trace: ask for something inside the rule, or change the rule in the app.",
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
    "budget.usd": (
        "The day's budget of US dollars is used up, for this principal, tenant or agent.",
        "Go on tomorrow, or raise Boundary(budgets=[Budget(usd=...)]).",
    ),
    "budget.tokens": (
        "The day's budget of tokens is used up, for this principal, tenant or agent.",
        "Go on tomorrow, or raise Boundary(budgets=[Budget(tokens=...)]).",
    ),
    "budget.calls": (
        "A batch of tool calls would have passed the day's budget of calls; none of it ran.",
        "Go on tomorrow, or raise Boundary(budgets=[Budget(calls=...)]).",
    ),
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
    "notice.failed": (
        "A notice to people did not arrive after several attempts. The action waits in the inbox as before.",
        "Look after the webhook, chat or mail server that the log names.",
    ),
    "notice.no_network": (
        "BACKSTAY_NO_NETWORK is set and a notice would have gone to another machine, so nothing was sent.",
        "Unset it, or send notices to a server on this machine. The action waits in the inbox as before.",
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
    "decider.tenant": ("Somebody of another tenant was to decide.", "Nothing was changed. Decide your own tenant's."),
    "decider.role": (
        "The action is decided by people of a role that this one does not have.",
        "Nothing was changed. Let somebody decide who has the role that the message names.",
    ),
    "decider.kind": ("A customer, or somebody unknown, was to decide.", "Nothing was changed. Staff decide."),
    "decider.self": (
        "Somebody was to approve what they have asked for themselves.",
        "Nothing was changed. Let somebody else decide it, or set Deciders(own=True).",
    ),
    "decider.voted": ("Somebody has approved twice.", "Nothing was changed. Another person has to approve."),
    "decider.edit": (
        "Arguments were to be changed of an action that several people decide.",
        "Nothing was changed. Refuse it, and let it be asked anew with other arguments.",
    ),
    "answer.invalid": (
        "The answer is none of the choices, or does not fit the schema of the question.",
        "The question stays open. Answer as the message says.",
    ),
    "deferred.person": (
        "A deferred call waits for a callback, and a person was to approve it.",
        "Wait for the callback, or refuse it: the run goes on without its result.",
    ),
    "deferred.signature": (
        "A callback's signature is not the one that was given out for its token.",
        "It was recorded and changed nothing. Send the signature that the tool passed on.",
    ),
    "deferred.duplicate": ("The result of this token was delivered before.", "It was recorded and changed nothing."),
    "deferred.late": ("The result came after its end.", "It was recorded and changed nothing; the run was told."),
    "deferred.token": (
        "A tool has deferred with a token that was used before.",
        "Make a new token for every call, such as the other side's job number.",
    ),
    "action.deferred": (
        "A call was handed to another system, and its result comes later.",
        "The run waits for the callback; `agent.deliver(token, result, signature)` delivers it.",
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
    "model.refused": (
        "The model, or a filter of its provider, refused to answer. Nothing of that reply ran.",
        "Read the reason, ask differently, or use another model; asking the same again seldom helps.",
    ),
    "model.one_call": (
        "A model wrote several calls where settings={'parallel': False} wishes for one; the first ran.",
        "Nothing: the model was told and may call the others one after the other.",
    ),
    "model.not_recorded": (
        "A replayed model was asked something that its recording does not hold.",
        "The message names the first difference. Record again, or take back what changed the request.",
    ),
    "model.recording": (
        "A file of recorded replies cannot be read or written.",
        "Name a file that RecordingModel has written, in a folder that you may write to.",
    ),
    "model.rate_limit": (
        "The rate limit that this program sets itself leaves no place before the run's time is up.",
        "Raise RateLimit, give the run more seconds, or let less run at once.",
    ),
    "model.unfit": (
        "The model, or none of a FallbackModel, can take what is sent, or none was given.",
        "Give it a model that takes what is sent: tools, images, a longer window.",
    ),
    "model.prices": (
        "The file of prices that BACKSTAY_PRICES names cannot be read.",
        'Write JSON such as {"openai:my-model": {"input": "0.25", "output": "2"}}, in USD per million tokens.',
    ),
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
    "requirement.unmet": (
        "The model wanted to end three times in a row although a requirement did not allow it, and was stopped.",
        "Look at the trace: loosen the requirement, or use a model that honours what it is told to call.",
    ),
    "requirement.nothing_left": (
        "The requirements of an agent refused every tool and the end of the run, so nothing could be done.",
        "Change one of the requirements that the reason lists.",
    ),
    "output.invalid": (
        "The model's answer was not of the agent's output type, three times.",
        "Look at the trace; a simpler type, a description of its fields or another model helps.",
    ),
    "output.incomplete": (
        "The model's answer was cut off at the token limit, so it is not whole.",
        "Raise the output limit in settings=, or ask for less.",
    ),
    "run.repeating": (
        "The model did the same thing again and again and was stopped; the reason says what it repeated.",
        "Look at the trace. Ask differently, mend the tool, or use another model.",
    ),
    "halted": (
        "Somebody has halted the agent, one of its tools, the tenant or everything. The run is parked.",
        "`backstay halt` lists what is halted; `backstay halt --lift` lifts it, and the run is due again.",
    ),
    "halt.unknown": ("Nothing of that name is halted.", "`backstay halt` lists what is."),
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
    "artifact.too_large": (
        "A tool made a file that is too large to be kept, or its session holds too many.",
        "Keep it elsewhere and return its address. A file may have 16 MiB, all files of a session 256 MiB.",
    ),
    "store.readonly": ("The store's file or folder cannot be written.", "Choose a folder that you may write to."),
    "store.busy": ("Another program locked the store for too long.", "End that program and try again."),
    "store.fenced": (
        "Another process has taken over this session; this one wrote nothing more.",
        "Nothing to do: the other one goes on.",
    ),
    "session.owner": (
        "A session, or a run, of somebody else was named. Nothing was read and nothing was written.",
        "Use an id of your own. A tenant's operators and developers may speak in its sessions; no other tenant may.",
    ),
    "session.busy": (
        "Another run is at work on the session, and the input was not to wait for it (on_busy='reject').",
        "Nothing was stored. Send it again later, or with on_busy='queue', 'steer' or 'interrupt'.",
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
