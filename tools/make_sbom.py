"""Write the bill of materials of a release (CycloneDX 1.6, JSON): `make sbom`.

The same packages always give the same bytes: the file has no date, and its serial number is a hash
of its content.
"""

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from apptek import __version__
from tools.dependencies import CORE, ROOT, Package, direct_names, packages

D3 = ROOT / "src" / "apptek" / "server" / "explorer" / "vendor" / "d3.min.js"


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{canonicalize_name(name)}@{version}"


def _locked() -> dict[str, list[str]]:
    """Return the checksums in requirements.lock, by package."""
    sums: dict[str, list[str]] = {}
    name = ""
    for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([\w.-]+)==", line):
            name = canonicalize_name(match[1])
        elif match := re.search(r"--hash=sha256:(\w+)", line):
            sums.setdefault(name, []).append(match[1])
    return sums


def _component(package: Package, sums: list[str]) -> dict[str, Any]:
    purl = _purl(package.name, package.version)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": package.name,
        "version": package.version,
        "scope": "required" if CORE in package.extras else "optional",
        "licenses": [{"license": {"name": package.licence}}],
        "purl": purl,
    }
    # A package has one file per system, but a CycloneDX hash belongs to a single component.
    component["externalReferences"] = [
        {
            "type": "distribution",
            "url": f"{purl}?checksum=sha256:{sum_}",
            "hashes": [{"alg": "SHA-256", "content": sum_}],
        }
        for sum_ in sums
    ]
    return component


def _d3() -> dict[str, Any]:
    """Return the component of the bundled D3 library."""
    match = re.search(rb"d3js\.org v([\d.]+)", D3.read_bytes()[:200])
    version = match[1].decode() if match else "unknown"
    return {
        "type": "library",
        "bom-ref": f"pkg:npm/d3@{version}",
        "name": "d3",
        "version": version,
        "scope": "required",
        "licenses": [{"license": {"id": "ISC"}}],
        "purl": f"pkg:npm/d3@{version}",
    }


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    found, sums, apptek = packages(), _locked(), _purl("apptek", __version__)
    refs: dict[str, str] = {canonicalize_name(p.name): _purl(p.name, p.version) for p in found}
    direct = {refs[name] for name in direct_names()}
    d3 = _d3()
    content: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": apptek,
                "name": "apptek",
                "version": __version__,
                "licenses": [{"license": {"id": "MIT"}}],
                "purl": apptek,
            }
        },
        "components": [
            *(_component(p, sums.get(canonicalize_name(p.name), [])) for p in found),
            d3,
        ],
        "dependencies": [
            {"ref": apptek, "dependsOn": sorted([*direct, d3["bom-ref"]])},
            *(
                {
                    "ref": refs[canonicalize_name(package.name)],
                    "dependsOn": sorted({refs[need] for need in package.needs}),
                }
                for package in found
            ),
            {"ref": d3["bom-ref"]},
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {"serialNumber": f"urn:uuid:{number}", **content}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=1) + "\n", encoding="utf-8")
