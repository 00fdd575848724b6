"""Files of ids, as the research on forecasting shares them: s r o t, often with a fifth column.

RE-Net, RE-GCN, TiRGN and others keep train.txt, valid.txt and test.txt with the ids of subject,
predicate and object, a time that is counted from 0, and a column that is always 0. The names are
in entity2id.txt and relation2id.txt, the numbers of both in stat.txt.
"""

from collections import Counter
from pathlib import Path

from apptek.errors import DataError
from apptek.reading.columns import Beginning, ColumnLayout
from apptek.reading.streams import TextSource, read_blocks

COLUMNS = {"subject": 0, "predicate": 1, "object": 2, "time": 3}
_TABLES = {"entity": "entity2id.txt", "predicate": "relation2id.txt"}
_ALWAYS = ("0", "-1")  # what the fifth column holds


def find_ids(rows: list[list[str]], folder: Path) -> Beginning | None:
    """Find a file of ids by its first rows and the tables beside it; None if it is none.

    With names of ids, or numbers of them in stat.txt, all cells are numbers, four or five in a
    row; without, it is the fifth column, always 0, that says that it is no interval.
    """
    width = len(rows[0]) if rows else 0
    if width not in (4, 5) or not all(len(row) == width for row in rows):
        return None
    if not all(cell.strip(" ").removeprefix("-").isdigit() for row in rows for cell in row):
        return None
    missing = [name for name in _TABLES.values() if not (folder / name).is_file()]
    fifth = width == 5 and len({row[4] for row in rows}) == 1 and rows[0][4].strip(" ") in _ALWAYS
    stated = (folder / "stat.txt").is_file()
    if not (fifth or (width == 4 and (not missing or stated))):
        return None
    layout = ColumnLayout(width, COLUMNS)
    if missing:
        note = f"ids are not named: there is no {' and '.join(missing)}"
        return Beginning(layout, has_header=False, format="ids", notes=[note])
    entities, predicates = (_read_names(folder / name) for name in _TABLES.values())
    note = f"{len(entities):,} entities and {len(predicates):,} predicates are named by their ids"
    stated_counts = _read_statistics(folder / "stat.txt")[:2]
    if stated_counts and stated_counts != (len(entities), len(predicates)):
        note += f", though stat.txt says {' and '.join(f'{n:,}' for n in stated_counts)}"
    names = {"subject": entities, "predicate": predicates, "object": entities}
    return Beginning(layout, has_header=False, format="ids", notes=[note], names=names)


def _read_names(file: Path) -> dict[str, str]:
    """Id -> name from rows of a name and an id, in this order or the other.

    A name that several ids share gets its id, so that they stay apart.
    """
    names: dict[str, str] = {}
    line = 0
    for block in read_blocks(TextSource(file)):
        for row in block.text.split(b"\n")[:-1]:
            line += 1
            text = row.removesuffix(b"\r")
            if not text or (line == 1 and text.strip().isdigit()):  # OpenKE begins with a count
                continue
            pair = _pair(text)
            if pair is None:
                raise DataError(
                    f"{file.name}:{line}: found {text[:60]!r}, expected a name and an id"
                )
            names[pair[1]] = pair[0]
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key: f"{name} ({key})" if name in shared else name for key, name in names.items()}


def _pair(text: bytes) -> tuple[str, str] | None:
    """The name and the id of a row; further columns are left out."""
    cells = text.split(b"\t") if b"\t" in text else text.rsplit(None, 1)
    if len(cells) < 2:
        return None
    name, key = (cells[0], cells[1]) if cells[1].strip().isdigit() else (cells[1], cells[0])
    if not key.strip().isdigit() or not name:
        return None
    try:
        return name.decode(), str(int(key))
    except ValueError:
        return None


def _read_statistics(file: Path) -> tuple[int, ...]:
    try:
        words = file.read_text("utf-8")[:1000].split()
    except (OSError, ValueError):
        return ()
    return tuple(int(word) for word in words) if all(word.isdigit() for word in words) else ()
