"""The drawing of an answer: everybody is drawn once, nothing overlaps, all of it fits the width."""

from dataclasses import replace
from itertools import combinations
from random import Random
from xml.etree import ElementTree

import pytest
from html_pages import NAMESPACE, draw_svg
from hypothesis import given, settings
from hypothesis import strategies as st
from test_drawing import explained, explanations, fact

from apptek.present.drawing import Asked, draw_answer, draw_topology
from apptek.present.drawing_parts import Drawing
from apptek.results import CitedFact, Explanation
from apptek.server.served_model import ServedModel


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
    return [replace(each, fact=number) for number, each in enumerate(facts)]


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
    explanation = explained(facts_of(lanes, both, left, right), [])
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
            replace(
                fact(rng.choice(names), rng.choice(names), "both", rng.random() < 0.5, predicate),
                fact=number,
            )
            for number, predicate in enumerate(rng.choices(PREDICATES, k=rng.randint(0, 40)))
        ]
        ends = (names[0], names[1], "P" * lengths[0], "Q")
        drawing = draw_answer(explained(facts, [], ends), width=width)
        assert_nothing_covered(drawing)


def test_a_label_without_a_free_place_is_in_the_legend() -> None:
    """Many ways through a narrow sheet: more labels than room."""
    people = [f"{letter}{'m' * 20}" for letter in "abcdef"]
    facts = [fact(one, other, "both", True) for one, other in combinations(people, 2)]
    facts += [fact("S", people[0], "both", True), fact(people[-1], "O", "both", True)]
    facts = [replace(each, fact=number) for number, each in enumerate(facts)]
    drawing = draw_answer(explained(facts, []), width=340)
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


def test_roles_are_who_both_deal_with_and_who_one_of_them_does() -> None:
    explanation = explained(facts_of(2, 1, 2, 1), [])
    drawing = draw_answer(explanation, width=1000)
    roles = {node.name: node.role for node in drawing.nodes}
    assert roles == {
        "S": "subject", "O": "object", "m0": "meeting",
        "l0": "bystander", "l1": "bystander", "r0": "bystander",
    }  # fmt: skip
    place = {node.name: node.x for node in drawing.nodes}
    assert place["l0"] < place["S"] < place["m0"] < place["O"] < place["r0"]
    heights = {node.name: node.y for node in drawing.nodes}
    assert heights["l1"] > heights["l0"] == heights["r0"] > heights["m0"] > heights["S"]
    assert heights["S"] == heights["O"]


def test_repeated_facts_are_one_line_with_a_count() -> None:
    facts = [replace(fact("S", "O", "both", True), fact=number) for number in range(5)]
    drawing = draw_answer(explained(facts, []), width=800)
    question, line = drawing.edges
    assert question.kind == "question"
    assert line.facts == (0, 1, 2, 3, 4)
    assert line.texts[0].words.endswith("\N{MULTIPLICATION SIGN}5")
    assert line.reasons == (1,)


def test_long_ways_are_drawn_from_left_to_right() -> None:
    facts = [fact("S", "a", "subject", True), fact("b", "a", "subject", True)]
    facts += [fact("b", "c", "object", True), fact("O", "c", "object", True)]
    facts = [replace(each, fact=number) for number, each in enumerate(facts)]
    drawing = draw_answer(explained(facts, []), width=900)
    order = sorted(drawing.nodes, key=lambda node: node.x)
    assert [node.name for node in order] == ["S", "a", "b", "c", "O"]
    backwards = next(e for e in drawing.edges if (e.source, e.target) == (order[2].id, order[1].id))
    assert backwards.curve[0] > backwards.curve[4]


def test_what_lies_beside_a_way_is_not_between_the_two() -> None:
    """A topology also cites facts that lead elsewhere, and some of these end at the other side."""
    facts = [fact("S", "m", "subject", True), fact("m", "O", "object", True)]
    facts += [fact("m", "x", "subject", False), fact("x", "y", "subject", False)]
    facts += [fact("y", "O", "object", False)]
    facts = [replace(each, fact=number) for number, each in enumerate(facts)]
    drawing = draw_answer(explained(facts, []), width=900)
    roles = {node.name: node.role for node in drawing.nodes}
    assert roles == {"S": "subject", "O": "object", "m": "meeting", "y": "bystander"}
    assert drawing.texts[-1].words == "+2 more facts not drawn"


def test_lines_carry_labels_and_are_coloured_by_the_group_of_their_predicate() -> None:
    coded = replace(
        explained([fact("S", "O", "both", True)], []),
        predicate_labels={"P": "Fight"},
        predicate_groups={"P": "material conflict"},
    )
    question, line = draw_answer(coded).edges
    assert line.predicate == "Fight"
    assert line.tone == question.tone == "tone-material-conflict"


@pytest.mark.gate
@pytest.mark.parametrize("width", [340.0, 900.0])
def test_real_answers_are_drawn_soundly_and_always_alike(served: ServedModel, width: float) -> None:
    for one in explanations(served.predictor):
        drawing, again = draw_answer(one, width=width), draw_answer(one, width=width)
        assert draw_svg(drawing) == draw_svg(again)
        names = [node.name for node in drawing.nodes]
        assert len(set(names)) == len(names)
        root = ElementTree.fromstring(draw_svg(drawing))
        assert len(root.findall(f"{{{NAMESPACE}}}path")) == len(drawing.edges)
