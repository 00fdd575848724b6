"""Random damage to model folders, and the outcome of opening and querying them.

As a program, it works through a range of seeds in a separate process, because the damage that it
looks for would end the process:

python mutations.py MODEL QUERY.json first last [values]
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

Damage = Callable[[Path, np.random.Generator], str]
REFUSED, ANSWERED = "refused", "answered"


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.stat().st_size)


def _some_file(folder: Path, rng: np.random.Generator) -> Path:
    """One of the non-empty files; every file is equally likely, whatever its size."""
    files = _files(folder)
    return files[int(rng.integers(len(files)))]


def flip(folder: Path, rng: np.random.Generator) -> str:
    """Change one byte; in half of the cases, one of the first 200."""
    path = _some_file(folder, rng)
    content = bytearray(path.read_bytes())
    place = int(rng.integers(min(len(content), 200) if rng.random() < 0.5 else len(content)))
    content[place] ^= int(rng.integers(1, 256))
    path.write_bytes(content)
    return f"byte {place} of {path.name}"


def truncate(folder: Path, rng: np.random.Generator) -> str:
    """Truncate a file."""
    path = _some_file(folder, rng)
    content = path.read_bytes()
    length = int(rng.integers(len(content)))
    path.write_bytes(content[:length])
    return f"{path.name} cut to {length}"


def extend(folder: Path, rng: np.random.Generator) -> str:
    """Append bytes to a file."""
    path = _some_file(folder, rng)
    with path.open("ab") as file:
        file.write(rng.bytes(int(rng.integers(1, 100))))
    return f"{path.name} longer"


def delete(folder: Path, rng: np.random.Generator) -> str:
    """Remove a file."""
    path = _some_file(folder, rng)
    path.unlink()
    return f"no {path.name}"


def swap(folder: Path, rng: np.random.Generator) -> str:
    """Swap two files with different content; append to the file if there are no two."""
    one = _some_file(folder, rng)
    content = one.read_bytes()
    others = [path for path in _files(folder) if path.read_bytes() != content]
    if not others:
        return extend(folder, rng)
    two = others[int(rng.integers(len(others)))]
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    return f"{one.name} and {two.name} exchanged"


def empty(folder: Path, rng: np.random.Generator) -> str:
    """Empty a file."""
    path = _some_file(folder, rng)
    path.write_bytes(b"")
    return f"{path.name} empty"


def change_value(folder: Path, rng: np.random.Generator) -> str:
    """Change a value in an array of ids, offsets, times or types, and update the manifest."""
    from model_folders import change_array

    from apptek.array_file import read_arrays
    from apptek.models.manifest import ARRAYS

    arrays, _ = read_arrays(folder / ARRAYS)
    names = sorted(name for name, array in arrays.items() if array.dtype.kind == "i" and len(array))
    name = names[rng.integers(len(names))]
    length, done = len(arrays[name]), ""

    def change(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        nonlocal done
        values = np.asarray([-(2**31), -2, -1, 0, 1, length, 10**6, 2**31 - 1], array.dtype)
        places = rng.integers(length, size=int(rng.integers(1, 4)))
        array[places] = rng.choice(values, len(places))
        done = f"{name} at {places.tolist()}: {array[places].tolist()}"
        return array

    change_array(folder, name, change)
    return done


DAMAGES: tuple[Damage, ...] = (flip, flip, flip, truncate, extend, delete, swap, empty)


def outcome(folder: Path, query: list[str]) -> str:
    """The outcome of opening a folder and asking one query: a word and a text."""
    from apptek.errors import ModelError
    from apptek.predictor import Predictor
    from apptek.results import Query

    try:
        (answer,) = Predictor.load(folder).predict([Query(*query)], top=3)
    except ModelError as error:
        text = str(error)
        assert len(text.splitlines()) == 1, text
        return f"{REFUSED}: {text}"
    return f"{ANSWERED}: {answer.probabilities}"


def damage_and_ask(model: Path, query: list[str], damage: Damage, seed: int) -> tuple[str, str]:
    """Damage a copy of a folder; return the damage and the outcome."""
    with TemporaryDirectory() as temporary:
        copy = Path(shutil.copytree(model, Path(temporary) / "model"))
        done = damage(copy, np.random.default_rng(seed))
        return done, outcome(copy, query)


def main() -> None:
    """Print a line for each seed."""
    model, query, first, last, *rest = sys.argv[1:]
    for seed in range(int(first), int(last)):
        damage = change_value if rest else DAMAGES[seed % len(DAMAGES)]
        print(f"{seed} {damage.__name__}", flush=True)  # noqa: T201 - before it may crash
        done, result = damage_and_ask(Path(model), json.loads(query), damage, seed)
        print(json.dumps([seed, done, result]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
