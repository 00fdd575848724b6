"""The model that is served now, and its exchange for a new one while requests come in."""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apptek.errors import ApptekError
from apptek.models.manifest import model_digest
from apptek.models.storage import MANIFEST
from apptek.service.served_model import ServedModel

DIGEST_HEADER = "X-APPTeK-Model"
POLL_SECONDS = 1.0
_log = logging.getLogger("apptek.service")


class CurrentModel:
    """An ASGI app that hands each request to the app of the model that is current then.

    One model answers a request from its beginning to its end; the header says which.
    """

    def __init__(self, served: ServedModel, create: Callable[[ServedModel], ASGIApp]) -> None:
        self._create = create
        self._current = create(served), served.digest

    @property
    def digest(self) -> str:
        """The digest of the current model."""
        return self._current[1]

    def exchange(self, served: ServedModel) -> None:
        """Serves another model from the next request on."""
        self._current = self._create(served), served.digest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers by the current model."""
        app, digest = self._current

        async def send_with_digest(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[DIGEST_HEADER] = digest
            await send(message)

        await app(scope, receive, send_with_digest)


def reload_on_change(
    current: CurrentModel, folder: Path, open_model: Callable[[], ServedModel]
) -> None:
    """Looks at the folder in a thread of its own, and serves what is there if it has changed.

    A model that cannot be opened, or is only half written, changes nothing: the service goes on
    with the old one and says so.
    """

    def watch() -> None:
        seen = _state(folder)
        while True:
            time.sleep(POLL_SECONDS)
            state = _state(folder)
            if state == seen or not state:
                continue
            seen = state
            try:
                if model_digest(folder) != current.digest:
                    current.exchange(open_model())
                    _log.warning("another model is served from now on: %s", current.digest)
            except (ApptekError, OSError, MemoryError) as error:
                _log.warning("the model is served as before: %s", error)

    threading.Thread(target=watch, name="reload", daemon=True).start()


def _state(folder: Path) -> list[tuple[str, int, int, int]]:
    """What tells that a file was changed or exchanged; empty while there is no model."""
    try:
        if not (folder / MANIFEST).is_file():
            return []
        paths = sorted(folder.rglob("*"))
        return [
            (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
            for path, status in ((path, path.stat()) for path in paths)
        ]
    except OSError:  # it is being exchanged now
        return []
