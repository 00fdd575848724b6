"""The files of a fitted model, and a way to stop a fit in the middle."""

from pathlib import Path


class Killed(BaseException):
    """Raised where a test stops a fit. No Exception, so that nothing on the way catches it."""


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of every file by its relative path, without the record of times (run.json)."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.json"
    }
