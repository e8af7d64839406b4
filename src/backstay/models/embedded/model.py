"""`EmbeddedModel`: a chat model on this machine's processor, without key and without network.

Source: SPEC L2; DESIGN 4; docs/decisions/0003-embedded-model.md says what it is good for, with numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from backstay.core.context import RunContext
from backstay.core.encoder import Encoder
from backstay.core.errors import ModelError
from backstay.core.messages import Media, ModelReply, ModelRequest
from backstay.models.embedded.brain import Brain
from backstay.models.embedded.encoder import shared_encoder
from backstay.models.embedded.router import MARGIN, THRESHOLD, ToolRouter
from backstay.models.embedded.runtime import Runtime, open_runtime
from backstay.models.embedded.weights import SMOLLM2, locate
from backstay.models.model import ModelProfile
from backstay.models.scripted import FunctionModel

WINDOW = 8_192
"""Tokens. Requests are read by rules, so that the generator's own context does not bound them."""
_FREE = {"input": "0", "cached": "0", "output": "0"}


class EmbeddedModel(FunctionModel):
    """Chooses a tool by meaning, copies its arguments from the user's words, answers with what the tool said.

    One tool a step, the wishes of a message one after the other: it does not plan, and it does not chat about facts.
    Loads at the first request (about two seconds); one copy of the weights per process, whatever the number of agents.

    Args:
        path: any GGUF file for the generator; the pinned SmolLM2 135M where it is left out, fetched at first use.
        threads: computing threads; all cores but one where it is left out.
        encoder: for the router and for arguments; the process's own small one where it is left out.
        threshold: the least score of a tool; below it the user is asked.
        margin: the least lead over the second tool.
        phrase: let the generator put results into its own words where every number, id and name survives.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        threads: int | None = None,
        encoder: Encoder | None = None,
        threshold: float = THRESHOLD,
        margin: float = MARGIN,
        phrase: bool = False,
    ) -> None:
        self._path = Path(path) if path is not None else None
        self._threads = threads
        chosen = encoder or shared_encoder()
        router = ToolRouter(chosen, threshold=threshold, margin=margin)
        self._brain = Brain(router, chosen, self._open, phrase=phrase)
        name = self._path.stem.lower() if self._path else SMOLLM2.name
        family = "custom" if self._path else SMOLLM2.family
        profile = ModelProfile(
            family=family, window=WINDOW, schema_output=True, keeps_notes=False, parallel=False, price=_FREE
        )
        super().__init__(self._think, profile=profile, name=f"embedded:{name}")

    def _open(self) -> Runtime:
        return open_runtime(self._path or locate(), threads=self._threads)

    async def _think(self, request: ModelRequest, ctx: RunContext[Any]) -> ModelReply:
        """Off the event loop, in the one thread that everything native of this process shares.

        Raises:
            ModelError: `model.unfit`, where the last message of the user holds anything but words.
        """
        _refuse_media(request)
        today = datetime.fromtimestamp(ctx.clock(), ZoneInfo(ctx.principal.zone)).date()
        work: Callable[[], ModelReply] = partial(
            self._brain.reply, request, today=today, call_id=f"call-{ctx.step}-0", model=self.name
        )
        return await asyncio.get_running_loop().run_in_executor(_thread(), work)


def _refuse_media(request: ModelRequest) -> None:
    """A file that nobody looked at must not be answered as if somebody had."""
    last = next((one for one in reversed(request.messages) if one.role == "user"), None)
    kinds = sorted({part.mime for part in last.parts if isinstance(part, Media)}) if last is not None else []
    if kinds:
        told = f"the embedded model reads words alone, and the message holds {', '.join(kinds)}. Name another model"
        raise ModelError(told, code="model.unfit", retryable=False)


@lru_cache(maxsize=1)
def _thread() -> ThreadPoolExecutor:
    """One thread: two requests at once would only take the cores from each other."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="backstay-embedded")
