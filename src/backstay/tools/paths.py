"""`Root`: a folder that nothing leaves, neither by `..`, an absolute path or a symbolic link nor by a race.

Nothing is ever decided by comparing path texts. Every folder on the way is opened relative to the root's descriptor
(Linux: one `openat2` with RESOLVE_BENEATH, NO_SYMLINKS and NO_MAGICLINKS; elsewhere folder by folder with O_NOFOLLOW),
and the last name is used relative to its folder's descriptor, so that what was checked is what is touched.
Source: SPEC K5; openat2(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
import unicodedata
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

from backstay.core.errors import SetupError, ToolError, ToolInputError

Kind: TypeAlias = Literal["file", "folder", "link", "other"]
Parts: TypeAlias = tuple[str, ...]
Opener: TypeAlias = Callable[[int, Parts, int], int]

_LIST = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_PASS = getattr(os, "O_PATH", 0) | _LIST
"""To pass through a folder needs no right to list it."""
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""O_NONBLOCK: a FIFO put in the file's place between look and open must not hold the thread for ever."""

_NOT_INSIDE = "passes through a symbolic link or something that is no folder"
_REASONS = {
    errno.ENOENT: "does not exist",
    errno.ENOTDIR: _NOT_INSIDE,
    errno.ELOOP: _NOT_INSIDE,
    errno.EXDEV: _NOT_INSIDE,
    errno.ENXIO: "is no regular file",
    errno.EISDIR: "is a folder",
    errno.ENAMETOOLONG: "is too long a name",
    errno.EACCES: "may not be read or changed by this program",
    errno.EPERM: "may not be read or changed by this program",
}
_KINDS: dict[Kind, str] = {"folder": "is a folder", "link": "is a symbolic link", "other": "is no regular file"}


class PathError(ToolInputError):
    """A path that leads to nothing a tool may touch. Nothing was done.

    Args:
        path: as it was asked for.
        reason: what is wrong with it, to follow the word "which".
        expected: what would have been right.
    """

    def __init__(
        self,
        path: str,
        reason: str,
        *,
        expected: str = "the relative path of a file inside the root folder",
    ) -> None:
        given = path if len(path) <= 200 else f"{path[:200]}…"
        super().__init__(f"path: expected {expected}, got {given!r}, which {reason}")
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder as it was when it was looked at."""

    path: str
    """Relative to the root, `/` between names, spelled as on the disk."""
    kind: Kind
    size: int
    """Bytes."""
    modified: float
    """Seconds since 1970."""
    identity: tuple[int, int]
    """Device and inode: the same file under any name."""
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk has found."""

    entries: tuple[Entry, ...]
    """Sorted by path."""
    is_whole: bool
    """False when the walk ended because it had looked at as many entries as it may."""
    unread: int
    """Folders that could not be opened and names that are no valid text."""


class _Found(NamedTuple):
    """A name in an open folder. Whoever holds it closes `folder`."""

    folder: int
    parts: Parts
    status: os.stat_result

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else "."

    @property
    def entry(self) -> Entry:
        return _entry(self.parts, self.status)


class Root:
    """A folder that nothing leaves. Everything is asked for by relative paths and reached through its descriptor.

    It stays the folder it was when it was opened, whatever happens to its path later. File systems mounted inside it
    belong to it. A path is tried as it is spelled, then in Unicode's composed and decomposed forms, since people,
    models and file systems do not agree on which to use.

    Args:
        folder: the folder; its own path may lead through symbolic links, which are followed once, here.
        portable: go folder by folder even where the kernel has `openat2`.

    Raises:
        SetupError: if the folder does not exist, is none, or the system cannot open relative to a folder (Windows).
    """

    def __init__(self, folder: str | Path, *, portable: bool = False) -> None:
        if os.open not in os.supports_dir_fd:
            raise SetupError("this system cannot open files relative to a folder; file tools need Linux or macOS")
        if folder == "":
            raise SetupError("the root folder is an empty text; name a folder ('.' for the one the program runs in)")
        try:
            self.folder = Path(folder).resolve(strict=True)
            self._descriptor = os.open(self.folder, _PASS)
        except (OSError, ValueError) as error:
            raise SetupError(
                f"the root folder {str(folder)!r} cannot be opened ({error}); name one that exists"
            ) from error
        weakref.finalize(self, os.close, self._descriptor)
        self._open: Opener = _step_by_step if portable or not _has_openat2(self._descriptor) else _at_once

    def __repr__(self) -> str:
        return f"Root({str(self.folder)!r})"

    def stat(self, path: str) -> Entry:
        """Look at a file or folder.

        Raises:
            PathError: if it does not exist, is a link or a device, or lies outside.
        """
        with self._found(path) as found:
            if found.entry.kind in ("link", "other"):
                raise PathError(path, _KINDS[found.entry.kind])
            return found.entry

    def open_read(self, path: str) -> BinaryIO:
        """Open a regular file for reading; the caller closes it.

        Raises:
            PathError: if it is anything but a regular file inside the root that may be read.
        """
        with self._found(path) as found:
            _require_file(path, found.status)
            file = os.fdopen(os.open(found.name, _READ, dir_fd=found.folder), "rb")
            try:
                _require_file(path, os.fstat(file.fileno()))  # what was opened, not what was looked at
            except PathError:
                file.close()
                raise
            return file

    def removable(self, path: str) -> Entry:
        """Look at a file that `unlink` would remove now.

        Raises:
            PathError: if `unlink` would refuse.
        """
        with self._found(path) as found:
            return _require_removable(path, found)

    def unlink(self, path: str, expect: tuple[int, int] | None = None) -> Entry:
        """Remove a regular file, in the folder that was opened and nowhere else.

        A file put in its place under the same name in the very moment of removal is removed instead: no system has a
        removal by descriptor. It is never a file elsewhere; of a symbolic link only the link would go.

        Args:
            path: the file.
            expect: the `identity` it must still have.

        Returns:
            The file as it was just before.

        Raises:
            PathError: if it is no regular file, has other names (hard links), or is no longer the expected one.
        """
        with self._found(path) as found:
            entry = _require_removable(path, found)
            if expect is not None and entry.identity != expect:
                raise PathError(path, "is no longer the file that was looked at")
            os.unlink(found.name, dir_fd=found.folder)
            return entry

    def walk(
        self,
        *,
        wants: Callable[[Parts], bool],
        enters: Callable[[Parts], bool],
        max_entries: int = 100_000,
    ) -> Walk:
        """Look through the folders without ever following a symbolic link; links and devices are not listed.

        Args:
            wants: whether a file or folder is part of the answer, by the names of its path.
            enters: whether a folder is looked into.
            max_entries: how many names are looked at in total.
        """
        self._require_alive()
        found: list[Entry] = []
        folders: list[Parts] = [()]
        left, unread = max_entries + 1, 0  # the one more tells whether there was more
        while folders and left > 0:
            parts = folders.pop()
            try:
                entries, seen, illegible = self._list(parts, wants, enters, left)
            except OSError:  # gone, closed to us, or swapped for a link while we walk: not ours to read
                unread += 1
                continue
            left, unread = left - seen, unread + illegible
            found.extend(entry for entry in entries if wants(_parts(entry.path)))
            below = (_parts(entry.path) for entry in entries if entry.kind == "folder")
            folders.extend(parts for parts in below if enters(parts))
        found.sort(key=lambda entry: entry.path)
        return Walk(entries=tuple(found), is_whole=left > 0, unread=unread)

    def _list(
        self, parts: Parts, wants: Callable[[Parts], bool], enters: Callable[[Parts], bool], limit: int
    ) -> tuple[list[Entry], int, int]:
        """Read one folder: the files and folders in it that matter, how many names it has, how many are no text."""
        entries: list[Entry] = []
        seen = illegible = 0
        folder = self._folder(parts, _LIST)
        try:
            with os.scandir(folder) as listing:
                for item in islice(listing, limit):
                    seen += 1
                    path = (*parts, item.name)
                    if not _is_text(item.name):
                        illegible += 1
                    elif wants(path) or (enters(path) and item.is_dir(follow_symlinks=False)):
                        entries.extend(_looked_at(folder, path))
        finally:
            os.close(folder)
        return entries, seen, illegible

    @contextmanager
    def _found(self, path: str) -> Iterator[_Found]:
        """Hold the folder that a path's last name stands in; what the system refuses becomes a `PathError`."""
        self._require_alive()
        try:
            found = self._find(path)
            try:
                yield found
            finally:
                os.close(found.folder)
        except OSError as error:
            raise _refusal(path, error) from error

    def _find(self, path: str) -> _Found:
        missing: OSError | None = None
        for parts in dict.fromkeys(_parts_of(spelling, path) for spelling in _spellings(path)):
            folder = None
            try:
                folder = self._folder(parts[:-1], _PASS)
                status = os.stat(parts[-1] if parts else ".", dir_fd=folder, follow_symlinks=False)
                return _Found(folder, parts, status)
            except OSError as error:
                if folder is not None:
                    os.close(folder)
                if not isinstance(error, FileNotFoundError):
                    raise
                missing = error
        assert missing is not None
        raise missing

    def _folder(self, parts: Parts, flags: int) -> int:
        return self._open(self._descriptor, parts, flags) if parts else os.open(".", flags, dir_fd=self._descriptor)

    def _require_alive(self) -> None:
        if os.fstat(self._descriptor).st_nlink == 0:
            raise ToolError(
                f"The root folder {str(self.folder)!r} was removed; make the tool anew once it is back.", applied=False
            )


def shown(path: str) -> str:
    """A path as a person or a model may safely read it: line breaks, escapes and text direction marks spelled out."""
    return path if path.isprintable() else repr(path)[1:-1]


def _parts(path: str) -> Parts:
    return tuple(path.split("/"))


def _parts_of(spelling: str, path: str) -> Parts:
    """The names of a path. `a/..` is taken out as text, which is exact because no name may be a symbolic link."""
    if not path.strip():
        raise PathError(path, "is empty")
    if "\0" in path or not _is_text(path):
        raise PathError(path, "holds a character that no file name can have")
    if path.startswith("/"):
        raise PathError(path, "is absolute")
    parts: list[str] = []
    for name in spelling.split("/"):
        if name == "..":
            if not parts:
                raise PathError(path, "leaves the root folder")
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    return tuple(parts)


def _spellings(path: str) -> Iterator[str]:
    yield path
    if not path.isascii():
        yield unicodedata.normalize("NFC", path)
        yield unicodedata.normalize("NFD", path)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _entry(parts: Parts, status: os.stat_result) -> Entry:
    return Entry(
        path="/".join(parts) or ".",
        kind=_kind(status.st_mode),
        size=status.st_size,
        modified=status.st_mtime,
        identity=(status.st_dev, status.st_ino),
        links=status.st_nlink,
    )


def _looked_at(folder: int, path: Parts) -> Iterator[Entry]:
    """The file or folder of that name; nothing if it is a link, a device, or gone meanwhile."""
    try:
        entry = _entry(path, os.stat(path[-1], dir_fd=folder, follow_symlinks=False))
    except OSError:
        return
    if entry.kind in ("file", "folder"):
        yield entry


def _require_file(path: str, status: os.stat_result) -> None:
    kind = _kind(status.st_mode)
    if kind != "file":
        raise PathError(path, _KINDS[kind])


def _require_removable(path: str, found: _Found) -> Entry:
    _require_file(path, found.status)
    if found.status.st_nlink > 1:
        raise PathError(path, "has other names too (hard links), so that it may reach outside the root folder")
    effective = os.access in os.supports_effective_ids
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=found.folder, effective_ids=effective):
        raise PathError(path, "stands in a folder this program may not change")
    return found.entry


def _refusal(path: str, error: OSError) -> ToolError:
    reason = _REASONS.get(error.errno or 0)
    if reason is not None:
        return PathError(path, reason)
    return ToolError(f"{path[:200]!r} could not be used: {error.strerror or type(error).__name__}.", applied=False)


def _step_by_step(root: int, parts: Parts, flags: int) -> int:
    """Open a folder below `root` name by name; O_NOFOLLOW stops at any symbolic link, whenever it was put there."""
    here = os.dup(root)
    for number, name in enumerate(parts, 1):
        wanted = flags if number == len(parts) else _PASS
        try:
            below = os.open(name, wanted | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


class _How(ctypes.Structure):
    """`struct open_how` of openat2(2)."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_OPENAT2 = 437
"""The same number on every architecture Python is built for, except alpha."""
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _at_once(root: int, parts: Parts, flags: int) -> int:
    """Open a folder below `root` with one system call that resolves no link and never leaves."""
    if _libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    path = os.fsencode("/".join(parts))
    how = _How(flags | os.O_CLOEXEC, 0, _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    while True:
        found = _libc.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(root), ctypes.c_char_p(path), ctypes.byref(how), size
        )
        if found >= 0:
            return int(found)
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code))


def _has_openat2(root: int) -> bool:
    """Whether the kernel knows the call and no sandbox around us forbids it."""
    try:
        os.close(_at_once(root, (".",), _PASS))
    except OSError:
        return False
    return True
