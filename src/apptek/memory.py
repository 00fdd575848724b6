"""How much memory this process can still take."""

import os
from contextlib import suppress
from pathlib import Path


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that can still be allocated; None if unknown.

    On Linux, the least of what the machine and the control group (such as a container) leave.
    Elsewhere, all memory of the machine.
    """
    found = []
    with suppress(OSError, ValueError, KeyError):
        about = _numbers(root / "proc/meminfo")
        found.append(1024 * (about["MemAvailable:"] + about["SwapFree:"]))
    with suppress(OSError, ValueError, KeyError):  # `max` is no number: there is no limit
        groups = (root / "proc/self/cgroup").read_text().splitlines()
        name = next((line[4:] for line in groups if line.startswith("0::/")), "")
        group = root / "sys/fs/cgroup" / name
        used = _numbers(group / "memory.stat")  # its other pages are files, which can be dropped
        limit = int((group / "memory.max").read_text())
        found.append(max(0, limit - used["anon"] - used["shmem"]))
    if not found:
        with suppress(OSError, ValueError, AttributeError):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def _numbers(path: Path) -> dict[str, int]:
    lines = [line.split() for line in path.read_text().splitlines()]
    return {line[0]: int(line[1]) for line in lines}
