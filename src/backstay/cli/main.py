"""The door of the command line: the commands, and the one place where errors become messages and exit codes.

Source: SPEC C1, C6.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer

from backstay.cli import (
    audit,
    boundary,
    chat,
    decide,
    doctor,
    explain,
    grants,
    halt,
    inbox,
    memory,
    model,
    replay,
    resume,
    rules,
    run,
    trace,
)
from backstay.cli.exits import DONE, EPILOG, FAILED, INTERRUPTED, USAGE, of_error
from backstay.cli.printing import clean
from backstay.core.errors import BackstayError
from backstay.core.redaction import redact

DEBUG = "BACKSTAY_DEBUG"

app = typer.Typer(
    name="backstay",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"backstay {version('backstay')}\n")
        raise typer.Exit(DONE)


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Run agents, decide what waits for a person, and see what was done."""


app.command("run")(run.run)
app.command("chat")(chat.chat)
app.command("pending")(inbox.pending)
app.command("decide")(decide.decide)
app.command("resume")(resume.resume)
app.command("halt")(halt.halt)
app.add_typer(trace.app, name="trace")
app.add_typer(audit.app, name="audit")
app.add_typer(boundary.app, name="boundary")
boundary.app.command("replay")(replay.replay)
boundary.app.command("rules")(rules.rules)
app.add_typer(grants.app, name="grants")
app.command("doctor")(doctor.doctor)
app.add_typer(memory.app, name="memory")
app.add_typer(model.app, name="model")
app.command("explain")(explain.explain)


def main() -> NoReturn:
    """Run the command that `sys.argv` names and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_code(sys.argv[1:]))


def _code(args: list[str]) -> int:
    try:
        returned: Any = app(args, prog_name="backstay", standalone_mode=False)
        sys.stdout.flush()
        return returned if isinstance(returned, int) else DONE
    except BackstayError as error:
        return _told(args, error.message, error.code, of_error(error), error)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # the one broad catch of the command line
        if hasattr(error, "format_message"):
            return _misused(args, error)
        return _told(args, f"{type(error).__name__}: {error}", "internal", FAILED, error)


def _told(args: list[str], message: str, code: str, exit_code: int, error: BaseException) -> int:
    """Say what went wrong; a traceback only where BACKSTAY_DEBUG=1 asks for it."""
    if os.environ.get(DEBUG) == "1":
        traceback.print_exception(error)
    message = redact(message)
    sys.stderr.write(f"error: {clean(message)}\ncode: {code}; backstay explain {code}\n")
    if "--json" in args:
        document = {"error": {"code": code, "message": message}, "exit_code": exit_code}
        sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    return exit_code


def _misused(args: list[str], error: Any) -> int:
    """A command line that could not be read. Without any arguments the message is the help itself."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if context is not None and message.startswith("Usage:"):
        sys.stderr.write(f"{message}\n")
        return USAGE
    if context is not None:
        sys.stderr.write(f"{context.get_usage()}\n")
        message += f" Try: {context.command_path} --help"
    return _told(args, message, "cli.usage", USAGE, error)
