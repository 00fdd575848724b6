"""The explorer's files, read into memory at the start.

No path of a request ever reaches the file system.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import Request, Response

from apptek.present.html import DRAWING_STYLE

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class ExplorerFile:
    """A file that the service sends; the tag changes with the content."""

    content: bytes
    media_type: str
    tag: str

    def response(self, request: Request) -> Response:
        """The file, or 304 if the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_explorer_files() -> dict[str, ExplorerFile]:
    """Every file by its path below /explorer/, and the style that drawings share with reports."""
    contents = dict(_read_folder(files(__package__) / "explorer", ""))
    contents["drawing.css"] = DRAWING_STYLE.encode()
    return {path: _explorer_file(path, content) for path, content in contents.items()}


def _read_folder(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read_folder(entry, f"{prefix}{entry.name}/")
        elif entry.name.rpartition(".")[2] in MEDIA_TYPES:
            yield prefix + entry.name, entry.read_bytes()


def _explorer_file(path: str, content: bytes) -> ExplorerFile:
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    return ExplorerFile(content, MEDIA_TYPES[path.rpartition(".")[2]], f'"{digest}"')
