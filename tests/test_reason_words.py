"""Reasons in words: true, plain, and short."""

import json
from pathlib import Path
from typing import Any

import pytest
from fact_files import write

from apptek.errors import ApptekError
from apptek.explain.reasons import Keyed, split_parts
from apptek.predictor import Predictor, Query
from apptek.present import wording
from apptek.present.explanation_text import explanation_text
from apptek.present.explanation_words import recorded
from apptek.present.wording import GIVEN, general_notes, percent
from apptek.reading.reader import read_dataset
from apptek.results import Contribution, Explanation, to_dict

FORBIDDEN = ("log-odds", "trait", "topology", "->", "kernel")  # in what a layman reads
EVENTS = """\
India\tAccuse\tPakistan\t2014-05-11
India\tAccuse\tPakistan\t2014-06-11
Pakistan\tConsult\tIndia\t2014-05-13
Pakistan\tHost a visit\tChina\t2014-05-20
Nepal\tMake a visit\tPakistan\t2014-04-13
India\tPraise or endorse\tNepal\t2014-05-12
China\tMake a visit\tIndia\t2014-05-14
China\tMake a visit\tIndia\t2014-05-16
Iran\tMake a visit\tIndia\t2014-05-16
Peru\tMake a visit\tChile\t2014-05-13
"""


def small_predictor(folder: Path, train: str, held_out: str) -> Predictor:
    for split in ("train", "valid", "test"):
        write(folder / f"{split}.tsv", train if split == "train" else held_out)
    return Predictor.fit(read_dataset(folder))


def sentences(found: Explanation) -> set[str]:
    return {part.sentence for part in found.contributions()}


def test_a_type_of_a_table_is_stated(tmp_path: Path) -> None:
    for split in ("train", "valid", "test"):
        write(tmp_path / f"{split}.tsv", EVENTS)
    types = {"country": {"India": "Asia", "Nepal": "Asia", "Peru": "America"}}
    predictor = Predictor.fit(read_dataset(tmp_path), types=types, folder=tmp_path / "model")
    words = sentences(predictor.explain(Query("India", "Nepal", "2014-05-13"), most=99))
    assert {"India has the country 'Asia'", "Nepal has the country 'Asia'"} <= words
    loaded = Predictor.load(tmp_path / "model").explain(Query("India", "Nepal", "2014-05-13"))
    assert loaded == predictor.explain(Query("India", "Nepal", "2014-05-13"))


MIRRORED = """\
A\tMake a visit\tB\t2014-05-11
B\tHost a visit\tA\t2014-05-11
A\tMake a visit\tC\t2014-05-12
C\tHost a visit\tA\t2014-05-12
B\tMake a visit\tC\t2014-06-12
"""


def test_the_same_event_in_the_other_direction_is_told_as_such(tmp_path: Path) -> None:
    predictor = small_predictor(tmp_path, MIRRORED, "C\tHost a visit\tB\t2014-06-12\n")
    found = predictor.explain(Query("C", "B", "2014-06-12"), "Host a visit")
    mirror = "B visited C the same day, probably the same event seen from the other side"
    assert [part.sentence for part in found.contributions()].count(mirror) == 1
    other = predictor.explain(Query("C", "B", "2014-06-12"), "Make a visit")
    assert "B visited C the same day, in the other direction" in sentences(other)


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("words")
    return small_predictor(folder, EVENTS + MIRRORED, "A\tMake a visit\tC\t2014-05-13\n")


def test_the_short_forms_have_no_jargon_and_the_three_lengths_grow(predictor: Predictor) -> None:
    data = predictor.model.dataset
    for subject in data.entities:
        for object_ in ("India", "C", "nobody"):
            query = Query(subject, object_, "2014-05-16")
            found = predictor.explain(query, allow_unknown=True)
            short, middle, full = (
                explanation_text(found, 80, length) for length in ("sentence", "paragraph", "full")
            )
            assert len(short) < len(full)
            short, middle = (" ".join(text.split()) for text in (short, middle))
            general = " ".join([*general_notes(*found.unknown), ""])
            first = general + (f"{recorded(found)} " if found.known else "")
            chance = f"{percent(found.probability)}, {GIVEN}"
            assert short.startswith(f"{first}{found.label} ({chance}), mainly because")
            assert f", {GIVEN}." in middle
            for word in FORBIDDEN:
                assert word not in short
                assert word not in middle
            assert short.endswith(".")
            plain = to_dict(found)
            assert (plain["sentence"], plain["paragraph"]) == (found.sentence, found.paragraph)


def test_a_reason_that_rounds_to_nothing_is_not_listed() -> None:
    values = (2.0, 0.4, 0.004, 0.0, -0.0, -0.004, -0.6)
    parts: list[Keyed] = [
        (("history", "pair", number), Contribution("history", "pair", "between", (), "", value))
        for number, value in enumerate(values)
    ]
    for_it, against, further = split_parts(parts, 5)
    assert [part.log_odds for _, part in for_it] == [2.0, 0.4]
    assert [part.log_odds for _, part in against] == [-0.6]
    assert [part.log_odds for part in further] == [0.004, 0.0, -0.0, -0.004]


def test_every_small_reason_is_in_a_group_that_adds_it_up(predictor: Predictor) -> None:
    for object_ in predictor.model.dataset.entities:
        found = predictor.explain(Query("India", object_, "2014-05-13"), most=1)
        members = [index for group in found.groups for index in group.members]
        assert sorted(members) == list(range(len(found.further)))
        for group in found.groups:
            parts = [found.further[index] for index in group.members]
            assert {part.group for part in parts} == {group.name}
            assert group.log_odds == pytest.approx(sum(part.log_odds for part in parts))
        kinds = {reason.kind for reason in found.all_reasons()}
        assert kinds <= {"history"}
        assert all(r.log_odds >= 0 for r in found.reasons)
        assert all(r.log_odds < 0 for r in found.against)


def test_data_with_one_predicate_has_no_other_answer(tmp_path: Path) -> None:
    rows = "".join(f"a{n % 5}\tlikes\ta{(n * 2 + 1) % 5}\t{2000 + n % 9}\n" for n in range(40))
    predictor = small_predictor(tmp_path, rows, "a1\tlikes\ta3\t2003\n")
    query = Query("a1", "a3", "2003")
    found = predictor.explain(query)
    words = "Recorded: likes. likes (100.0 %): the data has no other predicate."
    assert found.paragraph == found.sentence == words
    assert "runner-up" not in explanation_text(found)
    assert "rather than" not in found.html()
    with pytest.raises(ApptekError, match="there is no other answer"):
        predictor.counterfactual(query)


CASES = json.loads((Path(__file__).parent / "explorer" / "wording_cases.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [(name, given, words) for name, rows in CASES.items() for given, words in rows],
)
def test_numbers_and_names_are_written_as_on_the_page(name: str, given: Any, words: str) -> None:
    """tests/explorer/wording.test.js holds the page to the same cases."""
    write_words = getattr(wording, name)
    several = name in ("counted", "shortened")
    assert (write_words(*given) if several else write_words(given)) == words
