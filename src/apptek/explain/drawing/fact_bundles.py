"""Facts that a drawing shows as one line, and how far they lead from an entity."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from apptek.explain.explanation import CitedFact

UNKNOWN_TEXT = "?"  # a time that is not known


@dataclass(slots=True)
class Bundle:
    """Facts with the same ends and the same predicate, and the reasons that cite them."""

    source: str
    predicate: str
    target: str
    facts: list[CitedFact] = field(default_factory=list)
    reasons: set[int] = field(default_factory=set)

    @property
    def ends(self) -> set[str]:
        """The two entities."""
        return {self.source, self.target}

    @property
    def is_way(self) -> bool:
        """Whether it lies on a way between the two, not beside one."""
        return any(fact.on_path for fact in self.facts)

    @property
    def nearest(self) -> CitedFact:
        """The fact that is nearest in time; undated ones last."""
        return min(self.facts, key=lambda f: (f.distance is None, abs(f.distance or 0), f.fact))

    @property
    def when(self) -> str:
        """The date of the fact, or of the nearest one; nothing where none has a date."""
        near = self.nearest
        if near.since == near.until == UNKNOWN_TEXT:
            return ""
        apart = f" · {near.apart}" if near.apart and len(self.facts) == 1 else ""
        first = "" if len(self.facts) == 1 else "nearest "
        return f"{first}{near.date}{apart}"


def bundled(facts: Iterable[tuple[CitedFact, int]]) -> list[Bundle]:
    """Facts with the number of the reason that cites each (0: none), each once in its bundle.

    Bundles that reasons cite come first, then those with more facts.
    """
    bundles: dict[tuple[str, str, str], Bundle] = {}
    seen: set[tuple[int, str]] = set()
    for fact, number in facts:
        key = (fact.subject, fact.predicate, fact.object)
        bundle = bundles.setdefault(key, Bundle(*key))
        if number:
            bundle.reasons.add(number)
        if (fact.fact, fact.subject) not in seen:
            seen.add((fact.fact, fact.subject))
            bundle.facts.append(fact)
    found = [bundle for bundle in bundles.values() if bundle.facts]
    return sorted(found, key=lambda b: (not b.reasons, -len(b.reasons), -len(b.facts)))


def hops_from(bundles: Sequence[Bundle], start: str, other: str) -> dict[str, int]:
    """How many facts lie between an entity and each that can be reached, not through the other."""
    hops, layer = {start: 0}, [start]
    while layer:
        reached = dict.fromkeys(
            name
            for bundle in bundles
            if bundle.ends & set(layer)
            for name in (bundle.source, bundle.target)
            if name not in hops and name != other
        )
        hops |= dict.fromkeys(reached, hops[layer[0]] + 1)
        layer = list(reached)
    return hops
