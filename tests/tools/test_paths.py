"""A folder that nothing leaves: hostile paths, links, devices, and folders swapped while we work."""

import gc
import os
import shutil
import socket
import threading
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from backstay.core.errors import SetupError, ToolError, ToolInputError
from backstay.tools.paths import PathError, Root, Walk, shown


@pytest.fixture(params=["openat2", "portable"])
def make(request: pytest.FixtureRequest) -> Callable[[Path], Root]:
    """Both ways to open; where the kernel lacks openat2 the first is the second."""
    return lambda folder: Root(folder, portable=request.param == "portable")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_bytes(b"outside")
    return folder


@pytest.fixture
def inside(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "box").mkdir(parents=True)
    (folder / "box" / "secret.txt").write_bytes(b"inside")
    (folder / "a.txt").write_bytes(b"a")
    return folder


@pytest.fixture
def root(make: Callable[[Path], Root], inside: Path) -> Root:
    return make(inside)


def everything(root: Root, **options: int) -> Walk:
    return root.walk(wants=lambda parts: True, enters=lambda parts: True, **options)


def read(root: Root, path: str) -> bytes:
    with root.open_read(path) as file:
        return file.read()


def test_a_file_is_read_by_its_relative_path(root: Root) -> None:
    assert read(root, "box/secret.txt") == b"inside"


@pytest.mark.parametrize("path", ["./a.txt", "box/../a.txt", "box//../a.txt", "box/./.././a.txt", "a.txt/"])
def test_harmless_detours_lead_to_the_file(root: Root, path: str) -> None:
    assert root.stat(path).path == "a.txt"


def test_the_root_itself_is_a_folder(root: Root) -> None:
    assert root.stat(".").kind == "folder"
    with pytest.raises(PathError, match="is a folder"):
        root.open_read("box/..")


HOSTILE = [
    "",
    " ",
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/root/etc/passwd",
    "..",
    "../",
    "../a.txt",
    "box/../../a.txt",
    "/a.txt",
    "../outside/secret.txt",
    "../root/../outside/secret.txt",
    "./../outside/secret.txt",
    "box/../../outside/secret.txt",
    "box/../../root/a.txt",
    "a/b/../../../outside/secret.txt",
    "../root-evil/secret.txt",
    "..\\outside\\secret.txt",
    "C:\\Windows\\win.ini",
    "\\\\server\\share\\x",
    "file:///etc/passwd",
    "~/.ssh/id_rsa",
    "$HOME/.ssh/id_rsa",
    "%2e%2e/outside/secret.txt",
    "．．/outside/secret.txt",
    "‥/outside/secret.txt",
    "a.txt\0",
    "a.txt\0.png",
    "\0",
    "a.txt\udce9",
    "a.txt/x",
    "box",
    "box/",
    ".",
    "link.txt",
    "link-to-folder/secret.txt",
    "box/up/a.txt",
    "absolute-link/passwd",
    "loop",
    "loop/x",
    "dangling",
    "magic/root/etc/passwd",
    "magic/cwd/x",
    "fifo",
    "socket",
    "missing.txt",
    "box/missing/deeper.txt",
    "x" * 256,
    "x/" * 3000 + "x",
]


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path[:24]))
def test_a_hostile_path_is_refused_for_reading_and_deleting(
    root: Root, inside: Path, outside: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (inside / "link.txt").symlink_to(inside / "a.txt")
    (inside / "link-to-folder").symlink_to("../outside")
    (inside / "box" / "up").symlink_to("..")
    (inside / "absolute-link").symlink_to("/etc")
    (inside / "loop").symlink_to("loop")
    (inside / "dangling").symlink_to("nowhere")
    (inside / "magic").symlink_to("/proc/self")
    (inside.parent / "root-evil").mkdir()
    (inside.parent / "root-evil" / "secret.txt").write_bytes(b"evil")
    os.mkfifo(inside / "fifo")
    monkeypatch.chdir(inside)  # a socket's path is short or fails
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        before = snapshot(inside.parent)
        for use in (root.open_read, root.removable, root.unlink):
            with pytest.raises(ToolInputError, match=r"^path: expected .+, got .+, which .+") as caught:
                use(path)
            assert caught.value.applied is False
            assert len(caught.value.message) < 1_000
    assert snapshot(inside.parent) == before


def snapshot(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def test_a_device_is_refused(make: Callable[[Path], Root]) -> None:
    with pytest.raises(PathError, match="no regular file"):
        make(Path("/dev")).open_read("null")


def test_a_magic_link_of_proc_is_refused(make: Callable[[Path], Root]) -> None:
    if not Path("/proc/self/root").exists():
        pytest.skip("no /proc")
    with pytest.raises(PathError):
        make(Path(f"/proc/{os.getpid()}")).open_read("root/etc/passwd")


def test_a_hard_linked_file_is_read_but_not_removed(root: Root, inside: Path, outside: Path) -> None:
    os.link(outside / "secret.txt", inside / "hard.txt")
    assert read(root, "hard.txt") == b"outside"
    with pytest.raises(PathError, match="hard links"):
        root.unlink("hard.txt")
    assert (inside / "hard.txt").exists()


def test_unlink_removes_the_file_it_was_told_to_expect(root: Root, inside: Path) -> None:
    seen = root.stat("a.txt")
    assert root.unlink("a.txt", expect=seen.identity) == seen
    assert not (inside / "a.txt").exists()


def test_unlink_leaves_a_file_that_took_its_place(root: Root, inside: Path) -> None:
    seen = root.stat("a.txt")
    (inside / "new.txt").write_bytes(b"new")
    (inside / "new.txt").replace(inside / "a.txt")
    with pytest.raises(PathError, match="no longer the file"):
        root.unlink("a.txt", expect=seen.identity)
    assert (inside / "a.txt").read_bytes() == b"new"


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
def test_a_name_is_found_however_its_accents_are_composed(root: Root, inside: Path, stored: str, asked: str) -> None:
    name = unicodedata.normalize(stored, "Résumé für Zoë.txt")  # type: ignore[arg-type]
    (inside / name).write_bytes(b"x")
    found = root.stat(unicodedata.normalize(asked, "Résumé für Zoë.txt"))  # type: ignore[arg-type]
    assert found.path == name


def test_of_two_names_that_differ_in_composition_alone_the_exact_one_counts(root: Root, inside: Path) -> None:
    names = [unicodedata.normalize(form, "é.txt") for form in ("NFC", "NFD")]  # type: ignore[arg-type]
    for name in names:
        (inside / name).write_text(name)
    if len(set(os.listdir(inside)) & set(names)) < 2:
        pytest.skip("this file system composes names itself")
    assert [read(root, name).decode() for name in names] == names


def test_chinese_names_work(root: Root, inside: Path) -> None:
    (inside / "报告").mkdir()
    (inside / "报告" / "二月 总结.txt").write_text("好")
    assert read(root, "报告/二月 总结.txt").decode() == "好"


@pytest.mark.parametrize("folder", ["", "no/such/folder", "a\0b"])
def test_a_root_that_does_not_exist_is_an_error_at_once(folder: str) -> None:
    with pytest.raises(SetupError, match="root folder"):
        Root(folder)


def test_a_file_is_no_root(inside: Path) -> None:
    with pytest.raises(SetupError):
        Root(inside / "a.txt")


def test_a_link_to_the_root_is_followed_once(make: Callable[[Path], Root], inside: Path, outside: Path) -> None:
    link = inside.parent / "link"
    link.symlink_to(inside)
    root = make(link)
    link.unlink()
    link.symlink_to(outside)
    assert root.folder == inside.resolve()
    assert read(root, "box/secret.txt") == b"inside"


def test_a_removed_root_is_a_fault_and_not_an_empty_folder(root: Root, inside: Path) -> None:
    shutil.rmtree(inside)
    inside.mkdir()
    for use in (lambda: root.stat("a.txt"), lambda: everything(root)):
        with pytest.raises(ToolError, match="was removed") as caught:
            use()
        assert not isinstance(caught.value, ToolInputError)


def test_a_root_swapped_for_a_link_stays_the_folder_it_was(root: Root, inside: Path, outside: Path) -> None:
    inside.rename(inside.parent / "moved")
    inside.symlink_to(outside)
    assert read(root, "a.txt") == b"a"
    with pytest.raises(PathError):
        root.stat("secret.txt")


@contextmanager
def without_privilege() -> Iterator[None]:
    """Root may do everything, so that a test of permissions is nobody for a while."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_missing_permission_is_said(root: Root, inside: Path) -> None:
    (inside / "a.txt").chmod(0)
    (inside / "box").chmod(0o555)
    with without_privilege():
        with pytest.raises(PathError, match="may not be read"):
            root.open_read("a.txt")
        with pytest.raises(PathError, match="may not change"):
            root.unlink("box/secret.txt")
    (inside / "box").chmod(0)
    with without_privilege():
        with pytest.raises(PathError, match="may not be read"):
            root.stat("box/secret.txt")
        found = everything(root)
    (inside / "box").chmod(0o755)
    assert [entry.path for entry in found.entries] == ["a.txt", "box"]
    assert found.unread == 1


def test_no_descriptor_is_left_open(root: Root, inside: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc")
    gc.collect()  # roots of earlier tests
    count = len(os.listdir("/proc/self/fd"))
    for path in ("a.txt", "box/secret.txt", "no", "box/no/x", "a.txt/x", "box", "../x"):
        with suppress(ToolInputError):
            root.open_read(path).close()
        with suppress(ToolInputError):
            root.removable(path)
    everything(root)
    assert len(os.listdir("/proc/self/fd")) == count


def test_a_root_that_is_dropped_gives_its_descriptor_back(inside: Path) -> None:
    root = Root(inside)
    descriptor = root._descriptor
    del root
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


# Walking


def test_a_walk_is_sorted_and_passes_links_and_devices(root: Root, inside: Path) -> None:
    (inside / "link").symlink_to("../outside")
    (inside / "file-link").symlink_to("a.txt")
    os.mkfifo(inside / "fifo")
    found = everything(root)
    assert [entry.path for entry in found.entries] == ["a.txt", "box", "box/secret.txt"]
    assert found.is_whole
    assert found.unread == 0


def test_a_walk_looks_at_no_more_names_than_it_may(root: Root, inside: Path) -> None:
    for number in range(20):
        (inside / f"{number}.txt").touch()
    assert everything(root, max_entries=23).is_whole
    cut = everything(root, max_entries=22)
    assert not cut.is_whole
    assert len(cut.entries) <= 23


def test_a_walk_enters_only_what_it_is_told(root: Root) -> None:
    found = root.walk(wants=lambda parts: True, enters=lambda parts: False)
    assert [entry.path for entry in found.entries] == ["a.txt", "box"]


def test_a_name_that_is_no_text_is_counted_and_left_out(root: Root, inside: Path) -> None:
    try:
        (inside / os.fsdecode(b"bad\xff")).touch()
    except OSError:
        pytest.skip("this file system holds text alone")
    found = everything(root)
    assert found.unread == 1
    assert all(entry.path.isprintable() for entry in found.entries)


def test_a_folder_swapped_for_a_link_between_look_and_entry_is_not_entered(
    root: Root, inside: Path, outside: Path
) -> None:
    (outside / "more.txt").touch()

    def enters(parts: tuple[str, ...]) -> bool:
        shutil.rmtree(inside / "box")
        (inside / "box").symlink_to(outside)
        return True

    found = root.walk(wants=lambda parts: True, enters=enters)
    assert (inside / "box").is_symlink()
    assert [entry.path for entry in found.entries] == ["a.txt", "box"]
    assert found.unread == 1


def test_a_very_deep_folder_ends_the_walk_without_an_error(root: Root, inside: Path) -> None:
    here = os.open(inside, os.O_RDONLY)
    for _ in range(60):  # longer than any path may be
        os.mkdir("d" * 100, dir_fd=here)
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    found = everything(root)
    assert len(found.entries) >= 40


# Races


@contextmanager
def swapping(swap: Callable[[], None]) -> Iterator[list[int]]:
    """Run `swap` again and again in a thread; the list counts how often it came to its end."""
    count, stop = [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            swap()
            count[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield count
    finally:
        stop.set()
        thread.join()


def swap_folder(inside: Path, outside: Path) -> Callable[[], None]:
    def swap() -> None:
        (inside / "box").rename(inside / "real")
        (inside / "box").symlink_to(outside)
        (inside / "box").unlink()
        (inside / "real").rename(inside / "box")
        for _ in range(5):  # so that the folder is in its place for about as long as it is not
            (inside / "box").stat()

    return swap


def swap_fifo(inside: Path, outside: Path) -> Callable[[], None]:
    def swap() -> None:
        os.mkfifo(inside / "fifo")
        (inside / "fifo").replace(inside / "box" / "secret.txt")
        (inside / "fresh").write_bytes(b"inside")
        (inside / "fresh").replace(inside / "box" / "secret.txt")

    return swap


def go_on(swaps: list[int], *counts: int) -> bool:
    """Whether a race has not yet met every outcome often enough; it gives up after very many rounds."""
    return (swaps[0] < 200 or min(counts) < 20) and sum(counts) < 300_000


def swap_file(inside: Path, outside: Path) -> Callable[[], None]:
    def swap() -> None:
        (inside / "link").symlink_to(outside / "secret.txt")
        (inside / "link").replace(inside / "box" / "secret.txt")
        (inside / "fresh").write_bytes(b"inside")
        (inside / "fresh").replace(inside / "box" / "secret.txt")

    return swap


@pytest.mark.parametrize("swap", [swap_folder, swap_file, swap_fifo])
def test_a_race_never_reads_outside(
    root: Root, inside: Path, outside: Path, swap: Callable[..., Callable[[], None]]
) -> None:
    seen = refused = 0
    with swapping(swap(inside, outside)) as count:
        while go_on(count, seen, refused):
            try:
                assert read(root, "box/secret.txt") == b"inside"
                seen += 1
            except PathError:
                refused += 1
    assert seen
    assert refused


@pytest.mark.parametrize("swap", [swap_folder, swap_file])
def test_a_race_never_deletes_outside(
    root: Root, inside: Path, outside: Path, swap: Callable[..., Callable[[], None]]
) -> None:
    deleted = refused = 0
    with swapping(swap(inside, outside)) as count:
        while go_on(count, deleted, refused):
            try:
                root.unlink("box/secret.txt")
                deleted += 1
            except PathError:
                refused += 1
            with suppress(OSError):  # put it back, wherever the folder is at this moment
                folder = os.open(inside / "box", os.O_RDONLY | os.O_NOFOLLOW)
                os.close(os.open("secret.txt", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, dir_fd=folder))
                os.close(folder)
            assert (outside / "secret.txt").read_bytes() == b"outside"
    assert deleted
    assert refused


def test_a_race_never_lists_outside(root: Root, inside: Path, outside: Path) -> None:
    (outside / "only-outside.txt").touch()
    rounds = 0
    with swapping(swap_folder(inside, outside)) as count:
        while go_on(count, rounds):
            paths = [entry.path for entry in everything(root).entries]
            assert not [path for path in paths if "only-outside" in path]
            rounds += 1


def test_a_path_is_shown_without_line_breaks_and_direction_marks() -> None:
    assert shown("报告 é.txt") == "报告 é.txt"
    assert shown("a\n\x1b[2J\u202egpj.exe") == "a\\n\\x1b[2J\\u202egpj.exe"
