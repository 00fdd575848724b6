import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import apptek, refusal
from fitted_models import SharedModel
from model_folders import change_about, change_array

from apptek.errors import ApptekError, ModelError
from apptek.files import new_folder, write_whole
from apptek.models import manifest
from apptek.models.manifest import FORMAT, open_folder, read_whole, verify_folder
from apptek.predictor import Predictor

ADVICE = "; copy the folder again, or fit again"


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


def replace_weights(replace: Callable[[Path], object] | None) -> Callable[[Path], None]:
    """Put something else in the place of a file, or nothing."""

    def damage(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        if replace is not None:
            replace(folder / WEIGHTS)

    return damage


WEIGHTS = "weights.all_facts.json"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "one byte": (
        flip_last_byte,
        f"predicates.text in arrays.safetensors does not match its checksum{ADVICE}",
    ),
    "a value": (
        lambda folder: change_about(folder, "views.all_facts.calibration.temperature", 9.5),
        "model.json ",
    ),
    "no file": (replace_weights(None), f"{WEIGHTS} is missing{ADVICE}"),
    "a folder": (replace_weights(Path.mkdir), f"{WEIGHTS} is missing{ADVICE}"),
    "a pipe": (replace_weights(os.mkfifo), f"{WEIGHTS} is missing{ADVICE}"),
    "a link": (
        replace_weights(lambda path: path.symlink_to("nowhere")),
        f"{WEIGHTS} is a link{ADVICE}",
    ),
    "a linked folder": (
        lambda folder: (folder / "trees").symlink_to(folder.parent),
        f"trees is a link{ADVICE}",
    ),
    "one more file": (
        lambda folder: (folder / "notes.txt").write_text("mine"),
        f"notes.txt does not belong to the model; remove it{ADVICE.replace(';', ', or')}",
    ),
    "an empty file": (
        lambda folder: (folder / "arrays.safetensors").write_bytes(b""),
        f"arrays.safetensors has 0 bytes, expected {{size:,}}{ADVICE}",
    ),
    "no manifest": (
        lambda folder: (folder / "manifest.json").unlink(),
        f"manifest.json is missing{ADVICE}",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damage_is_named(folder: Path, damage: str) -> None:
    do_damage, said = DAMAGES[damage]
    size = (folder / "arrays.safetensors").stat().st_size
    do_damage(folder)
    fault = fault_of(folder)
    assert fault.startswith(said.format(size=size))
    assert fault.endswith(ADVICE[1:])


def test_a_model_json_that_is_none_or_missing_is_damage(folder: Path) -> None:
    (folder / "model.json").write_text("[" * 200_000)
    with pytest.raises(ModelError, match=r"damaged: model\.json"):
        Predictor.load(folder)
    (folder / "model.json").unlink()
    with pytest.raises(ModelError, match=f"damaged: model.json: No such file or directory{ADVICE}"):
        Predictor.load(folder)


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
