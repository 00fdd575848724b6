"""How much one request may ask for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request. Beyond them the service answers with 408, 413, 422 or 503."""

    body_bytes: int = 4 << 20  # 413
    batch: int = 5_000  # queries in a batch; 422
    pairs: int = 100_000  # (query, predicate) pairs in an answer; 422
    seconds: float = 20.0  # for the body to arrive (408), and for the answer (503)
    workers: int = 2  # requests that are computed at the same time; the others wait
