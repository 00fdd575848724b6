import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import mutations
import numpy as np
import pytest
from command_line import apptek
from model_folders import change_about, rewrite_manifest
from mutations import ANSWERED, DAMAGES, REFUSED, damage_and_ask, outcome

from apptek.errors import ModelError
from apptek.models import manifest
from apptek.models.manifest import open_folder, verify_folder
from apptek.models.model_folder import load_model
from benchmarks.torture_files import known_query, models_of

MODELS = ("default", "max", "recency")
BATCH = 50  # seeds for one process


@pytest.fixture(scope="module")
def query() -> list[str]:
    return known_query()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind that is written."""
    return models_of(tmp_path_factory.mktemp("mutations"))


def test_the_page_about_the_folder_names_every_file(models: dict[str, Path]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "model-folder.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    patterns = [pattern for cell in cells for pattern in re.findall(r"`([^`]+)`", cell)]
    for folder in models.values():
        for path in (path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            assert any(fnmatch(name, pattern) for pattern in patterns), name


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_damage_is_refused(
    name: str, models: dict[str, Path], query: list[str]
) -> None:
    assert outcome(models[name], query).startswith(ANSWERED)
    for seed, damage in enumerate(dict.fromkeys(DAMAGES)):
        done, result = damage_and_ask(models[name], query, damage, seed)
        assert result.startswith(REFUSED), done
        assert "again" in result  # every error says what to do


@pytest.mark.parametrize("name", MODELS)
def test_verify_finds_every_damage_however_large_the_folder(
    name: str, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    found_when_opened = 0
    for seed in range(40):
        copy = Path(shutil.copytree(models[name], tmp_path / str(seed)))
        DAMAGES[seed % len(DAMAGES)](copy, np.random.default_rng(seed))
        with pytest.raises(ModelError):
            verify_folder(copy)
        try:
            open_folder(copy)
        except ModelError:
            found_when_opened += 1
    assert found_when_opened > 30  # all but bytes in the middle of an array


def run_batches(model: Path, query: list[str], seeds: range, *more: str) -> list[list[str]]:
    """What each seed comes to. A crash fails with the seed that crashed, a hang after minutes."""
    results = []
    for first in range(seeds.start, seeds.stop, BATCH):
        bounds = (str(first), str(min(first + BATCH, seeds.stop)))
        done = subprocess.run(
            [sys.executable, mutations.__file__, str(model), json.dumps(query), *bounds, *more],
            capture_output=True, text=True, check=False, timeout=600,
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-2000:])
        results += [json.loads(line) for line in lines[1::2]]
    assert len(results) == len(seeds)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_wrong_values_that_the_manifest_confirms_crash_nothing(
    name: str, models: dict[str, Path], query: list[str]
) -> None:
    """The second line of defence: the checks of ranges, where checksums have nothing to say."""
    results = run_batches(models[name], query, range(150), "values")
    refused = [result.startswith(REFUSED) for _, _, result in results]
    assert 40 < sum(refused) < 150  # some values are as good as the old ones


JSON_VALUES: tuple[tuple[str, object], ...] = (
    ("clock.short", 0), ("clock.long", {}), ("views.all_facts.report", 1.5),
    ("views.past_only.counting", {"weight": 1.0, "kernel": {"entity_decay": 0.0}}),
    ("occurrence.predicates", {"a": 1}),
    ("occurrence.predicates.1", {}), ("occurrence.either", []), ("occurrence.stride", -5),
    ("occurrence.horizons.0.burst.0", []), ("occurrence.horizons.0.leads.0.3.1", "2014-01-01"),
    ("occurrence.clock.1", ""), ("settings.features.past_only", "x"),
    ("views.all_facts.kinds.0.values.1", 0), ("occurrence.horizons.0.window", 0),
    ("occurrence.horizons.0.acquainted.weights.9", None), ("occurrence.horizons.0.leads.0.0", {}),
    ("occurrence.horizons.0.leads.0.0", "?"), ("occurrence.horizons.0.burst.1", float("nan")),
    ("preset", [[]]), ("views.all_facts.kinds.0.name", {}),
)  # fmt: skip


@pytest.mark.parametrize(("place", "value"), JSON_VALUES)
def test_a_wrong_value_in_model_json_is_refused_in_one_line(
    place: str, value: object, models: dict[str, Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(models["default"], tmp_path / "model"))
    assert change_about(copy, place, value) != value
    rewrite_manifest(copy)
    with pytest.raises(ModelError) as refused:
        load_model(copy)
    assert len(str(refused.value).splitlines()) == 1


def test_info_about_a_model_without_its_report_is_one_line(
    models: dict[str, Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(models["default"], tmp_path / "model"))
    change_about(copy, "views.all_facts.report", {})
    rewrite_manifest(copy)
    done = apptek("info", str(copy))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "KeyError: 'valid_mrr'" in done.stderr
