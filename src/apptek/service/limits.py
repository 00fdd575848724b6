"""How much one request may ask for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A request beyond these is refused: 413 bytes, 422 batch and pairs, 408 or 503 seconds."""

    body_bytes: int = 4 << 20
    batch: int = 5_000  # queries
    pairs: int = 100_000  # of a query and a predicate that are returned
    seconds: float = 20.0  # from the arrival of a request to its answer
    workers: int = 2  # requests that are worked on at a time; the others wait
