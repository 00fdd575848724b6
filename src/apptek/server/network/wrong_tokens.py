"""How often an address has sent a wrong token: guessing is slow."""

import time
from collections import deque
from ipaddress import ip_address, ip_network

ALLOWED = 10  # wrong tokens of one address within a minute
MINUTE = 60.0
_ADDRESSES = 10_000  # that are remembered


class WrongTokens:
    """Counts wrong tokens by address. After too many, an address must wait before the next one.

    A network of IPv6 counts as one address: whoever has one has 2^64 of them.
    """

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}

    def add(self, address: str) -> None:
        """Counts a wrong token."""
        times = self._times.pop(_key(address), deque(maxlen=ALLOWED))
        times.append(time.monotonic())
        self._times[_key(address)] = times  # the last one
        if len(self._times) > _ADDRESSES:
            del self._times[next(iter(self._times))]

    def seconds_to_wait(self, address: str) -> float:
        """How long no token of this address is looked at; 0 if the next one is."""
        times = self._times.get(_key(address))
        if times is None or len(times) < ALLOWED:
            return 0.0
        return max(0.0, times[0] + MINUTE - time.monotonic())


def _key(address: str) -> str:
    number = address.partition("%")[0]  # without the interface of a local address
    try:
        long = ip_address(number).version == 6
    except ValueError:  # a socket without an address
        return address
    return str(ip_network(f"{number}/64", strict=False)) if long else number
