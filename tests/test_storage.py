import json
import os
from dataclasses import replace
from pathlib import Path
from tokenize import TokenError

import numpy as np
import pyarrow as pa
import pytest
from oracles import PlainFact
from pyarrow import parquet
from worlds import ENTITIES, dataset_of

from apptek.errors import GraphError, ModelError
from apptek.facts.facts import SPLITS, Dataset, OpenEnd
from apptek.files import new_file
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models import storage
from apptek.models.storage import load_data, save_data
from apptek.predictor import Predictor

TRAIN = [PlainFact(0, 0, 1, 3, None), PlainFact(1, 1, 2, 4, 9), PlainFact(2, 2, 0, None, None)]
HELD_OUT = [PlainFact(0, 1, 2, 5, 7)]


def saved(dataset: Dataset, folder: Path) -> Path:
    folder.mkdir()
    save_data(folder, dataset, TemporalGraph.of(dataset))
    return folder


@pytest.mark.parametrize("open_end", ["point", "ongoing"])
def test_a_data_set_comes_back_as_it_was(open_end: OpenEnd, tmp_path: Path) -> None:
    dataset = replace(dataset_of(TRAIN, HELD_OUT), open_end=open_end)
    loaded, graph = load_data(saved(dataset, tmp_path / "data"), "plain")
    assert (loaded.name, loaded.axis, loaded.open_end) == ("plain", dataset.axis, open_end)
    assert graph.open_end == open_end
    for split in SPLITS:
        for one, two in zip(
            loaded.split(split).columns(), dataset.split(split).columns(), strict=True
        ):
            assert np.array_equal(one, two)
    assert list(loaded.entities) == list(dataset.entities)
    assert list(loaded.predicates) == list(dataset.predicates)


def test_names_that_are_too_few_are_refused(tmp_path: Path) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    parquet.write_table(pa.table({"name": ["a", "b"]}), folder / "entities.parquet")
    with pytest.raises(GraphError, match=f"there are 2 names for {ENTITIES} ids"):
        load_data(folder, "plain")


@pytest.mark.parametrize("split", ["valid", "test"])
@pytest.mark.parametrize("column", ["subjects", "predicates", "objects"])
def test_an_id_that_does_not_exist_is_refused(split: str, column: str, tmp_path: Path) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    np.save(folder / f"{split}.{column}.npy", np.asarray([99], np.int32))
    with pytest.raises(GraphError, match=rf"{split}\.{column} has the id 99"):
        load_data(folder, "plain")


def test_of_a_large_graph_only_the_offsets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    np.save(folder / "graph" / "facts.objects.npy", np.asarray([1, 2, 99], np.int32))
    with pytest.raises(GraphError, match=r"facts\.objects has the id 99"):
        load_data(folder, "plain")
    monkeypatch.setattr(storage, "FULL_CHECK", 0)
    load_data(folder, "plain")
    offsets = np.load(folder / "graph" / "incidence.offsets.npy")
    offsets[1] = 99
    np.save(folder / "graph" / "incidence.offsets.npy", offsets)
    with pytest.raises(GraphError, match=r"incidence\.offsets descend"):
        load_data(folder, "plain")


def test_how_a_model_was_fitted_survives_loading_and_saving(
    served_model: Path, tmp_path: Path
) -> None:
    run = (served_model / "run.json").read_bytes()
    assert json.loads(run)
    Predictor.load(served_model).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "run.json").read_bytes() == run


@pytest.mark.parametrize("error", [AttributeError, IndexError, KeyError, TypeError])
def test_an_error_of_the_program_is_not_called_damage(error: type[Exception]) -> None:
    with (
        pytest.raises(ModelError, match="cannot be opened by this version") as told,
        storage.refusing_damage(Path("model")),
    ):
        raise error("of the program")
    assert isinstance(told.value.__cause__, error)  # its traceback is there
    assert "damaged" not in str(told.value)
    damaged = pytest.raises(ModelError, match="model is damaged: header")
    with damaged, storage.refusing_damage(Path("model")):
        raise TokenError("header")


def test_the_umask_is_read_without_setting_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        if Path("/proc/self/status").exists():
            monkeypatch.setattr(os, "umask", None)  # as other threads write files meanwhile
        with new_file(tmp_path / "a.txt") as temporary:
            temporary.write_text("a")
        assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)
