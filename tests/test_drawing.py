"""The page of an explanation: everything is told, drawn once, and no name is read as markup."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from html_pages import assert_contained, draw_svg, read_page
from plain_queries import query_about
from rich.cells import cell_len

from apptek.features.space import Side
from apptek.files import write_whole
from apptek.models.manifest import FORMAT
from apptek.predictor import Predictor, Query
from apptek.present.drawing import asked_of, draw_answer, draw_topology
from apptek.present.drawing_parts import fitting
from apptek.results import (
    CitedFact,
    Explanation,
    Meeting,
    RankedPredicate,
    Reason,
)

NASTY = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'ticks' <b>",
    "a\x00\x1b[31m\u202e\ud800\n",
    "</title></style><img src=x onerror=alert(2)>",
    "]]>",
]


@pytest.fixture(scope="module")
def predictor(served_model: Path) -> Predictor:
    return Predictor.load(served_model)


def explanations(predictor: Predictor) -> list[Explanation]:
    data = predictor.model.dataset
    facts = data.test
    return [
        predictor.explain(
            query_about(data, facts, row),
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
    reason = Reason(
        number=1, steps=1, meeting=tuple(meeting), facts=tuple(facts), topology=(names[2],),
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
    found = explained(facts, [met(middle, 1, 1)], names)
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


def test_a_page_tells_everything(predictor: Predictor, tmp_path: Path) -> None:
    for found in explanations(predictor)[:6]:
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
    write_whole(tmp_path / "page.html", text.encode())
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == text


def test_a_page_without_reasons_says_so(predictor: Predictor) -> None:
    found = predictor.explain(Query("<nobody>", "no one", "?"), allow_unknown=True)
    page = read_page(found.html())
    assert "<nobody> is not in the facts of the model." in page.words
    assert "Nothing connects the two" in page.words
    assert "svg" not in page.tags
    name = predictor.model.dataset.entities[3]
    same = read_page(predictor.explain(Query(name, name, "2019-01-01")).html())
    assert "every path connects them" in same.words
    fifth = found.ranked[4].predicate
    other = predictor.explain(Query(name, "no one", "?"), fifth, allow_unknown=True)
    assert "Asked about " in read_page(other.html()).words


def test_a_text_is_cut_to_its_room() -> None:
    for words in ("", "abc def", "北京 市人民 政府", "a北b京c " * 5, "a" * 9_999):
        for room in range(1, 40):
            cut = fitting(words, room)
            assert cell_len(cut) <= room
            assert cut == words or words.startswith(cut.removesuffix("…"))
