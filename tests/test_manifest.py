import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import apptek, refusal
from fitted_models import SharedModel
from golden_files import check
from model_folders import change_about, change_array

from apptek.errors import ApptekError, ModelError
from apptek.files import new_folder, write_whole
from apptek.models import manifest
from apptek.models.manifest import FORMAT, open_folder, read_whole, verify_folder
from apptek.predictor import Predictor


@pytest.fixture(scope="module")
def whole(shared_model: SharedModel) -> Path:
    return shared_model("recency")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def fault_of(folder: Path) -> str:
    """What opening a damaged folder says: one line, and the same as `apptek info --check`."""
    with pytest.raises(ModelError) as raised:
        Predictor.load(folder)
    text = str(raised.value)
    done = apptek("info", str(folder), "--check")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"apptek: {text}\n")
    return text.removeprefix(f"{folder} is damaged: ")


def test_the_manifest_lists_every_other_file(whole: Path) -> None:
    files = json.loads((whole / "manifest.json").read_text())["files"]
    present = {path.relative_to(whole).as_posix(): path for path in whole.rglob("*")}
    expected = {name: path.stat().st_size for name, path in present.items() if path.is_file()}
    del expected["manifest.json"]
    assert {"model.json", "run.json", "arrays.safetensors"} <= expected.keys()
    assert {name: record["size"] for name, record in files.items()} == expected
    open_folder(whole)


def flip_last_byte(folder: Path) -> None:
    content = bytearray((folder / "arrays.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "arrays.safetensors").write_bytes(content)


def replaced(put: Callable[[Path], object]) -> Callable[[Path], object]:
    """Put something else in the place of a file."""

    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        put(folder / WEIGHTS)

    return damage


WEIGHTS = "weights.all_facts.json"
DAMAGES: dict[str, Callable[[Path], object]] = {
    "one byte": flip_last_byte,
    "a value": lambda it: change_about(it, "views.all_facts.calibration.temperature", 9.5),
    "no file": lambda it: (it / WEIGHTS).unlink(),
    "a folder": replaced(Path.mkdir),
    "a pipe": replaced(os.mkfifo),
    "a link": replaced(lambda path: path.symlink_to("nowhere")),
    "a linked folder": lambda it: (it / "trees").symlink_to(it.parent),
    "one more file": lambda it: (it / "notes.txt").write_text("mine"),
    "an empty file": lambda it: (it / "arrays.safetensors").write_bytes(b""),
    "no manifest": lambda it: (it / "manifest.json").unlink(),
    "no JSON": lambda it: (it / "model.json").write_text("[" * 200_000),
    "no model.json": lambda it: (it / "model.json").unlink(),
}


def test_every_damage_is_named(whole: Path, tmp_path: Path) -> None:
    faults = []
    for name, damage in DAMAGES.items():
        folder = Path(shutil.copytree(whole, tmp_path / name))
        damage(folder)
        faults.append(f"{name}: {fault_of(folder)}")
    text = re.sub(r"[\d,]+ bytes, expected [\d,]+", "N bytes, expected N", "\n".join(faults))
    text = re.sub(r" \(.*?\)", "", text)  # what Python says of JSON
    check("text/damages.txt", text.replace(f"{tmp_path}/", ""))


@pytest.mark.parametrize("version", [FORMAT - 1, FORMAT + 1, None, str(FORMAT)])
def test_a_folder_of_another_format_says_how_to_fit_again(folder: Path, version: object) -> None:
    change_about(folder, "format", version)
    said = f"{folder} has format {version}, but this version reads {FORMAT}: fit it again"
    assert fault_of(folder).startswith(said)


def test_any_other_spelling_of_the_manifest_is_refused(folder: Path) -> None:
    path = folder / "manifest.json"
    content = path.read_text()
    files = json.loads(content)["files"]
    outside = [files | {name: files["model.json"]} for name in ("../model/model.json", "/a.json")]
    for changed in (
        "", "{", "[]", "{}", "[" * 100_000, '{"files": []}', '{"files": {"model.json": {}}}',
        '{"files": {"model.json": 1}}', content + "\n", content.replace('"files"', '"other"', 1),
        content.replace("\n", "\t", 1),
        *(json.dumps({"files": each}, indent=1, sort_keys=True) + "\n" for each in outside),
    ):  # fmt: skip
        path.write_text(changed)
        with pytest.raises(ModelError, match=r"manifest\.json does not match its checksum; copy"):
            Predictor.load(folder)


def test_of_a_large_folder_arrays_are_read_only_by_verify(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    flip_last_byte(folder)
    open_folder(folder)
    with pytest.raises(ModelError, match=r"predicates\.text in arrays\.safetensors does not match"):
        verify_folder(folder)


def test_arrays_of_another_model_are_refused_by_their_header(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    change_array(other, "facts.objects", lambda objects: objects[::-1])
    shutil.copy(other / "arrays.safetensors", folder)
    with pytest.raises(ModelError, match=r"arrays\.safetensors does not match its checksum"):
        open_folder(folder)


@pytest.mark.parametrize("name", ["model.json", "run.json", "labels.json"])
def test_of_a_large_folder_everything_else_is_read(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"damaged: {name} (is|does) not"):
        open_folder(folder)


def test_no_command_writes_a_file_into_a_model_folder(folder: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.csv"
    queries.write_text("a,b,2019-05-05\n")
    inside = folder / "result.csv"
    for words in (
        ["evaluate", str(folder), "--result", str(inside)],
        ["predict", str(folder), "--queries", str(queries), "--out", str(inside)],
    ):
        assert refusal(*words).startswith(f"apptek: {inside} would be inside a model folder")
    with pytest.raises(ApptekError, match="would be inside a model folder"):
        write_whole(inside, b"text")
    Predictor.load(folder)


def test_a_folder_that_is_exchanged_while_it_is_read_is_read_once_more(
    whole: Path, folder: Path
) -> None:
    read: list[str] = []

    def exchange_once(path: Path) -> str:
        content = (path / "model.json").read_text(encoding="utf-8")
        if not read:
            with new_folder(folder, replace=True) as building:
                shutil.copytree(whole, building, dirs_exist_ok=True)
        read.append(content)
        if len(read) == 1:
            raise ModelError("a part of the old one and a part of the new one")
        return content

    assert read_whole(folder, exchange_once) == read[1]
    assert len(read) == 2

    def exchange(path: Path) -> None:
        with new_folder(folder, replace=True) as building:
            shutil.copytree(whole, building, dirs_exist_ok=True)

    with pytest.raises(ModelError, match="replaced again and again: try again later"):
        read_whole(folder, exchange)
    with pytest.raises(ModelError, match=r"^damaged$"):
        read_whole(folder, _damaged)


def _damaged(_: Path) -> None:
    raise ModelError("damaged")
