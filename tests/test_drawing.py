import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from html_pages import assert_contained, read_page
from hypothesis import given, settings
from hypothesis import strategies as st

from apptek.config import preset
from apptek.data.synthetic.world import make_world
from apptek.explain.drawing.layout import BYSTANDERS, MIDDLES, RADIUS, Drawing, draw_reason
from apptek.explain.drawing.svg import NAMESPACE, draw_svg
from apptek.explain.explanation import (
    CitedFact,
    Contribution,
    Explanation,
    Meeting,
    Reason,
)
from apptek.explain.html_report import explanation_html
from apptek.features.topologies.connection import Side
from apptek.files import write_whole
from apptek.models.model_folder import FORMAT
from apptek.predictor import Predictor, Query
from apptek.setting_rules import with_settings

NASTY = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'ticks' <b>",
    "a\x00\x1b[31m\u202e\ud800\n",
    "</title></style><img src=x onerror=alert(2)>",
    "]]>",
]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    config = with_settings(preset("paper"), ["mining.policy=random", "classifier.epochs=1"])
    folder = tmp_path_factory.mktemp("drawn") / "model"
    return Predictor.fit(make_world(3000, 0).dataset, folder=folder, preset="paper", config=config)


def explanations(predictor: Predictor) -> list[Explanation]:
    data = predictor.model.dataset
    facts = data.test
    return [
        predictor.explain(
            Query(
                data.entities[facts.subjects[row]],
                data.entities[facts.objects[row]],
                data.axis.format(facts.times[row]),
            ),
        )
        for row in range(0, 200, 10)
    ]


def fact(subject: str, object_: str, side: Side, on_path: bool, predicate: str = "P") -> CitedFact:
    return CitedFact(
        fact=0, subject=subject, predicate=predicate, object=object_, since="2014-05-11",
        until="2014-05-11", date="2014-05-11", distance=-2, apart="2 days before", side=side,
        step=1, expanded_by=predicate, on_path=on_path,
    )  # fmt: skip


def met(entity: str, one: int, other: int) -> Meeting:
    return Meeting(entity=entity, subject_hops=one, object_hops=other)


def explained(
    facts: list[CitedFact], meeting: list[Meeting], names: tuple[str, ...] = ("S", "O", "P", "Q")
) -> Explanation:
    found = Contribution(
        topology=(names[2],), sentence=f"expand by '{names[2]}'", log_odds=1.0, score=1.0
    )
    reason = Reason(
        number=1, contribution=found, steps=1, meeting=tuple(meeting), facts=tuple(facts)
    )
    return Explanation(
        subject=names[0], object=names[1], time="2014-05-13", predicate=names[2], probability=0.6,
        label=names[2], runner_up=names[3], runner_up_label=names[3], runner_up_probability=0.2,
        log_odds=1.1, bias=0.1, score=1.2, score_bias=0.2, temperature=1.0, reasons=(reason,),
        against=(), further=(), groups=(),
        ranked=((names[2], 0.6), (names[3], 0.2)), unseen_subject=False, unseen_object=False,
        unseen_time=True, known=(), view="within",
        model={"dataset": names[3], "preset": "p", "protocol": "o", "format": 1},
    )  # fmt: skip


def drawn(facts: list[CitedFact], meeting: list[Meeting]) -> Drawing:
    found = explained(facts, meeting)
    return draw_reason(found, found.reasons[0])


def star(middles: int, bystanders: int, parallels: int) -> Drawing:
    """Subject and object that meet in some entities, with bystanders on both sides."""
    names = [f"m{i}" for i in range(middles)]
    facts = [fact("S", name, "subject", True) for name in names for _ in range(parallels)]
    facts += [fact(name, "O", "object", True) for name in names]
    facts += [fact("S", f"s{i}", "subject", False) for i in range(bystanders)]
    facts += [fact(f"o{i}", "O", "object", False) for i in range(bystanders)]
    return drawn(facts, [met(name, 1, 1) for name in names])


def assert_sound(drawing: Drawing) -> None:
    """Nothing overlaps, everything is on the sheet, edges join nodes that are there."""
    for one, other in combinations(drawing.nodes, 2):
        apart = ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5
        assert apart > one.radius + other.radius + 4
    for node in drawing.nodes:
        assert RADIUS <= node.x <= drawing.width - RADIUS
        assert RADIUS <= node.y <= drawing.height - RADIUS
    ids = {node.id for node in drawing.nodes}
    assert ids == set(range(len(drawing.nodes)))
    for edge in drawing.edges:
        assert {edge.source, edge.target} <= ids
        assert 0 <= edge.label[0] <= drawing.width
        assert 0 <= edge.label[1] <= drawing.height


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(0, 12), st.integers(1, 6))
def test_stars_of_any_size_are_drawn_without_overlaps(
    middles: int, bystanders: int, parallels: int
) -> None:
    drawing = star(middles, bystanders, parallels)
    assert_sound(drawing)
    labels = [edge.label for edge in drawing.edges if edge.kind != "bystander"]
    for one, other in combinations(labels, 2):
        assert abs(one[0] - other[0]) > 150 or abs(one[1] - other[1]) >= 24
    roles = [node.role for node in drawing.nodes]
    assert roles.count("meeting") == min(middles, MIDDLES)
    assert roles.count("bystander") == 2 * min(bystanders, BYSTANDERS)
    counted = sum(1 + edge.more for edge in drawing.edges if edge.kind != "question")
    missing = middles * (parallels + 1) + 2 * bystanders - counted
    assert drawing.note.startswith(f"+{missing} more fact" if missing else "")


def test_the_paper_s_figure() -> None:
    """Direct contact below, one meeting entity above the middle, bystanders on the outer sides."""
    facts = [fact("S", "O", "both", True), fact("S", "C", "subject", True)]
    facts += [fact("C", "O", "object", True), fact("S", "a1", "subject", False)]
    facts += [fact("b1", "O", "object", False), fact("b1", "x", "object", False)]
    drawing = drawn(facts, [met("S", 0, 1), met("O", 1, 0), met("C", 1, 1)])
    assert_sound(drawing)
    place = {node.name: node for node in drawing.nodes}
    assert {name: node.role for name, node in place.items()} == {
        "S": "subject",
        "O": "object",
        "C": "meeting",
        "a1": "bystander",
        "b1": "bystander",
    }
    assert place["a1"].x < place["S"].x < place["C"].x < place["O"].x < place["b1"].x
    question, *edges = drawing.edges
    assert question.kind == "question"
    assert question.predicate == "P?"
    direct = next(e for e in edges if {e.source, e.target} == {0, 1})
    assert question.label[1] < place["C"].y < direct.label[1]
    assert drawing.note == "+1 more fact not drawn"


def test_long_ways_are_drawn_from_left_to_right() -> None:
    facts = [fact("S", "a", "subject", True), fact("b", "a", "subject", True)]
    facts += [fact("b", "c", "object", True), fact("O", "c", "object", True)]
    facts += [fact("S", "y", "subject", False)]
    drawing = drawn(facts, [met("b", 2, 2)])
    assert_sound(drawing)
    order = sorted(drawing.nodes, key=lambda node: node.x)
    assert [node.name for node in order] == ["y", "S", "a", "b", "c", "O"]
    assert [node.role for node in order[2:5]] == ["connecting", "meeting", "connecting"]
    assert [node.named for node in order] == [False, True, True, True, True, True]
    backwards = next(
        e for e in drawing.edges if e.source == order[3].id and e.target == order[2].id
    )
    assert backwards.curve[0] > backwards.curve[6]


def test_a_side_may_reach_the_other_s_entity_by_itself() -> None:
    facts = [fact("S", "a", "subject", True), fact("a", "O", "subject", True)]
    drawing = drawn([*facts, fact("S", "S", "subject", False)], [met("O", 2, 0)])
    assert_sound(drawing)
    assert [node.role for node in drawing.nodes] == ["subject", "object", "connecting"]
    assert len(drawing.edges) == 3


def test_real_explanations_are_drawn_soundly_and_always_alike(predictor: Predictor) -> None:
    found = explanations(predictor)
    for one in found:
        for reason in one.reasons:
            drawing = draw_reason(one, reason)
            assert_sound(drawing)
            assert draw_svg(drawing) == draw_svg(draw_reason(one, reason))
            names = {node.name for node in drawing.nodes}
            cited = {name for f in reason.facts for name in (f.subject, f.object)}
            assert names <= cited | {one.subject, one.object}
            root = ElementTree.fromstring(draw_svg(drawing))
            assert len(root.findall(f"{{{NAMESPACE}}}path")) == len(drawing.edges)
    first = found[0]
    assert draw_reason(first, first.reasons[0]).as_json()["nodes"][0]["role"] == "subject"


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_names_are_shown_as_text_and_never_read_as_markup(nasty: str) -> None:
    names = (nasty, f"{nasty} 2", f"{nasty} 3", f"{nasty} 4")
    middle, aside = f"{nasty} m", f"{nasty} a"
    facts = [fact(names[0], middle, "subject", True, names[2])]
    facts += [fact(middle, names[1], "object", True, names[2])]
    facts += [fact(names[0], aside, "subject", False, names[2])]
    found = explained(facts, [met(middle, 1, 1)], names)
    text = explanation_html(found)
    page = read_page(text)
    assert_contained(text, page)
    text.encode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f]", text)
    for name in ("<script", "<img", "<b>alert"):
        assert name not in text
    if nasty.isprintable():
        assert nasty in page.words
    ElementTree.fromstring(draw_svg(draw_reason(found, found.reasons[0])))


def test_a_page_tells_everything(predictor: Predictor, tmp_path: Path) -> None:
    for found in explanations(predictor)[:6]:
        text = explanation_html(found)
        page = read_page(text)
        assert_contained(text, page)
        for predicate, _ in found.ranked:
            assert predicate in page.words
        for reason in found.all_reasons():
            assert reason.contribution.sentence in page.words
            for one in reason.path:
                assert one.date in page.words
        assert found.model["dataset"] in page.words
        assert f"preset paper, protocol official, format {FORMAT}" in page.words
        svgs = {
            reason.number for reason in found.all_reasons() if not reason.same_as and reason.facts
        }
        assert text.count("<svg ") == len(svgs)
    write_whole(tmp_path / "page.html", text.encode())
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text


def test_a_page_without_reasons_says_so(predictor: Predictor) -> None:
    found = predictor.explain(Query("<nobody>", "no one", "?"))
    page = read_page(explanation_html(found))
    assert "<nobody> is not in the facts of the model." in page.words
    assert "Nothing connects the two" in page.words
    assert "svg" not in page.tags
    name = predictor.model.dataset.entities[3]
    same = read_page(explanation_html(predictor.explain(Query(name, name, "2019-01-01"))))
    assert "everything connects them at once" in same.words
    other = predictor.explain(Query(name, "no one", "?"), found.ranked[4][0])
    assert "Asked about " in read_page(explanation_html(other)).words
