"""`fix_plan`: the model fixes what it is going to do, before it reads anything that other people wrote.

The framework's own tool, offered only where the boundary asks for a plan, nothing untrusted was read yet, and the
program has not fixed one itself. Source: SPEC B12, K9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backstay.agents.own_tools.catalogue import RunHost
from backstay.boundary.plan import Plan, PlanGrant, PlanStep, problems, result_of
from backstay.core.context import RunContext
from backstay.core.errors import SetupError, ToolError, ToolInputError
from backstay.core.messages import Label
from backstay.tools.tool import Tool

FIX_PLAN = "fix_plan"


class PlannedStep(BaseModel):
    """One step of the plan."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    tool: str = Field(description="name of a tool or of an action")
    count: int = Field(1, ge=1, description="how many calls")
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description="arguments that are known now, by name; every destination has to stand here or in from_results",
    )
    from_results: dict[str, int] = Field(
        default_factory=dict,
        description="arguments that will be taken from the result of an earlier step: name and number of that step",
    )


class PlanInput(BaseModel):
    """What is going to be done, in order."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    steps: list[PlannedStep] = Field(description="steps in order, counted from 1")


class FixPlanTool(Tool):
    """Takes the model's plan down; what is outside it is asked about or refused once untrusted text was read.

    Args:
        tools: what a step may name.
    """

    name = FIX_PLAN
    description = (
        "Fix what you are going to do, before you read mails, pages or files that other people wrote. Use it first when"
        " the user wants something read and something changed or sent. Later calls that change or send something and"
        " are no step of the plan are not run without a person."
    )
    input_schema = PlanInput
    risk = "read"

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._arguments = arguments_of(tools)

    async def _run(self, input: PlanInput, context: RunContext[Any]) -> object:
        steps = _steps(input)
        wrong = list(problems(steps, self._arguments))
        if wrong:
            raise ToolInputError(f"the plan was not fixed: {'; '.join(wrong)}")
        host = context.host
        if not isinstance(host, RunHost):
            raise ToolError("a plan is fixed inside a run")
        if not host.fix_plan(PlanGrant(steps=steps)):
            raise ToolError("it is too late for a plan: untrusted text was read already, or the program has fixed one")
        return f"The plan of {len(steps)} steps is fixed."


def unoffered(label: Label, plan: Plan | None) -> frozenset[str]:
    """The name of `fix_plan` where it could do nothing: untrusted text was read, or the program has fixed a plan."""
    is_open = label.trusted and (plan is None or plan.by == "model")
    return frozenset() if is_open else frozenset({FIX_PLAN})


def _steps(input: PlanInput) -> tuple[PlanStep, ...]:
    steps: list[PlanStep] = []
    for number, one in enumerate(input.steps, 1):
        twice = sorted(one.arguments.keys() & one.from_results.keys())
        if twice:
            raise ToolInputError(f"step {number} has {', '.join(twice)} in both arguments and from_results")
        args = {**one.arguments, **{name: result_of(step) for name, step in one.from_results.items()}}
        steps.append(PlanStep(tool=one.tool, args=args, count=one.count))
    return tuple(steps)


def arguments_of(tools: Iterable[Tool]) -> Mapping[str, frozenset[str] | None]:
    """Of every tool the names of its arguments; None where it takes any."""
    found: dict[str, frozenset[str] | None] = {}
    for tool in tools:
        schema = tool.spec.schema
        properties = schema.get("properties", {})
        is_open = schema.get("additionalProperties", False) is not False
        found[tool.name] = None if is_open or not isinstance(properties, Mapping) else frozenset(properties)
    return found


def checked(steps: Sequence[PlanStep], tools: Iterable[Tool], mode: str) -> tuple[PlanStep, ...]:
    """A program's plan, as it may go into a run.

    Raises:
        SetupError: code `plan.invalid`, for a plan that names what there is not, or that no boundary looks at.
    """
    if not steps:
        return ()
    if mode == "off":
        raise SetupError("plan=[...] has no effect: give the agent Boundary(plan='ask' or 'deny')", code="plan.invalid")
    if isinstance(steps, PlanStep) or not all(isinstance(one, PlanStep) for one in steps):
        raise SetupError(f"plan={steps!r}: expected a list of PlanStep", code="plan.invalid")
    wrong = list(problems(steps, arguments_of(tools)))
    if wrong:
        raise SetupError(f"plan=[...]: {'; '.join(wrong)}", code="plan.invalid")
    return tuple(steps)
