"""How much one request may ask for, and how many connections there may be."""

from dataclasses import dataclass

from apptek.server.problem_json import ServiceError

CONNECTIONS = 4096
BACKLOG = 1024
OTHER_FILES = 128  # that a process needs beside its connections


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """The limits of one request. Beyond them the service answers with 408, 413, 422 or 503."""

    body_bytes: int = 4 << 20  # 413
    batch: int = 5_000  # queries in a batch; 422
    pairs: int = 100_000  # (query, predicate) pairs in an answer; 422
    seconds: float = 20.0  # for the body to arrive (408), and for the answer (503)
    workers: int = 2  # requests that are computed at the same time; the others wait

    def check_batch(self, rows: int, top: int) -> None:
        """Raise a ServiceError if a batch has too many queries, or asks for too many predicates.

        Of a stream that is read in pieces, `rows` may be those of the first ones.
        """
        limit = ""
        if rows > self.batch:
            limit = f"at most {self.batch:,} queries; this one has more"
        elif rows * top > self.pairs:
            limit = (
                f"at most {self.pairs:,} predicates to return, not {rows:,} queries x top {top:,}"
            )
        if limit:
            raise ServiceError(
                422,
                f"A batch may have {limit}.",
                advice="Split it into several requests.",
                where="queries",
                title="The batch is too large",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits of all connections together. Beyond them connections are closed."""

    connections: int = CONNECTIONS  # open at the same time
    backlog: int = BACKLOG  # that the system queues until the server accepts them
    seconds: float = 10.0  # for the whole head of a request, and for an answer to be taken

    @classmethod
    def within(cls, files: int) -> "ConnectionLimits":
        """The limits in a process that may open so many files.

        A connection is a file as soon as it is accepted, and up to a whole backlog of them is
        accepted before the first one is counted.
        """
        backlog = max(8, min(BACKLOG, files // 4))
        return cls(
            connections=max(8, min(CONNECTIONS, files - backlog - OTHER_FILES)), backlog=backlog
        )
