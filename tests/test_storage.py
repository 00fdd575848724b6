import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from model_folders import change_array
from oracles import PlainFact
from worlds import dataset_of

from apptek.errors import GraphError, ModelError
from apptek.facts.facts import SPLITS, Dataset, OpenEnd
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models import manifest, storage
from apptek.models.manifest import open_folder, write_folder
from apptek.models.storage import data_about, data_arrays, data_files, load_data
from apptek.predictor import Predictor

TRAIN = [PlainFact(0, 0, 1, 3, None), PlainFact(1, 1, 2, 4, 9), PlainFact(2, 2, 0, None, None)]
HELD_OUT = [PlainFact(0, 1, 2, 5, 7)]


def saved(dataset: Dataset, folder: Path) -> Path:
    graph = TemporalGraph.of(dataset)
    folder.mkdir()
    about = {"data": data_about(dataset, graph)}
    write_folder(folder, about, data_arrays(dataset, graph), data_files(dataset))
    return folder


def loaded_from(folder: Path) -> tuple[Dataset, TemporalGraph]:
    return load_data(open_folder(folder))


@pytest.mark.parametrize("open_end", ["point", "ongoing"])
def test_a_data_set_comes_back_as_it_was(open_end: OpenEnd, tmp_path: Path) -> None:
    dataset = replace(dataset_of(TRAIN, HELD_OUT), open_end=open_end)
    loaded, graph = loaded_from(saved(dataset, tmp_path / "data"))
    assert (loaded.name, loaded.axis, loaded.open_end) == (dataset.name, dataset.axis, open_end)
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
    change_array(folder, "entities.offsets", lambda offsets: offsets[:3])
    with pytest.raises((GraphError, ValueError), match=r"there are 2 names|sorted names of 2"):
        loaded_from(folder)


@pytest.mark.parametrize("split", ["valid", "test"])
@pytest.mark.parametrize("column", ["subjects", "predicates", "objects"])
def test_an_id_that_does_not_exist_is_refused(split: str, column: str, tmp_path: Path) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    change_array(folder, f"{split}.{column}", lambda _: np.asarray([99], np.int32))
    with pytest.raises(GraphError, match=rf"{split}\.{column} has the id 99"):
        loaded_from(folder)


def test_of_a_large_graph_only_the_offsets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    change_array(folder, "facts.objects", lambda _: np.asarray([1, 2, 99], np.int32))
    with pytest.raises(GraphError, match=r"facts\.objects has the id 99"):
        loaded_from(folder)
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    loaded_from(folder)
    change_array(folder, "incidence.offsets", lambda offsets: np.roll(offsets, 1))
    with pytest.raises(GraphError, match=r"incidence\.offsets do not go from 0"):
        loaded_from(folder)


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    change_array(folder, "entities.text", lambda text: text | np.uint8(0x80))
    with pytest.raises(pa.ArrowInvalid):
        loaded_from(folder)


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
        raise ValueError("header")
