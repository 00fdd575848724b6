"""The explorer's files, read once at the start: no path of a request reaches the file system."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import Request, Response

from apptek.explain.svg import STYLE

MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str

    def response(self, request: Request) -> Response:
        """The file, or word that the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_pages() -> dict[str, Page]:
    """Every file by its path below /explorer/, and the style of drawings, shared with reports."""
    found = {name: entry.read_bytes() for name, entry in _walk(files(__package__) / "explorer", "")}
    found["drawing.css"] = STYLE.encode()
    return {name: _page(name, content) for name, content in found.items()}


def _page(name: str, content: bytes) -> Page:
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    return Page(content, MEDIA_TYPES[name.rpartition(".")[2]], f'"{digest}"')


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.rpartition(".")[2] in MEDIA_TYPES:
            found.append((prefix + entry.name, entry))
    return found
