from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apptek.array_file import read_arrays, write_arrays

SAMPLE: dict[str, npt.NDArray[Any]] = {
    "bytes": np.arange(5, dtype=np.uint8),
    "flags": np.asarray([True, False, True]),
    "longs": np.arange(-3, 4),
    "matrix": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3),
    "none": np.zeros((0, 4), np.int32),
    "one": np.asarray(2.5),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_arrays(tmp_path / "a.safetensors", SAMPLE, {"epoch": 3})
    return tmp_path / "a.safetensors"


def test_arrays_come_back_mapped_aligned_and_read_only(path: Path) -> None:
    arrays, record = read_arrays(path)
    assert record == {"epoch": 3}
    assert arrays.keys() == SAMPLE.keys()
    for name, array in arrays.items():
        assert (array.dtype, array.shape) == (SAMPLE[name].dtype, SAMPLE[name].shape)
        assert np.array_equal(array, SAMPLE[name])
        assert array.flags.aligned
        assert not array.flags.writeable
    base = arrays["matrix"]
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base  # type: ignore[assignment]
    assert isinstance(base, np.memmap)


def test_the_format_is_that_of_safetensors(path: Path) -> None:
    load_file = pytest.importorskip("safetensors.numpy").load_file
    loaded = load_file(path)
    assert loaded.keys() == SAMPLE.keys()
    assert all(np.array_equal(loaded[name], array) for name, array in SAMPLE.items())


def test_the_same_content_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    write_arrays(tmp_path / "b", dict(reversed(SAMPLE.items())), {"epoch": 3})
    assert (tmp_path / "b").read_bytes() == path.read_bytes()


def test_one_array_under_two_names_stays_one(tmp_path: Path) -> None:
    array = np.arange(9)
    write_arrays(tmp_path / "a", {"since": array, "until": array, "equal": array.copy()})
    arrays, _ = read_arrays(tmp_path / "a")
    assert arrays["since"] is arrays["until"]
    assert arrays["equal"] is not arrays["since"]
    assert (tmp_path / "a").stat().st_size < 2 * array.nbytes + 1000


@given(place=st.integers(0, 10**9), bits=st.integers(1, 255))
def test_any_changed_byte_is_found_or_changes_nothing(
    place: int, bits: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "a"
    write_arrays(path, SAMPLE)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= bits
    path.write_bytes(content)
    try:
        arrays, _ = read_arrays(path)
    except ValueError as error:
        assert "does not match its checksum" in str(error)  # noqa: PT017
    else:
        assert all(np.array_equal(arrays[name], SAMPLE[name]) for name in SAMPLE)
        assert chr(content[place % len(content)]).isspace()  # the filling after the header


def test_without_check_only_the_header_is_compared(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"flags in a\.safetensors does not match its checksum"):
        read_arrays(path)
    read_arrays(path, check=False)
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"header of a\.safetensors"):
        read_arrays(path, check=False)


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, b"\x02" + bytes(7) + b"{}", b"[" * 9000])
def test_another_file_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(ValueError, match="header of"):
        read_arrays(path)


def test_a_file_of_another_length_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for other in (content[:-1], content[:-40], content + b"\0"):
        path.write_bytes(other)
        with pytest.raises(ValueError, match=r"written|reshape|longer or shorter"):
            read_arrays(path, check=False)
