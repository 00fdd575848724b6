"""One seed, many named streams of randomness that do not disturb each other."""

import zlib

import numpy as np


def generator(seed: int, name: str) -> np.random.Generator:
    """The stream `name` of `seed`: the same for ever, and unlike that of any other name or seed."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(name.encode())]))
