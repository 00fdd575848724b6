"""A log that no client can flood: so many lines in a minute, then the number of those left out."""

import logging
import time

LINES = 30
_MINUTE = 60.0


class LogLimit(logging.Filter):
    """Passes the first records of each minute."""

    def __init__(self, records: int = LINES) -> None:
        super().__init__()
        self._records = records
        self._start = -_MINUTE
        self._passed = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged; the first one after others were left out says how many."""
        now = time.monotonic()
        if now - self._start >= _MINUTE:
            if self._left_out:
                record.msg = f"{record.getMessage()} ({self._left_out:,} others were left out)"
                record.args = ()
            self._start, self._passed, self._left_out = now, 0, 0
        self._passed += 1
        self._left_out += self._passed > self._records
        return self._passed <= self._records


def log_to_stderr() -> None:
    """All that the service and its libraries log goes to stderr, within the limit."""
    handler = logging.StreamHandler()
    handler.addFilter(LogLimit())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
