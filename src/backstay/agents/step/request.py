"""One request of the loop: packed inside the window, asked, and once more where the provider says it was too long.

Source: SPEC M4, M9; DESIGN 2.3.
"""

from __future__ import annotations

from backstay.agents.ask import Answer, ask
from backstay.agents.offer import Offer
from backstay.agents.step.compact import fit
from backstay.agents.step.retrieve import retrieve
from backstay.agents.step.safety import unsafe
from backstay.agents.work import Ending, Work
from backstay.core.errors import ModelError
from backstay.core.messages import Message, ModelRequest
from backstay.memory.window import pack, summary_message
from backstay.memory.working import memory_message

_TOO_LONG = "model.too_long"


async def answered(work: Work, offer: Offer, near: str) -> Answer | Ending:
    """The reply to the next request, or how the run ends because none fits the window.

    Args:
        work: the drive.
        offer: what the step may do.
        near: the framework's word about limits, shown last.

    Raises:
        ModelError: when no model answers.
    """
    if await retrieve(work):
        told = unsafe(work)
        if told is not None:
            return told
        offer = work.offer_of(work.run.step + 1)  # what is offered may depend on the label
    log, tools = work.journal.state.log, work.definition.toolset.offered(offer.names, offer.actions)
    is_second = False
    while True:
        at = log.at
        over = await fit(work, tools, now=is_second)
        if over is not None:
            return over
        if log.at != at:
            offer = work.offer_of(work.run.step + 1)  # there is something to recall now
            tools = work.definition.toolset.offered(offer.names, offer.actions)
        request = ModelRequest(
            messages=messages_for(work, " ".join(filter(None, (offer.note, near)))),
            tools=tools,
            tool_choice=offer.choice,
            output_schema=offer.schema,
            settings=work.definition.settings,
        )
        try:
            return await _asked(work, request)
        except ModelError as error:
            if error.code != _TOO_LONG or is_second or log.end - log.at.folded <= 2:
                raise
        work.calibration, is_second = work.calibration.overflowed(), True


async def _asked(work: Work, request: ModelRequest) -> Answer:
    of = work.definition
    answer = await ask(work.model, of.chains, request, work.ctx, rules_digest=work.rules_digest, output=of.output)
    if work.estimated:  # else it is far from full, and nothing need be known of how it is counted
        work.calibration = work.calibration.observed(work.estimated, answer.reply.usage)
    return answer


def messages_for(work: Work, near: str) -> tuple[Message, ...]:
    """The messages of the next request, as the records have them."""
    state = work.journal.state
    before, last = state.log.shown()
    summary, memory = summary_message(state.log), memory_message(state.memory, state.retrieved)
    return pack(state.instructions, work.rules, before, near, last=last, summary=summary, memory=memory)
