import errno
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from download_server import CONTENT, Behaviour, Handler, public_file

from apptek.errors import DownloadError
from apptek.facts.benchmarks import BENCHMARKS, DATA_VARIABLE, Benchmark, find_benchmark
from apptek.facts.facts import SPLITS
from apptek.reading.download import checksum_fault, download

TRAIN = CONTENT["train"]
CUT = 300_000


@pytest.fixture
def behaviour() -> Behaviour:
    return Behaviour()


@pytest.fixture
def address(behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that has the three files and behaves as set."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.behaviour = behaviour  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def benchmark(address: str) -> Benchmark:
    return Benchmark(
        name="tiny",
        title="A tiny benchmark",
        licence="none",
        files={split: public_file(f"{address}/{split}", CONTENT[split]) for split in SPLITS},
    )


def with_unknown_sums(benchmark: Benchmark) -> Benchmark:
    """The same benchmark, each file known by its blob id alone, as the train file of YAGO15K."""
    files = {split: replace(f, sha256=None, size=None) for split, f in benchmark.files.items()}
    return replace(benchmark, files=files)


def silent(file: str, done: int, total: int | None) -> None:
    pass


def fails(benchmark: Benchmark, home: Path) -> str:
    """The one line with which the download fails."""
    with pytest.raises(DownloadError) as caught:
        download(benchmark, home, progress=silent)
    message = str(caught.value)
    assert "\n" not in message
    return message


def files_in(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def assert_complete(home: Path) -> None:
    """The three files and nothing else: no .part."""
    assert files_in(home) == {f"tiny/{split}.txt": CONTENT[split] for split in SPLITS}


def test_the_three_files_arrive_once(
    benchmark: Benchmark, behaviour: Behaviour, tmp_path: Path
) -> None:
    home = tmp_path / "not" / "yet"
    assert download(benchmark, home, progress=silent) == home / "tiny"
    assert_complete(home)
    download(benchmark, home, progress=silent)  # they are there
    assert behaviour.requests == ["/train", "/valid", "/test"]


def test_a_file_known_by_its_blob_id_alone_arrives(
    benchmark: Benchmark, behaviour: Behaviour, tmp_path: Path
) -> None:
    behaviour.chunked = True
    download(with_unknown_sums(benchmark), tmp_path, progress=silent)
    assert_complete(tmp_path)


WAS_CUT = r"train\.txt: the connection was cut after [0-9,]+ of [0-9,]+ bytes.*try again"
SUMS = [hashlib.sha256(content).hexdigest() for content in (TRAIN, TRAIN.upper())]
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"cut_after": CUT}, WAS_CUT),
    ({"cut_after": CUT, "chunked": True}, WAS_CUT),
    ({"spoiled": True}, "{0}.*{1}|{1}.*{0}".format(*SUMS)),
    ({"status": 404}, "/train answered 404 Not Found"),
    ({"status": 503}, "/train answered 503 Service"),
    # The right content, at an address that must not be followed.
    *(({"redirect_to": f"{scheme}://SECRET"}, "") for scheme in ("file", "ftp", "data")),
]


@pytest.mark.parametrize(("fault", "message"), FAULTS)
def test_a_download_that_fails_leaves_nothing_and_can_be_repeated(
    benchmark: Benchmark, behaviour: Behaviour, tmp_path: Path, fault: dict[str, Any], message: str
) -> None:
    secret, home = tmp_path / "secret.txt", tmp_path / "home"
    secret.write_bytes(TRAIN)
    vars(behaviour).update(fault)
    if behaviour.redirect_to:
        behaviour.redirect_to = behaviour.redirect_to.replace("SECRET", str(secret))
    assert re.search(message, fails(benchmark, home))
    assert files_in(home) == {}
    vars(behaviour).update(vars(Behaviour()))
    download(benchmark, home, progress=silent)
    assert_complete(home)


def test_a_server_that_falls_silent_is_a_cut_connection(
    benchmark: Benchmark, behaviour: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.reading.download.TIMEOUT_SECONDS", 1.0)
    behaviour.cut_after, behaviour.stalled = CUT, Event()
    message = fails(benchmark, tmp_path)
    behaviour.stalled.set()
    assert "the connection was cut after" in message
    assert "timed out" in message


def test_more_bytes_than_the_file_has_are_not_stored(benchmark: Benchmark, tmp_path: Path) -> None:
    short = replace(benchmark.files["train"], size=10)
    reports: list[int] = []
    with pytest.raises(DownloadError, match="is not the expected file"):
        download(
            replace(benchmark, files={"train": short}),
            tmp_path,
            progress=lambda _, done, __: reports.append(done),
        )
    assert max(reports) < len(TRAIN)


def test_a_wrong_file_in_the_place_is_not_overwritten(
    benchmark: Benchmark, behaviour: Behaviour, tmp_path: Path
) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "test.txt").write_bytes(b"mine")
    message = fails(benchmark, tmp_path)
    assert "is not the published file" in message
    assert hashlib.sha256(b"mine").hexdigest() in message
    assert files_in(tmp_path) == {"tiny/test.txt": b"mine"}
    assert behaviour.requests == []


class FullDisk(io.FileIO):
    """A file on a disk with room for only so many more bytes."""

    room = 0

    def write(self, chunk: Any) -> int:
        if len(chunk) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(chunk)
        return super().write(chunk)


@pytest.mark.parametrize("room", [0, 200_000])
def test_a_full_disk_is_reported(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    real_open = Path.open

    def open_on_full_disk(path: Path, mode: str) -> Any:
        return FullDisk(path, mode) if mode == "wb" else real_open(path, mode)

    monkeypatch.setattr(FullDisk, "room", room)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_on_full_disk)
        message = fails(benchmark, tmp_path)
    assert "the disk is full" in message
    assert files_in(tmp_path) == {}
    download(benchmark, tmp_path, progress=silent)
    assert_complete(tmp_path)


def test_a_home_that_cannot_be_written_is_reported(benchmark: Benchmark, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_bytes(b"a file")
    message = fails(benchmark, home)
    assert message.startswith(f"cannot write {home}")
    assert "set APPTEK_DATA to a folder that can be written" in message
    assert home.read_bytes() == b"a file"


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["icews14", "icews05-15", "yago15k"])
def test_the_registered_checksums_are_those_of_the_files(name: str) -> None:
    folder = find_benchmark(name)
    if folder is None:
        pytest.skip(f"{name} is not there: set {DATA_VARIABLE} to the folder that holds it")
    for split, file in BENCHMARKS[name].files.items():
        if (name, split) != ("yago15k", "train"):  # may be the reconstruction
            assert checksum_fault(file, folder / f"{split}.txt") is None
            assert file.size == (folder / f"{split}.txt").stat().st_size
