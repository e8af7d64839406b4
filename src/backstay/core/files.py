"""`File`: bytes with a name and a type, as tools take and return them; a model only ever sees a handle.

A tool returns a `File`, or holds one in what it returns; its bytes go to the store and a handle takes their place. A
parameter annotated `File` takes such a handle and gives the function the bytes. Source: SPEC T4.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from pydantic_core import SchemaSerializer, core_schema

from backstay.core.canon import canonical
from backstay.core.errors import ToolError
from backstay.core.messages import PLAIN, Artifact, Label
from backstay.core.patterns import Pattern
from backstay.core.printable import printable

MAX_FILE_BYTES: Final = 16 << 20
"""Of one file."""
MAX_SESSION_BYTES: Final = 256 << 20
"""Of all files of a session."""
FORMAT: Final = "artifact"
"""The `format` of a handle in a JSON Schema."""
_HANDLE = Pattern(r"artifact:[0-9a-f]{20}(?![0-9a-f])")
_MIME = Pattern(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
_MAX_NAME = 100
_UNKNOWN = "application/octet-stream"
_TYPES = {
    "csv": "text/csv", "gif": "image/gif", "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg",
    "json": "application/json", "md": "text/markdown", "pdf": "application/pdf", "png": "image/png",
    "svg": "image/svg+xml", "txt": "text/plain", "wav": "audio/wav", "webp": "image/webp", "xml": "application/xml",
    "yaml": "application/yaml", "zip": "application/zip",
}  # fmt: skip


class File:
    """Bytes with a name and a type.

    Args:
        name: as a person would save it; only its last part counts, without what cannot be seen, at most 100 characters.
        data: the bytes; at most 16 MiB where a tool returns them.
        mime: its type; by the name's ending where it is left out.
    """

    __slots__ = ("_data", "_ref", "label", "mime", "name")
    __pydantic_serializer__: SchemaSerializer

    def __init__(self, name: str, data: bytes, mime: str = "") -> None:
        self.name = file_name(name)
        self.mime = mime if _MIME.fullmatch(mime) else _TYPES.get(self.name.rpartition(".")[2].casefold(), _UNKNOWN)
        self.label: Label = PLAIN
        """How far what it holds may be believed; set for a file that a tool was given."""
        self._data: bytes | None = bytes(data)
        self._ref = ""

    @classmethod
    def of_handle(cls, text: str) -> File:
        """The file that a handle names, its bytes not read yet.

        Raises:
            ValueError: when there is no handle in the text, or more than one.
        """
        found = _HANDLE.findall(text)
        if len(found) != 1:
            raise ValueError("expected the handle of a file, such as artifact:0a1b2c3d4e5f60718293")
        made = cls("", b"")
        made._data, made._ref = None, found[0]
        return made

    @classmethod
    def of(cls, artifact: Artifact, data: bytes) -> File:
        """The file that a store has kept."""
        made = cls("", b"")
        made._ref = artifact.ref
        made.fill(artifact, data)
        return made

    @property
    def ref(self) -> str:
        """The handle: the same for the same bytes, name and type."""
        if not self._ref:
            seal = canonical([hashlib.sha256(self.data).hexdigest(), self.name, self.mime])
            self._ref = f"artifact:{hashlib.sha256(seal.encode()).hexdigest()[:20]}"
        return self._ref

    @property
    def data(self) -> bytes:
        """The bytes.

        Raises:
            ToolError: for a handle that nobody has opened; the pipeline opens those in a tool's arguments.
        """
        if self._data is None:
            raise ToolError(f"the file {self._ref} was not opened; await ctx.open(file)")
        return self._data

    @property
    def is_open(self) -> bool:
        """Whether the bytes are here."""
        return self._data is not None

    @property
    def text(self) -> str:
        """The bytes as UTF-8 text, what is none replaced."""
        return self.data.decode("utf-8", "replace")

    def fill(self, artifact: Artifact, data: bytes) -> None:
        """Give a file that was only a handle its bytes."""
        self.name, self.mime, self.label, self._data = artifact.name, artifact.mime, artifact.label, data

    def artifact(self, label: Label) -> Artifact:
        """What a result, a store and a model know of it."""
        return Artifact(ref=self.ref, name=self.name, mime=self.mime, size=len(self.data), label=label)

    def __repr__(self) -> str:
        return f"<file {self.name or self._ref} {self.mime}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and self.ref == other.ref

    def __hash__(self) -> int:
        return hash(self.ref)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: object) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validated,
            serialization=core_schema.plain_serializer_function_ser_schema(_written, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: core_schema.CoreSchema, _handler: object) -> dict[str, Any]:
        return {"type": "string", "format": FORMAT, "description": "handle of a file of this conversation: artifact:…"}


def file_name(name: str) -> str:
    """A name that is one and no path: safe to show and to save under."""
    last = printable(name).replace("\\", "/").rpartition("/")[2]
    plain = " ".join(last.encode("utf-8", "replace").decode("utf-8").split()).strip(". ")
    if len(plain) > _MAX_NAME:
        stem, dot, ending = plain.rpartition(".")
        plain = f"{stem[: _MAX_NAME - 12]}{dot}{ending[:11]}" if dot else plain[:_MAX_NAME]
    return plain or "file"


def _validated(value: object) -> File:
    if isinstance(value, File):
        return value
    if isinstance(value, str):
        return File.of_handle(value)
    raise ValueError("expected the handle of a file, a text such as artifact:0a1b2c3d4e5f60718293")


def _written(file: File, info: core_schema.SerializationInfo) -> str:
    """A file as JSON is its handle. Who dumps a result passes a list as context and finds the files in it."""
    if isinstance(info.context, list):
        info.context.append(file)
    return file.ref


File.__pydantic_serializer__ = SchemaSerializer(
    core_schema.any_schema(serialization=core_schema.plain_serializer_function_ser_schema(_written, info_arg=True))
)
"""By this pydantic dumps a file inside data of no declared type."""
