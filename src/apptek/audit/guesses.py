"""Whether an explanation tells a guessed type as what it is: whom an entity deals with most."""

import re
from collections.abc import Iterator, Sequence

from apptek.explain.explanation import Explanation
from apptek.features.traits import Kind

HONEST = "deals with"  # and then: more than with any other


def guesses_told(
    explanation: Explanation, kinds: Sequence[Kind], ends: tuple[int, int]
) -> Iterator[str]:
    """What the words between a name and its guessed type are, for each guess that is told.

    ends  the ids of subject and object
    """
    sentences = [part.sentence for part in explanation.contributions() if part.kind == "trait"]
    for name, entity in zip((explanation.subject, explanation.object), ends, strict=True):
        for kind in kinds:
            if entity < 0 or not kind.is_guess(entity):
                continue
            value = re.escape(kind.value(entity) or "")
            # The value at the end of a clause about this name, quoted or not.
            pattern = re.compile(rf"{re.escape(name)} ([^,:']*?)'?\b{value}\b")
            for sentence in sentences:
                yield from (match.strip() for match in pattern.findall(sentence))
