"""`@tool`: a tool from an ordinary function. Source: SPEC T1, T9, T10, T13."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial, update_wrapper
from types import FrameType
from typing import Any, Generic, ParamSpec, TypeVar, overload

from pydantic import BaseModel, TypeAdapter

from backstay.core.context import Effect, RunContext
from backstay.core.errors import ToolDefinitionError
from backstay.core.messages import Args, Risk, ToolResult
from backstay.core.schema import Signature, signature_of
from backstay.tools.cache import Cache
from backstay.tools.files import open_files, takes_files
from backstay.tools.threads import run_in_thread
from backstay.tools.tool import Tool

P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(Tool, Generic[P, R]):
    """A tool made from a function. Calling it calls the function; `run` takes it through the pipeline."""

    input_schema: type[BaseModel]

    def __init__(self, function: Callable[P, R], signature: Signature) -> None:
        self.function = function
        self.signature = signature
        self.name = signature.name
        self.description = signature.description
        self.input_schema = signature.model
        self._takes_files = takes_files(signature.schema)
        self._preview: Callable[..., Any] | None = None
        update_wrapper(self, function, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, past every check: the developer's own call."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    async def _run(self, input: Any, context: RunContext[Any]) -> object:
        if self._takes_files:
            await open_files(input, context)
        if self.signature.is_async:
            return await self.signature.call(input, context)
        value = await run_in_thread(partial(self.signature.call, input, context), self.name)
        return await value if inspect.isawaitable(value) else value

    async def preview(self, input: Any, context: RunContext[Any]) -> str:
        """What the function given as `preview` says of the call."""
        if self._preview is None:
            return ""
        if self._takes_files:
            await open_files(input, context)
        tell = partial(self.signature.call_other, self._preview, input, context)
        said = tell() if inspect.iscoroutinefunction(self._preview) else await run_in_thread(tell, self.name)
        return str(await said if inspect.isawaitable(said) else said)

    @property
    def takes_context(self) -> bool:
        """Whether the function has a parameter annotated `RunContext`."""
        return self.signature.context_parameter is not None

    @property
    def _schema(self) -> Args:
        return self.signature.schema

    @property
    def _meanings(self) -> Mapping[str, str]:
        return self.signature.meanings

    @property
    def _result_meanings(self) -> Mapping[str, str]:
        return self.signature.result_meanings

    @property
    def _returns(self) -> TypeAdapter[Any] | None:
        return self.signature.returns


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    risk: Risk | Callable[[Args], Risk] | None = None,
    effect: Effect | None = None,
    egress: bool = False,
    untrusted: bool | Sequence[str] = False,
    secret: Sequence[str] = (),
    sinks: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    preview: Callable[..., str | Awaitable[str]] | None = None,
    undo: Callable[..., Any] | None = None,
    reconcile: Callable[[str], Awaitable[ToolResult | None]] | None = None,
    downstream: str | None = None,
    timeout: float = 60.0,
    max_attempts: int = 2,
    cache: Cache | None = None,
    sequential: bool = False,
    examples: Sequence[tuple[str, Args]] = (),
    version: str = "",
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool from a function, sync or async; a sync one runs in a worker thread.

    Name, description and schema come from the function's name, docstring and annotations. What the tool declares about
    itself is explained at `Tool`. The parameters stand one by one in the signature because they are the vocabulary a
    user writes; there is no other place where they are repeated.

    Args:
        function: the function, when used without parentheses.
        **options: `name`, `description` and the declarations of `Tool`; `preview` takes the function's own parameters
            and returns what the call would do.

    Raises:
        ToolDefinitionError: naming the parameter, for a signature that cannot become a schema.
    """
    frame = sys._getframe(1)
    if function is not None:
        return _make(function, frame, {})
    return lambda decorated: _make(decorated, frame, options)


_OPTIONS = frozenset({
    "risk", "effect", "egress", "untrusted", "secret", "sinks", "keep", "undo", "reconcile", "downstream", "timeout",
    "max_attempts", "cache", "sequential", "examples", "version",
})  # fmt: skip
"""What `tool` takes beside name, description and preview."""


def _make(function: Callable[..., Any], frame: FrameType, options: dict[str, Any]) -> FunctionTool[..., Any]:
    options = dict(options)
    name, description = options.pop("name", None), options.pop("description", None)
    made: FunctionTool[..., Any] = FunctionTool(function, _signature(function, name, description, frame))
    made._preview = options.pop("preview", None)
    for key, value in options.items():
        if key not in _OPTIONS:
            raise ToolDefinitionError(f"{made.name}: @tool has no option {key!r}; it has {', '.join(sorted(_OPTIONS))}")
        setattr(made, key, _declared(key, value))
    made.check()
    return made


def _declared(key: str, value: Any) -> Any:
    """A declaration as `Tool` keeps it. One name is taken for a list of one, not for its letters."""
    if value is None or isinstance(value, bool) or key not in ("secret", "sinks", "untrusted", "keep"):
        return value
    names = (value,) if isinstance(value, str) else tuple(value)
    return names if key == "keep" else frozenset(names)


def _signature(function: Callable[..., Any], name: str | None, description: str | None, frame: FrameType) -> Signature:
    try:
        return signature_of(function, name=name, description=description, frame=frame)
    except ToolDefinitionError as error:
        if error.code != "tool.undescribed" or not _is_playground(frame):
            raise
        warnings.warn(error.message, stacklevel=4)
        label = str(name or getattr(function, "__name__", "tool"))
        return signature_of(function, name=name, description=label.replace("_", " "), frame=frame)


def _is_playground(frame: FrameType) -> bool:
    """Whether the tool is made in a notebook or a test, where a missing description only warns."""
    return "ipykernel" in sys.modules or "pytest" in sys.modules or frame.f_globals.get("__name__") == "__console__"
