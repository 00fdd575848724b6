import json
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from fact_files import write
from fitted_models import SharedModel
from model_folders import files_of, rewrite_manifest

from apptek.errors import ApptekError, CheckpointError, DataError, ModelError
from apptek.facts.facts import Dataset
from apptek.models.registry import preset_of
from apptek.predictor import Predictor
from apptek.resuming import open_work
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(2000, 0).dataset


@pytest.fixture(scope="module")
def folder(shared_model: SharedModel) -> Path:
    return shared_model("recency")


def test_the_same_data_gives_the_same_bytes(folder: Path, data: Dataset, tmp_path: Path) -> None:
    Predictor.fit(data, model="recency", folder=tmp_path / "two")
    assert files_of(folder) == files_of(tmp_path / "two")
    assert [path.name for path in tmp_path.iterdir()] == ["two"]


def test_a_folder_that_is_damaged_or_of_another_kind_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="is not a model folder"):
        Predictor.load(tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    about = json.loads((broken / "model.json").read_text())
    for change, said in (
        ({"settings": []}, "is damaged: the settings must be an object"),
        ({"settings": {"counting": []}}, "is damaged: counting must be an object"),
        ({"settings": {"counting": {"luck": 1}}}, r"there is no setting counting\.luck"),
        ({"settings": {"counting": {"most_queries": 0}}}, r"is damaged: counting\.most_queries"),
        ({"baseline": ["recency"]}, "which is not known here"),
        ({"views": {}}, "is damaged: it has no view"),
        ({"views": {"all_facts": {"calibration": None}}}, "cannot be opened by this version"),
    ):
        (broken / "model.json").write_text(json.dumps(about | change))
        rewrite_manifest(broken)
        with pytest.raises(ModelError, match=said):
            Predictor.load(broken)
    (broken / "model.json").write_text(json.dumps(about))
    for text, said in (('{"pair": 1.0, "luck": 2.0}', "luck"), ('{"pair": "much"}', "much")):
        (broken / "weights.all_facts.json").write_text(text)
        rewrite_manifest(broken)
        with pytest.raises(ModelError, match=said):
            Predictor.load(broken)


def test_a_model_says_how_its_settings_differ_from_the_preset(
    folder: Path, data: Dataset, tmp_path: Path
) -> None:
    assert json.loads((folder / "model.json").read_text())["changed"] == {}
    config = with_settings(preset_of("pair", "default"), ["counting.smoothing=[1.0]"])
    fitted = Predictor.fit(data, model="pair", config=config, folder=tmp_path / "pair")
    assert fitted.model.changed == {"counting.smoothing": (1.0,)}
    about = json.loads((tmp_path / "pair" / "model.json").read_text())
    assert about["changed"] == {"counting.smoothing": [1.0]}
    assert Predictor.load(tmp_path / "pair").model.changed == fitted.model.changed


def test_data_without_valid_facts_is_refused(data: Dataset) -> None:
    nothing = data.valid.take(np.arange(0))
    with pytest.raises(DataError, match="on validation facts, but there are none"):
        Predictor.fit(replace(data, valid=nothing), model="pair")


def without_torch(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command where torch is not installed."""
    code = (
        "import sys, importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "sys.modules['torch'] = None\n"
        "from apptek.cli import main; main()"
    )
    words = (sys.executable, "-c", code, *words)
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.gate
def test_the_default_and_counting_work_without_torch(
    folder: Path, world: Path, tmp_path: Path
) -> None:
    new, pair = str(tmp_path / "new"), ("A", "B", "2019-05-05", "--allow-unknown")
    for words in (
        ("evaluate", str(folder)),
        ("fit", str(world), "--out", new),
        ("explain", new, *pair),
    ):
        done = without_torch(*words)
        assert done.returncode == 0, done.stderr
    new = str(tmp_path / "learned")
    refused = without_torch("fit", str(world), "--model", "de_simple", "--out", new)
    assert refused.returncode == 1
    assert "de_simple needs torch" in refused.stderr


def test_a_fit_that_failed_before_it_began_can_be_tried_again(
    data: Dataset, tmp_path: Path
) -> None:
    small = ("model.rank=4", "training.epochs=1", "training.batch_size=500")
    for rate, works in (("1e30", False), ("0.1", True)):
        config = with_settings(
            preset_of("tnt_complex", "default"), [*small, f"training.learning_rate={rate}"]
        )
        if works:
            Predictor.fit(data, model="tnt_complex", config=config, folder=tmp_path / "model")
        else:
            with pytest.raises(ApptekError, match="has diverged"):
                Predictor.fit(data, model="tnt_complex", config=config, folder=tmp_path / "model")


def test_a_stopped_fit_of_other_valid_facts_is_not_resumed(data: Dataset, tmp_path: Path) -> None:
    work = tmp_path / ".model-fit"
    config = preset_of("pair", "default")
    identity = {
        "baseline": "pair",
        "data": {split: data.split(split).digest() for split in ("train", "valid", "test")},
        "preset": "default",
        "protocol": "official",
        "seed": 0,
        "settings": asdict(config),
    }
    open_work(work, identity, resume=False)
    (work / "checkpoint").write_text("half")
    fewer = replace(data, valid=data.valid.take(np.arange(len(data.valid) - 1)))
    with pytest.raises(CheckpointError, match="belongs to another run"):
        Predictor.fit(fewer, model="pair", folder=tmp_path / "model", resume=True)
    Predictor.fit(data, model="pair", folder=tmp_path / "model", resume=True)


def test_places_for_models_that_are_none_are_refused(data: Dataset, tmp_path: Path) -> None:
    file = write(tmp_path / "file", "mine")
    with pytest.raises(ApptekError, match="already exists"):
        Predictor.fit(data, model="pair", folder=file)
    assert file.read_text() == "mine"
    work = tmp_path / ".model-fit"
    work.mkdir()
    (work / "fit.json").write_text("")
    (work / "checkpoint").write_text("half")
    with pytest.raises(CheckpointError, match=r"fit\.json is damaged"):
        Predictor.fit(data, model="pair", folder=tmp_path / "model", resume=True)
