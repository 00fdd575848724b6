"""Random numbers: one seed provides many independent streams, each with a name."""

import zlib

import numpy as np


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the generator for a stream, always the same for the same name and seed."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
