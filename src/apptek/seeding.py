"""Random numbers: one seed gives many independent streams, each with a name."""

import zlib

import numpy as np


def generator(seed: int, name: str) -> np.random.Generator:
    """The generator of one stream, the same at every call; another name or seed gives another."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
