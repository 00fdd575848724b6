"""The dependencies of APPTeK and its extras, at the versions in constraints.txt."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = ("agent", "excel", "figures", "max", "mcp", "ray", "rdf", "serve", "sql")  # not dev
CORE = ""  # the extra of packages that are always installed


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is installed with APPTeK or one of its extras."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]
    extras: set[str] = field(default_factory=set)  # the extras that need it; CORE: always installed


def pins() -> dict[str, str]:
    """Return the version of each package in constraints.txt."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    lines = (line.partition("==") for line in text.splitlines() if "==" in line)
    return {canonicalize_name(name): version.strip() for name, _, version in lines}


def closure(extra: str) -> dict[str, tuple[Distribution, tuple[str, ...]]]:
    """Return the names of all packages that an extra installs, including their dependencies."""
    found: dict[str, tuple[Distribution, tuple[str, ...]]] = {}
    waiting: list[tuple[str, frozenset[str]]] = list(_own_needs(extra))
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        about = _installed(name)
        needs = list(_needs(about.requires or [], extras))
        found.setdefault(name, (about, tuple(sorted(need for need, _ in needs))))
        waiting += needs
    return found


def packages() -> list[Package]:
    """Return all packages required by APPTeK and its extras, by name."""
    pinned = pins()
    found: dict[str, Package] = {}
    for extra in (CORE, *EXTRAS):
        for name, (about, needs) in closure(extra).items():
            version = pinned.get(name, about.version)
            package = Package(about.metadata["Name"], version, licence_of(about), needs)
            found.setdefault(name, package).extras.add(extra)
    return [found[name] for name in sorted(found)]


def direct_names() -> set[str]:
    """Return the packages listed in pyproject.toml."""
    return {name for extra in (CORE, *EXTRAS) for name, _ in _own_needs(extra)}


def _own_needs(extra: str) -> Iterable[tuple[str, frozenset[str]]]:
    """Yield the direct dependencies of APPTeK or one of its extras, from pyproject.toml."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = project["optional-dependencies"][extra] if extra else project["dependencies"]
    for text in texts:
        need = Requirement(text)
        if need.name == "apptek":
            for other in need.extras:
                yield from _own_needs(other)
        else:
            yield canonicalize_name(need.name), frozenset(need.extras)


def _needs(texts: Iterable[str], extras: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    for text in texts:
        need = Requirement(text)
        here = [{"extra": extra} for extra in (*extras, "")]
        if need.marker is None or any(need.marker.evaluate(place) for place in here):
            yield canonicalize_name(need.name), frozenset(need.extras)


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise SystemExit(f"{name} is not installed: run make, or pip install -e '.[dev]'") from None


def licence_of(about: Distribution) -> str:
    """Return a package's licence: an SPDX expression, a short text, or its classifiers."""
    for expression in about.metadata.get_all("License-Expression") or []:
        return str(expression)
    classifiers = about.metadata.get_all("Classifier") or []
    named = [text.rpartition(" :: ")[2] for text in classifiers if text.startswith("License :: ")]
    named = [text for text in named if text != "OSI Approved"]
    if named:
        return " and ".join(sorted(named))
    (text,) = (about.metadata.get_all("License") or [""])[:1]
    text = text.strip()
    return re.sub(r"\s+", " ", text) if 0 < len(text) < 60 else "see its files"


def licence_table() -> str:
    """Return a Markdown table of all packages with version, licence and origin."""
    lines = ["| package | version | licence | comes with |", "|---|---|---|---|"]
    for package in packages():
        where = (
            "every installation"
            if CORE in package.extras
            else ", ".join(f"`{extra}`" for extra in sorted(package.extras))
        )
        lines.append(f"| {package.name} | {package.version} | {package.licence} | {where} |")
    return "\n".join(lines)
