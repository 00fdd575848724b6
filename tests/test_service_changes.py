"""What is served while its folder changes: one whole model, or another, never a mixture."""

import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from command_line import apptek, refusal, succeeds
from http_clients import running_service
from model_folders import change_array
from service_parts import client_of, tuning_query

from apptek.errors import ApptekError, ModelError
from apptek.files import new_folder, sole_writer
from apptek.models.manifest import model_digest
from apptek.predictor import Predictor, Query
from apptek.server.security_middleware import DIGEST_HEADER
from apptek.server.served_model import ServedModel, private_copy


@pytest.fixture
def model(served_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(served_model, tmp_path / "model"))


@pytest.fixture
def other_model(served_model: Path, tmp_path: Path) -> Path:
    """A model of the same names and other answers."""
    folder = Path(shutil.copytree(served_model, tmp_path / "other"))
    change_array(folder, "all_facts.bias", lambda bias: bias[::-1])
    return folder


def ask(address: str, query: dict[str, str]) -> tuple[str, list[Any]]:
    """The digest of the model that has answered, and its answer."""
    body = json.dumps(query | {"top": 5}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/api/predict", body, headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.headers[DIGEST_HEADER], json.load(response)["answers"][0]["predicates"]


def health(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}/api/health", timeout=60) as response:
        found: dict[str, Any] = json.load(response)
    return found


def overwrite(source: Path, target: Path) -> None:
    """Write into the files of a folder, as `cp -r` does it."""
    for path in sorted(source.rglob("*")):
        copied = target / path.relative_to(source)
        if path.is_dir():
            copied.mkdir(exist_ok=True)
        else:
            copied.write_bytes(path.read_bytes())


@pytest.mark.gate
def test_truncated_overwritten_and_deleted_files_change_no_answer(
    model: Path, other_model: Path, served: ServedModel
) -> None:
    query = tuning_query(served)
    with running_service(model) as service:
        before = ask(service.address, query)
        assert before[0] == served.digest
        (model / "arrays.safetensors").write_bytes(b"")
        assert ask(service.address, query) == before
        overwrite(other_model, model)
        assert ask(service.address, query) == before
        shutil.rmtree(model)
        assert ask(service.address, query) == before


def test_a_folder_that_changes_while_it_is_copied_is_refused(
    model: Path, other_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree = shutil.copytree

    def copy_a_mixture(source: Path, target: Path, *more: Any) -> None:
        copytree(source, target, *more)
        if more:  # a folder within
            return
        name = "arrays.safetensors"
        (target / name).write_bytes((source / name).read_bytes()[:-1] + b"\x55")

    monkeypatch.setattr(shutil, "copytree", copy_a_mixture)
    with pytest.raises(ModelError, match=f"^{model} is damaged: ") as refused, private_copy(model):
        pass
    assert "apptek-serve-" not in str(refused.value)


def test_no_room_for_a_copy_is_one_line(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", full)
    with (
        pytest.raises(ApptekError, match="No space left on device; set TMPDIR to"),
        private_copy(model),
    ):
        pass


def test_the_digest_is_that_of_the_model_and_not_of_its_run(
    served: ServedModel, model: Path, other_model: Path, tmp_path: Path
) -> None:
    assert client_of(served).get("/api/health").json()["model"] == served.digest
    told = json.loads(apptek("info", str(model), "--check", "--json").stdout)
    assert told["digest"] == served.digest == model_digest(model)
    assert model_digest(other_model) != served.digest
    Predictor.load(model).save(tmp_path / "again")
    assert model_digest(tmp_path / "again") == served.digest  # run.json differs


def test_a_replaced_folder_changes_no_answer(
    model: Path, other_model: Path, served: ServedModel
) -> None:
    query = Query(**tuning_query(served))
    predictor = Predictor.load(model)  # mapped from the folder itself, not from a private copy
    with new_folder(model, replace=True) as building:
        shutil.copytree(other_model, building, dirs_exist_ok=True)
    before = served.predictor.predict(query)
    assert predictor.predict(query) == before
    assert Predictor.load(model).predict(query) != before


@pytest.mark.gate
def test_fit_replaces_a_model_in_one_step(model: Path, world: Path) -> None:
    old = model_digest(model)
    words = ("fit", str(world), "--out", str(model), "--set", "classifier.epochs=1")
    assert "already exists; use --replace" in refusal(*words)
    assert model_digest(model) == old
    succeeds(*words, "--replace")
    assert model_digest(model) != old
    succeeds("info", str(model), "--check")
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_only_a_model_is_replaced(world: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert "already exists" in refusal("fit", str(world), "--out", str(tmp_path), "--replace")
    assert (tmp_path / "thesis.tex").exists()


def test_a_model_that_another_process_changes_is_not_replaced(model: Path) -> None:
    predictor, old = Predictor.load(model), model_digest(model)
    with sole_writer(model), pytest.raises(ApptekError, match="another process"):
        predictor.save(model, in_place=True)
    assert model_digest(model) == old
    with new_folder(model, replace=True) as building:
        shutil.copytree(model, building, dirs_exist_ok=True)
