"""The page and the drawing of an explanation: all is told and fits, no name is read as markup."""

import re
from dataclasses import replace
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest
from html_pages import assert_contained, draw_svg, read_page
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_queries import query_about
from rich.cells import cell_len

from apptek.features.space import Side
from apptek.models.manifest import FORMAT
from apptek.predictor import Predictor
from apptek.present.drawing import Asked, Drawing, asked_of, draw_answer, draw_topology, fitting
from apptek.results import CitedFact, Explanation, Meeting, RankedPredicate, Reason

MODEL = "topologies"  # of the fixture `predictor`
NASTY = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'ticks' <b>",
    "a\x00\x1b[31m\u202e\ud800\n",
    "</title></style><img src=x onerror=alert(2)>",
    "]]>",
]


def fact(subject: str, object_: str, side: Side, on_path: bool, predicate: str = "P") -> CitedFact:
    return CitedFact(
        fact=0, subject=subject, predicate=predicate, object=object_, since="2014-05-11",
        until="2014-05-11", date="2014-05-11", distance=-2, apart="2 days before", side=side,
        step=1, expanded_by=predicate, on_path=on_path,
    )  # fmt: skip


def explained(
    facts: list[CitedFact], *meeting: Meeting, names: tuple[str, ...] = ("S", "O", "P", "Q")
) -> Explanation:
    """An explanation with one reason, which cites these facts."""
    facts = [replace(each, fact=number) for number, each in enumerate(facts)]
    reason = Reason(
        number=1, steps=1, meeting=meeting, facts=tuple(facts), topology=(names[2],),
        sentence=f"expand by '{names[2]}'", log_odds=1.0,
    )  # fmt: skip
    return Explanation(
        sentence="It holds.", paragraph="It holds.",
        subject=names[0], object=names[1], time="2014-05-13", predicate=names[2], probability=0.6,
        label=names[2], runner_up=names[3], runner_up_label=names[3], runner_up_probability=0.2,
        log_odds=1.1, bias=0.1, temperature=1.0, reasons=(reason,),
        against=(), further=(), groups=(),
        ranked=tuple(RankedPredicate(n, n, p) for n, p in zip(names[2:], (0.6, 0.2), strict=True)),
        unseen_subject=False, unseen_object=False,
        unseen_time=True, known=(), view="all_facts",
        model={"dataset": names[3], "preset": "p", "protocol": "o", "format": 1},
    )  # fmt: skip


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_names_are_shown_as_text_and_never_read_as_markup(nasty: str) -> None:
    names = (nasty, f"{nasty} 2", f"{nasty} 3", f"{nasty} 4")
    middle, aside = f"{nasty} m", f"{nasty} a"
    facts = [fact(names[0], middle, "subject", True, names[2])]
    facts += [fact(middle, names[1], "object", True, names[2])]
    facts += [fact(names[0], aside, "subject", False, names[2])]
    met = Meeting(entity=middle, subject_hops=1, object_hops=1)
    found = explained(facts, met, names=names)
    text = found.html()
    page = read_page(text)
    assert_contained(text, page)
    text.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f]", text)
    for name in ("<script", "<img", "<b>alert"):
        assert name not in text
    if nasty.isprintable():
        assert nasty in page.words
    ElementTree.fromstring(draw_svg(draw_answer(found)))


def test_a_page_tells_everything(predictor: Predictor) -> None:
    data = predictor.model.dataset
    for row in range(0, 60, 10):
        found = predictor.explain(query_about(data, data.test, row))
        text = found.html()
        page = read_page(text)
        assert_contained(text, page)
        for ranked in found.ranked:
            assert ranked.shown in page.words
        for reason in found.all_reasons():
            assert reason.sentence in page.words
            for one in reason.path:
                assert one.date in page.words
        assert found.model["dataset"] in page.words
        assert f"preset paper, protocol official, format {FORMAT}" in page.words
        drawing = draw_answer(found)
        assert draw_svg(drawing) in text
        alone = [r for r in found.all_reasons() if r.facts and not r.same_as]
        assert text.count("<svg ") == 1 + len(alone)
        assert text.count("<details open>") == min(len(alone), 3)  # the rest is folded
        for reason in alone:  # every reason of this model is a topology
            assert draw_svg(draw_topology(asked_of(found), reason.facts)) in text
            first = reason.facts[0]
            assert f"{first.step}. {found.shown(first.predicate)}"[:10] in page.words


def test_a_text_is_cut_to_its_room() -> None:
    for words in ("", "abc def", "北京 市人民 政府", "a北b京c " * 5, "a" * 9_999):
        for room in range(1, 40):
            cut = fitting(words, room)
            assert cell_len(cut) <= room
            assert cut == words or words.startswith(cut.removesuffix("…"))


# Drawings of answers


def assert_sound(drawing: Drawing, explanation: Explanation) -> None:
    names = [node.name for node in drawing.nodes]
    assert len(set(names)) == len(names)
    assert names[:2] == [explanation.subject, explanation.object]
    for one, other in combinations(drawing.nodes, 2):
        apart = ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5
        assert apart > one.radius + other.radius + 4, (one, other)
    for node in drawing.nodes:
        assert node.radius <= node.x <= drawing.width - node.radius
        assert node.radius <= node.y <= drawing.height - node.radius
    assert_nothing_covered(drawing)
    drawn = [f for edge in drawing.edges for f in edge.facts]
    assert len(set(drawn)) == len(drawn)


def assert_nothing_covered(drawing: Drawing) -> None:
    """No label or name lies over another one, over an entity, or outside the sheet."""
    pills = [edge.pill for edge in drawing.edges if edge.pill]
    below = [replace(text, words="").box() for text in drawing.texts]  # as wide as the sheet
    boxes = [*(box for node in drawing.nodes for box in node.boxes()), *pills, *below]
    for one, other in combinations(boxes, 2):
        apart = (
            one[0] >= other[0] + other[2]
            or other[0] >= one[0] + one[2]
            or one[1] >= other[1] + other[3]
            or other[1] >= one[1] + one[3]
        )
        assert apart, (one, other)
    for x, y, wide, high in boxes:
        assert x >= 0
        assert y >= 0
        assert x + wide <= drawing.width + 0.1
        assert y + high <= drawing.height + 0.1
    named = [edge.texts for edge in drawing.edges if edge.kind == "question"]
    assert not any(texts[0].words.startswith("[") for texts in named)


@pytest.mark.parametrize("names", [("Student Dissident (Hong Kong) and others", "Iran"),
                                   ("Iran", "Foreign Affairs (United Arab Emirates)")])  # fmt: skip
def test_a_long_name_has_the_room_that_a_short_one_leaves(names: tuple[str, str]) -> None:
    facts = [fact(*names, "both", True, "Consult")]
    drawing = draw_topology(Asked(*names, "title"), facts, width=440)
    assert [text.words for node in drawing.nodes for text in node.texts] == list(names)
    assert_nothing_covered(drawing)


def facts_of(lanes: int, both: int, left: int, right: int) -> list[CitedFact]:
    facts = [fact("S", "O", "both", True, f"P{row}") for row in range(lanes)]
    facts += [fact("S", f"m{row}", "subject", True) for row in range(both)]
    facts += [fact(f"m{row}", "O", "object", True) for row in range(both)]
    facts += [fact("S", f"l{row}", "subject", False) for row in range(left)]
    facts += [fact(f"r{row}", "O", "object", False) for row in range(right)]
    return facts


@settings(max_examples=80)
@given(
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.sampled_from([340.0, 620.0, 900.0, 1300.0]),
)
def test_drawings_of_any_size_are_sound(
    lanes: int, both: int, left: int, right: int, width: float
) -> None:
    explanation = explained(facts_of(lanes, both, left, right))
    drawing = draw_answer(explanation, width=width)
    assert_sound(drawing, explanation)
    assert drawing.width == width
    facts = {number for edge in drawing.edges for number in edge.facts}
    missing = lanes + 2 * both + left + right - len(facts)
    note = f"+{missing} more fact{'' if missing == 1 else 's'} not drawn"
    assert [text.words for text in drawing.texts if "[" not in text.words][-1:] == (
        [note] if missing else []
    )


PREDICATES = ("P", "Express intent to engage in diplomatic cooperation", "Yield")


@pytest.mark.parametrize("width", [340.0, 420.0, 640.0, 900.0, 1400.0])
def test_no_label_covers_a_name_or_another_label_in_any_graph(width: float) -> None:
    """Random facts among people with names of any length."""
    for seed in range(100):
        rng = Random(seed)
        lengths = [rng.randint(1, 44) for _ in range(rng.randint(2, 14))]
        letters = rng.choice(["(abc de", "(中文 の名"])
        names = [f"{letters * 6:.{long}}{place}" for place, long in enumerate(lengths)]
        facts = [
            fact(rng.choice(names), rng.choice(names), "both", rng.random() < 0.5, predicate)
            for predicate in rng.choices(PREDICATES, k=rng.randint(0, 40))
        ]
        ends = (names[0], names[1], "P" * lengths[0], "Q")
        drawing = draw_answer(explained(facts, names=ends), width=width)
        assert_nothing_covered(drawing)


def test_a_label_without_a_free_place_is_in_the_legend() -> None:
    """Many ways through a narrow sheet: more labels than room."""
    people = [f"{letter}{'m' * 20}" for letter in "abcdef"]
    facts = [fact(one, other, "both", True) for one, other in combinations(people, 2)]
    facts += [fact("S", people[0], "both", True), fact(people[-1], "O", "both", True)]
    drawing = draw_answer(explained(facts), width=340)
    assert_nothing_covered(drawing)
    marks = [t.words for edge in drawing.edges for t in edge.texts if t.words.startswith("[")]
    assert marks
    legend = " ".join(text.words for text in drawing.texts)
    assert all(f"{mark} " in legend for mark in marks)
    lines = [edge for edge in drawing.edges if edge.kind == "path"]
    assert legend.count(" | P | ") == len(lines) - len([e for e in lines if "P" in str(e.texts)])
    assert draw_svg(drawing).count('<g class="label') == sum(
        edge.pill is not None for edge in drawing.edges
    )


def test_lines_carry_labels_and_are_coloured_by_the_group_of_their_predicate() -> None:
    coded = replace(
        explained([fact("S", "O", "both", True)]),
        predicate_labels={"P": "Fight"},
        predicate_groups={"P": "material conflict"},
    )
    question, line = draw_answer(coded).edges
    assert line.predicate == "Fight"
    assert line.tone == question.tone == "tone-material-conflict"
