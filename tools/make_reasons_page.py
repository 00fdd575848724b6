"""Write the examples of docs/reasons.md and docs/counterfactual.md.

    python -m tools.make_reasons_page [MODEL]

MODEL is a default-preset model fitted on icews14; without it, one is fitted. The questions are
drawn from the test set with a fixed seed: the first five with a correct answer, and the first five
with a wrong one.
"""

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import contrast_text, counterfactual_text, explanation_text
from apptek.reading.reader import read_dataset
from apptek.results import Explanation
from tools.docs_tables import with_block

DOCS = Path(__file__).parents[1] / "docs"
TARGET = "Threaten"
EACH = 5
WIDTH = 100
ASKED = Query("Sauli Niinistö", "Elmar Mammadyarov", "2014-05-16")
KOREA = Query("North Korea", "South Korea", "2014-08-15")


def questions(predictor: Predictor) -> Iterator[tuple[Explanation, str]]:
    """Yield test questions in a fixed random order, with the recorded predicate."""
    data, facts = predictor.model.dataset, predictor.model.dataset.test
    for row in np.random.default_rng(0).permutation(len(facts)).tolist():
        subject, object_ = int(facts.subjects[row]), int(facts.objects[row])
        time = data.axis.format(int(facts.times[row]))
        query = Query(data.entities[subject], data.entities[object_], time)
        yield predictor.explain(query), data.predicates[int(facts.predicates[row])]


def examples(predictor: Predictor) -> str:
    """Return the explanations of five correct and five wrong answers."""
    right: list[str] = []
    wrong: list[str] = []
    for found, recorded in questions(predictor):
        question = f"**{found.subject}, ?, {found.object}, {found.time}**"
        is_right = found.predicate == recorded
        verdict = "right" if is_right else f"wrong: '{recorded}' was recorded"
        kept = right if is_right else wrong
        if len(kept) < EACH:
            lines = textwrap.fill(found.paragraph, WIDTH, break_on_hyphens=False)
            kept.append(f"{question} ({verdict})\n\n```\n{lines}\n```\n")
        if len(right) == len(wrong) == EACH:
            break
    return "\n".join([*right, *wrong])


def console(command: str, text: str) -> str:
    """Return a Markdown block with a command and its output."""
    return f"```console\n$ {command}\n{text.rstrip()}\n```\n"


def blocks(predictor: Predictor) -> dict[str, dict[str, str]]:
    """Return the text between the markers of each page."""
    command = f'apptek explain model "{ASKED.subject}" "{ASKED.object}" {ASKED.time}'
    korea = f'apptek explain model "{KOREA.subject}" "{KOREA.object}" {KOREA.time}'
    found = predictor.explain(ASKED, most=2)
    against = explanation_text(predictor.explain(KOREA, against=TARGET), WIDTH, "paragraph")
    versus = contrast_text(predictor.contrast(KOREA, "2014-10-20"), WIDTH)
    added = counterfactual_text(predictor.counterfactual(KOREA, add=True), WIDTH)
    to_target = counterfactual_text(predictor.counterfactual(KOREA, TARGET), WIDTH)
    lengths = (
        console(f"{command} --length sentence", explanation_text(found, WIDTH, "sentence")),
        console(f"{command} --length full --top 2", explanation_text(found, WIDTH, "full")),
    )
    return {
        "reasons.md": {
            "lengths": "\n".join(lengths),
            "examples": examples(predictor),
            "against": console(f"{korea} --against {TARGET}", against),
            "versus": console(f"{korea} --versus 2014-10-20", versus),
        },
        "counterfactual.md": {
            "counterfactual": console(f"{korea} --counterfactual --add", added),
            "counterfactual to": console(f"{korea} --counterfactual --to {TARGET}", to_target),
        },
    }


if __name__ == "__main__":
    model = Predictor.load(sys.argv[1]) if sys.argv[1:] else Predictor.fit(read_dataset("icews14"))
    for name, texts in blocks(model).items():
        page = (DOCS / name).read_text("utf-8")
        for block, text in texts.items():
            page = with_block(page, f"<!-- made: {block} -->", text.rstrip("\n"))
        (DOCS / name).write_text(page, encoding="utf-8")
