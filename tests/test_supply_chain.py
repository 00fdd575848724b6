"""What a release is made of: a lock, a bill of materials, licences, builds of the same bytes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tools.dependencies import ROOT, licence_table, packages, pins
from tools.make_sbom import bill


def locked() -> dict[str, str]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return {
        canonicalize_name(name): version
        for name, version in re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.MULTILINE)
    }


@pytest.mark.slow  # it needs every extra, Ray included
def test_the_lock_has_every_package_at_the_version_of_the_constraints() -> None:
    lock, pinned = locked(), pins()
    assert set(lock) == {canonicalize_name(package.name) for package in packages()}
    assert {name: version for name, version in lock.items() if name in pinned} == {
        name: pinned[name] for name in lock if name in pinned
    }
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for entry in re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]:
        assert re.fullmatch(r"[\w.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n", entry), entry
    assert "://" not in text


@pytest.mark.slow  # it needs every extra, Ray included
def test_every_licence_is_listed() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert licence_table() in page
    assert "see its files" not in page


@pytest.mark.slow  # it needs every extra, Ray included
def test_the_bill_of_materials_is_whole_and_the_same_each_time() -> None:
    made = bill()
    assert made == bill()
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", made["serialNumber"])
    components = {entry["bom-ref"]: entry for entry in made["components"]}
    assert len(components) == len(made["components"]) == len(packages()) + 1
    assert all(entry["purl"] and entry["licenses"] for entry in components.values())
    known = {made["metadata"]["component"]["bom-ref"], *components}
    assert {entry["ref"] for entry in made["dependencies"]} == known
    for entry in made["dependencies"]:
        assert set(entry.get("dependsOn", [])) <= known
    assert sum(entry["name"] == "d3" for entry in components.values()) == 1


@pytest.mark.slow
def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    built = []
    for number, mask in enumerate((0o022, 0o077)):
        copy = tmp_path / f"checkout-{number}"
        names = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
        ).stdout.split("\0")
        before = os.umask(mask)
        for name in filter(None, names):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
            os.utime(copy / name, (10**9 + number, 10**9 + number))
        os.umask(before)
        out = tmp_path / f"dist-{number}"
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-d", str(out)],
            cwd=copy, check=True, capture_output=True,
        )  # fmt: skip
        built.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert built[0] == built[1]
    assert sorted(Path(name).suffix for name in built[0]) == [".gz", ".whl"]
