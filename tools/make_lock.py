"""Write requirements.lock, the release lock: every package with the checksums of its files.

It queries the package index that pip is configured to use; `make lock` runs it. Users install with
`pip install --require-hashes -r requirements.lock` and then `pip install --no-deps .`.
"""

import os
import subprocess
import sys
import urllib.request
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from tools.dependencies import ROOT, packages

LOCK = ROOT / "requirements.lock"
HEAD = """\
# The packages that APPTeK and its extras need, each with the checksums of all its files: a file
# that was replaced is refused. Made by `make lock` from constraints.txt.
#
#   pip install --require-hashes -r requirements.lock && pip install --no-deps .
"""


class _Links(HTMLParser):
    """The files on an index page: name and SHA-256."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = urlsplit(dict(attrs).get("href") or "")
        if tag == "a" and address.fragment.startswith("sha256="):
            name = unquote(address.path.rpartition("/")[2])
            self.files[name] = address.fragment.removeprefix("sha256=")


def _index() -> str:
    """Return the URL of the index that pip uses."""
    from pip._internal.models.index import PyPI

    words = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    return os.environ.get("PIP_INDEX_URL") or told or str(PyPI.simple_url)


def _version(file: str) -> Version | None:
    try:
        if file.endswith(".whl"):
            return parse_wheel_filename(file)[1]
        return parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None


def checksums(name: str, version: str) -> list[str]:
    """Return the sorted checksums of all files for a version."""
    address = f"{_index().rstrip('/')}/{canonicalize_name(name)}/"
    with urllib.request.urlopen(address) as response:
        page = _Links()
        page.feed(response.read().decode())
    found = {sum_ for file, sum_ in page.files.items() if _version(file) == Version(version)}
    if not found:
        raise SystemExit(f"the index has no files of {name} {version}")
    return sorted(found)


def main() -> None:
    """Write the lock."""
    entries = []
    for package in packages():
        lines = [f"{package.name}=={package.version}"]
        lines += [f"    --hash=sha256:{sum_}" for sum_ in checksums(package.name, package.version)]
        entries.append(" \\\n".join(lines))
    LOCK.write_text(HEAD + "\n".join(entries) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
