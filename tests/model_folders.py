"""The files of a fitted model, and a way to stop a fit in the middle."""

from pathlib import Path

from apptek.models.manifest import write_manifest


class Killed(BaseException):
    """Raised where a test stops a fit. No Exception, so that nothing on the way catches it."""


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of every file by its relative path.

    Without the record of times (run.json), and without the manifest, which holds its checksum.
    """
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("run.json", "manifest.json")
    }


def rewrite_manifest(folder: Path) -> None:
    """Makes the manifest fit a folder that a test has changed: what a hostile author would do."""
    (folder / "manifest.json").unlink(missing_ok=True)
    write_manifest(folder)
