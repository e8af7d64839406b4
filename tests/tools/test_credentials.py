"""Credentials by handle: read at the call, for the principal, never held, never shown; a missing one is named."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backstay import Credential, Principal, RunContext, ToolError, tool
from backstay.core import redaction
from backstay.core.errors import SetupError
from workbench import Bench

KEY = "k-4f9a-canary"


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_registered", {})
    monkeypatch.setattr(redaction, "_heads", {})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    written(path)
    return path


def written(file: Path, content: bytes = f"{KEY}\n".encode(), mode: int = 0o600) -> Credential:
    """The handle of a file with this content and mode."""
    file.write_bytes(content)
    file.chmod(mode)
    return Credential(f"file:{file}")


def context(**who: Any) -> RunContext[Any]:
    return Bench().context(principal=Principal(**{"id": "ann", **who}))


async def refused(credential: Credential, ctx: RunContext[Any] | None = None) -> ToolError:
    with pytest.raises(ToolError) as error:
        await credential.get(ctx or context())
    assert error.value.applied is False
    assert error.value.__cause__ is None
    return error.value


async def test_a_variable_is_read_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    credential = Credential("env:PAY_KEY")
    assert (await refused(credential)).code == "credential.missing"
    for value in (KEY, "k-rotated-canary"):
        monkeypatch.setenv("PAY_KEY", value)
        assert await credential.get(context()) == value == credential.read(context())
        assert redaction.hide(f"<{value}>").startswith("<[redacted:")


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
async def test_a_file_is_read_at_every_call_without_its_line_end(file: Path, end: str) -> None:
    credential = Credential(f"file:{file}")
    for value in (KEY, "k-rotated canary "):
        written(file, f"{value}{end}".encode())
        assert await credential.get(context()) == value


async def test_a_function_gives_each_principal_their_own() -> None:
    async def later(who: Principal) -> str | None:
        return {"acme": "k-acme-canary"}.get(who.tenant)

    for handle in (later, lambda who: {"acme": "k-acme-canary"}.get(who.tenant)):
        credential = Credential(handle)
        assert await credential.get(context(tenant="acme")) == "k-acme-canary"
        error = await refused(credential, context(tenant="bolt"))
        assert (error.code, "function" in error.message) == ("credential.missing", True)


async def test_a_function_may_name_another_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAY_ACME", KEY)
    credential = Credential(lambda who: Credential(f"env:PAY_{who.tenant.upper()}"))
    assert await credential.get(context(tenant="acme")) == credential.read(context(tenant="acme")) == KEY
    assert "env:PAY_BOLT" in (await refused(credential, context(tenant="bolt"))).message


@pytest.mark.parametrize("mode", [0o604, 0o606, 0o602])
async def test_a_file_of_everybody_is_not_used(file: Path, mode: int) -> None:
    error = await refused(written(file, mode=mode))
    assert (error.code, str(file) in error.message, KEY in error.message) == ("credential.readable", True, False)
    assert await Credential(f"file:{file}", shared=True).get(context()) == KEY


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "credential.missing"), (b"\n", "credential.missing"), (b"12345", "credential.unusable"),
     (b"\xff\xfe\xfa\xff\xff\xff", "credential.unusable"), (b"x" * 70_000, "credential.unusable")],
)  # fmt: skip
async def test_what_is_no_credential_is_refused(file: Path, content: bytes, code: str) -> None:
    assert (await refused(written(file, content))).code == code


async def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        assert (await refused(Credential(f"file:{path}", shared=True))).code == "credential.missing"


@pytest.mark.parametrize("handle", [KEY, "env:", "file: ", "vault:x", "", 7, None])
def test_a_handle_of_another_kind_is_refused_without_repeating_it(handle: Any) -> None:
    with pytest.raises(SetupError) as error:
        Credential(handle)
    assert error.value.code == "credential.handle"
    assert KEY not in error.value.message


async def test_what_a_function_raises_is_told_by_its_type_alone() -> None:
    def broken(_who: Principal) -> str:
        raise KeyError(KEY)

    async def later(_who: Principal) -> str:
        raise KeyError(KEY)

    for handle in (broken, later):
        error = await refused(Credential(handle))
        assert ("raised KeyError" in error.message, KEY in error.message) == (True, False)
    with pytest.raises(ToolError, match=r"await credential\.get"):
        Credential(later).read(context())
    assert (await refused(Credential(lambda _who: 5))).code == "credential.unusable"  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
async def test_neither_its_text_nor_a_copy_holds_the_value(
    copied: Callable[[Credential], Credential], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAY_KEY", KEY)
    credential = Credential("env:PAY_KEY")
    assert await credential.get(context()) == KEY
    assert (repr(credential), credential.handle) == ("<credential env:PAY_KEY>", "env:PAY_KEY")
    assert KEY not in repr(copied(credential)) + repr(vars(Credential)) + repr(pickle.dumps(credential))


async def test_it_is_known_as_a_secret_before_its_first_use(file: Path) -> None:
    Credential(f"file:{file}")
    assert KEY not in redaction.redact(f"the key is {KEY}")


async def test_a_tool_without_its_key_fails_and_surely_did_nothing() -> None:
    key = Credential("env:NOT_THERE")

    @tool(risk="write", effect="once")
    async def charge(ctx: RunContext[Any]) -> str:
        """Charge something."""
        return await key.get(ctx)

    result = await Bench().run(charge)
    assert (result.ok, result.code, result.applied, result.is_void) == (False, "credential.missing", False, True)
    assert "env:NOT_THERE" in str(result.error)


def test_many_secrets_are_found_as_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(200):
        redaction.register_secret(f"s-{n:04}-canary")
    assert redaction._heads
    text = " ".join(f"s-{n:04}-canary" for n in range(200))
    hidden = redaction.hide(f"a {text} b")
    assert ("canary" in hidden, hidden.count("[redacted:")) == (False, 200)
    assert redaction.hide("nothing of it") == "nothing of it"
