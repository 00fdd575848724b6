"""The same model on another processor: narrower vectors, no fused multiply-add."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import files_of

from apptek.array_file import read_arrays
from apptek.compiling import processor
from apptek.models.manifest import ARRAYS
from apptek.predictor import Predictor
from apptek.synthetic.world import make_world, write_world

FIT = """
import sys
from apptek.models.manifest import ARRAYS
from apptek.predictor import Predictor
Predictor.fit(sys.argv[1], folder=sys.argv[2])
"""


def test_the_processor_is_named() -> None:
    found = processor()
    assert found["name"]
    assert set(found["vectors"]) <= {"sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve"}


@pytest.mark.slow  # it compiles every kernel
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of x86")
def test_a_narrower_processor_fits_the_same_model(tmp_path: Path) -> None:
    write_world(make_world(4_000, 1), tmp_path / "world")
    Predictor.fit(tmp_path / "world", folder=tmp_path / "here")
    other = {
        **os.environ,
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "+sse2",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "NPY_DISABLE_CPU_FEATURES": "AVX512_ICL AVX512_SPR X86_V4",
    }
    command = [sys.executable, "-c", FIT, str(tmp_path / "world"), str(tmp_path / "there")]
    subprocess.run(command, check=True, env=other, capture_output=True)
    here, there = files_of(tmp_path / "here"), files_of(tmp_path / "there")
    assert here.keys() == there.keys()
    different = {name for name in here if here[name] != there[name]}
    # What numerical minimisers have found, and the thresholds of prediction sets, which rest on it.
    assert different <= {"model.json", ARRAYS}
    arrays = [read_arrays(tmp_path / name / ARRAYS)[0] for name in ("here", "there")]
    assert arrays[0].keys() == arrays[1].keys()
    for name, array in arrays[0].items():
        tolerance = 1e-5 if ".sets." in name else 0
        np.testing.assert_allclose(arrays[1][name], array, atol=tolerance, rtol=0, err_msg=name)
    found = [numbers(json.loads(files["model.json"])) for files in (here, there)]
    assert found[0] == pytest.approx(found[1], abs=1e-4, rel=1e-3)


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return [float(value)] if isinstance(value, int | float) else []
