"""Counts in reasons are those of the facts, or are told as lower bounds."""

import re

import numpy as np
import pytest
from plain_queries import query_about

from apptek.config import preset
from apptek.predictor import Predictor, Query
from apptek.results import Contribution, Explanation
from apptek.setting_rules import with_settings

QUICK = ["classifier.epochs=1"]

SPANS = {
    "a day": 1, "a week": 7, "two weeks": 14, "a month": 31, "two months": 62, "three months": 92,
    "half a year": 183, "a year": 366,
}  # fmt: skip
COUNTED = re.compile(
    r"(?P<least>at least )?(?P<count>once|twice|[\d,]+ times) "
    r"(?:within (?P<span>.+?)(?P<side> after that date| of that date)?"
    r"|(?P<apart>the same day|the day|[\d,]+ days)(?: (?P<way>before|after|earlier|later))?)"
    r"(?: \(\d+ of \d+ with .*\))?(?:, (?:most recently|the first one|the nearest one) .*)?$"
)
# Which end of a fact is the owner of the family, and whether the owner is the query's subject.
OWNERS = {
    "pair": (0, True), "reversed": (0, False), "subject_out": (0, True), "subject_in": (2, True),
    "object_out": (0, False), "object_in": (2, False),
}  # fmt: skip
Row = tuple[str, str, str, int]


def days_of(span: str) -> int:
    if span in SPANS:
        return SPANS[span]
    number, unit = span.replace(",", "").split()
    return int(number) * (365 if unit == "years" else 1)


def number_of(words: str) -> int:
    fixed = {"once": 1, "twice": 2}
    return fixed.get(words) or int(words.removesuffix(" times").replace(",", ""))


def window_of(found: "re.Match[str]") -> tuple[int, int]:
    """The first and the last distance that a sentence speaks of."""
    if span := found["span"]:
        days = days_of(span)
        return (0 if found["side"] == " after that date" else -days), (days if found["side"] else 0)
    apart = {"the same day": "0", "the day": "1"}.get(found["apart"], found["apart"])
    days = int(apart.replace(",", "").split()[0])
    days *= 1 if found["way"] in ("after", "later") else -1
    return days, days


def true_count(
    rows: list[Row], asked: Explanation, at: int, part: Contribution, window: tuple[int, int]
) -> int:
    """How many facts the sentence of a reason is about, counted one by one."""
    end, is_subject = OWNERS[part.family]
    owner, partner = asked.subject, asked.object
    if not is_subject:
        owner, partner = partner, owner
    with_partner = part.family in ("pair", "reversed")
    count = 0
    for row in rows:
        matches = row[end] == owner and (row[2 - end] == partner) == with_partner
        in_window = window[0] <= row[3] - at <= window[1]
        if matches and row[1] == part.topology[0] and in_window:
            count += asked.view == "all_facts" or row[3] < at
    return count


def wrong_counts(predictor: Predictor, queries: list[Query]) -> tuple[list[str], int, int]:
    """The sentences that state a wrong number; how many were checked; how many say "at least"."""
    data, graph = predictor.model.dataset, predictor.model.graph
    facts = graph.facts
    entities, predicates = list(data.entities), list(data.predicates)
    columns = (facts.subjects, facts.predicates, facts.objects, graph.since)
    rows: list[Row] = [
        (entities[s], predicates[p], entities[o], start)
        for s, p, o, start in zip(*(column.tolist() for column in columns), strict=True)
    ]
    wrong, checked, bounds = [], 0, 0
    for query in queries:
        asked = predictor.explain(query)
        at = int(data.axis.position(data.axis.parse(query.time)))
        for part in asked.contributions():
            if part.kind != "history" or " the same day, " in part.sentence:
                continue
            found = COUNTED.search(part.sentence)
            if found is None:
                continue
            told = number_of(found["count"])
            true = true_count(rows, asked, at, part, window_of(found))
            checked += 1
            bounds += bool(found["least"])
            if true < told or (true > told and not found["least"]):
                wrong.append(f"{part.sentence}: {true} in {query}")
    return wrong, checked, bounds


def questions(predictor: Predictor, count: int) -> list[Query]:
    data = predictor.model.dataset
    rows = np.linspace(0, len(data.train) - 1, count).astype(int)
    facts = data.train
    return [query_about(data, facts, row) for row in rows]


@pytest.fixture(scope="module")
def dense() -> Predictor:
    """A model of ten busy entities: each has more facts than are looked at, several every day."""
    rng, names = np.random.default_rng(0), [f"E{n}" for n in range(10)]
    rows = {
        (names[s], f"P{p}", names[(s + 1 + o) % 10], str(np.datetime64("2020-01-01") + day))
        for s, p, o, day in zip(
            *(rng.integers(0, most, 1800).tolist() for most in (10, 5, 9, 90)), strict=True
        )
    }
    return Predictor.fit(sorted(rows), config=with_settings(preset("default"), QUICK))


def test_every_count_of_120_questions_is_that_of_the_facts(dense: Predictor) -> None:
    for past_only in (False, True):
        predictor = Predictor(dense.model, past_only=past_only)
        wrong, checked, bounds = wrong_counts(predictor, questions(predictor, 120))
        assert not wrong, f"{len(wrong)} of {checked}: {wrong[:5]}"
        assert checked > 1000
        assert 0 < bounds < checked / 4


def test_a_busy_partner_does_not_hide_facts_with_others_silently() -> None:
    """The kernels look at the 1,024 nearest facts of A: 1,020 with B, 4 of 9 with others."""
    start = np.datetime64("2020-01-01")
    rows = [("A", "Consult", "B", str(start + day)) for day in range(1100)]
    rows += [("A", "Accuse", f"C{n}", str(start + 1100 - 1020)) for n in range(9)]
    rows += [("B", "Praise", "A", str(start + 5 * day)) for day in range(20)]
    predictor = Predictor.fit(rows, config=with_settings(preset("default"), QUICK))
    wrong, checked, bounds = wrong_counts(predictor, [Query("A", "B", str(start + 1100))])
    assert (wrong, checked > 0, bounds > 0) == ([], True, True)


FORECAST = (  # the sentences of forecasts: the whole, and what it counts
    (r"(?P<s>\w+) acted towards (?P<o>\w+) on (?P<n>\d+) days?, most recently (?P<age>.*)", "pair"),
    (r"(?P<s>\w+) is the subject of (?P<n>\d+) facts?, the last one (?P<age>.*)", "subject"),
    (r"(?P<s>\w+) is the object of (?P<n>\d+) facts?, the last one (?P<age>.*)", "object"),
    (r"the last fact between the pair was (?P<age>.*)", "either"),
    (r"(?P<n>\d+) common partners?", "common"),
)


def forecast_facts(kind: str, ends: tuple[str, str], days: dict[Row, int]) -> tuple[int, list[int]]:
    """What a sentence of a forecast should count, and how long ago each of it was."""
    first, second = ends
    if kind == "common":
        met = [{row[2 - side] for row in days for side in (0, 2) if row[side] == end}
               for end in ends]  # fmt: skip
        return len(met[0] & met[1] - set(ends)), []
    rows = {
        "pair": [age for row, age in days.items() if (row[0], row[2]) == ends],
        "subject": [age for row, age in days.items() if row[0] == first],
        "object": [age for row, age in days.items() if row[2] == first],
        "either": [age for row, age in days.items() if {row[0], row[2]} == {first, second}],
    }[kind]
    return len(set(rows)) if kind == "pair" else len(rows), rows


def test_every_number_of_a_forecasts_reasons_is_that_of_the_facts(dense: Predictor) -> None:
    data, facts = dense.model.dataset, dense.model.graph.facts
    days, checked = dict[Row, int](), 0
    for start in ("2020-03-31", "2020-02-10"):
        moment = data.axis.position(data.axis.parse(start))
        columns = (facts.subjects, facts.predicates, facts.objects, facts.times)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        days = {
            (data.entities[s], data.predicates[p], data.entities[o], t): moment - t
            for s, p, o, t in rows
            if t < moment
        }
        for ends in (("E0", "E1"), ("E3", "E7"), ("E9", "E2"), ("E5", "E4")):
            forecast = dense.forecast(*ends, start=start, days=7)
            for direction in forecast.directions:
                for reason in direction.reasons:
                    found, kind = next(
                        (match, kind) for pattern, kind in FORECAST
                        if (match := re.fullmatch(pattern, reason.sentence))
                    )  # fmt: skip
                    named = found.groupdict()
                    asked = (named.get("s") or ends[0], named.get("o") or ends[1])
                    count, ages = forecast_facts(kind, asked, days)
                    assert int(named.get("n") or count) == count, reason.sentence
                    if ages:
                        words = "the day" if min(ages) == 1 else f"{min(ages)} days"
                        assert named["age"] == f"{words} before the window", reason.sentence
                    checked += 1
    assert checked == 96


def test_the_fact_in_question_is_no_evidence_against_itself() -> None:
    """Training hides the fact that a question is about, so its weight comes out below 0."""
    rng, rows = np.random.default_rng(3), []
    for player in range(60):
        year = 2000 + int(rng.integers(4))
        for club in rng.choice(14, 4, replace=False).tolist():
            ends, stop = (f"Player {player}", f"Club {club}"), year + 2 + int(rng.integers(3))
            rows.append((ends[0], "plays for", ends[1], str(year), str(stop)))
            if rng.random() < 0.5:
                rows.append((ends[0], "captain of", ends[1], str(year + 1), str(stop)))
            year = stop
    predictor = Predictor.fit(rows, config=with_settings(preset("default"), QUICK))
    against = 0
    for subject, predicate, object_, since, _ in rows[:60]:
        asked = predictor.explain((subject, object_, str(int(since) + 1)), predicate=predicate)
        for reason in asked.against:
            is_own = (reason.family, reason.topology) == ("pair", (predicate,))
            assert not is_own or all(fact.distance for fact in reason.facts)
        for group in asked.groups:
            if group.name == "recorded":
                assert group.log_odds < 0
                assert asked.paragraph.startswith("Recorded: ")
                assert group.title not in asked.paragraph + asked.sentence
                against += 1
    assert against > 10
