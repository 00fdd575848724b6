"""Many inputs and what is made of each, compared with the golden files in `tests/golden/text`."""

import shutil
import tomllib
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from event_dumps import ACLED, ICEWS, gdelt, gdelt_version_1
from fact_files import ALL_IN_TRAIN, in_words, write
from golden_files import check
from plain_queries import queries_of
from rdf_parts import read_rdf
from reference import PlainFact
from sheets import write_sheets
from test_drawing import explained as explained_by
from test_drawing import fact
from time_texts import fields_of, read, votes_of
from worlds import facts_of, graph_of, names_of, random_intervals

from apptek.config import AgentConfig
from apptek.daily.project import read_project
from apptek.errors import ApptekError
from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.name_matching import NameIndex, NameResolver, alike_note, folded
from apptek.facts.predicate_table import PredicateTable, cameo_table, shipped_table
from apptek.facts.protocols import Splitting
from apptek.facts.times import TimeAxis
from apptek.facts.written_times import read_by_pattern
from apptek.features.clock import Clock
from apptek.features.traits import NewNames, types_from_names
from apptek.forecast.pair_chances import read_pairs
from apptek.forecast.window import Length, read_window, usual_length
from apptek.graph.stored_graph import graph_about, graph_arrays, graph_from
from apptek.models.asked_queries import read_rows
from apptek.models.model import last_supported
from apptek.models.registry import model_settings
from apptek.paper.connection import connect
from apptek.paper.environment import DecisionProcess
from apptek.predictor import Predictor
from apptek.present.drawing import draw_answer
from apptek.present.explanation_words import contradicts_alone, paragraph, sentence
from apptek.present.forecast_words import expected_words
from apptek.present.metrics_text import quality_text, score_text
from apptek.present.rdf_answers import IriNames
from apptek.present.sentences import Ends, Occurrences, mirror_sentence, when_words
from apptek.present.wording import GIVEN, apart_text, at_time, read_as_notes, share_lines, when_text
from apptek.reading.frames import QUERY_ROLES
from apptek.reading.name_tables import read_aliases, read_predicates, read_types
from apptek.reading.reader import read_dataset
from apptek.research.result import read_result
from apptek.results import Explanation, Group, Query, Share, Support
from apptek.safe_text import without_formulas
from apptek.server.http_server import Reach
from apptek.setting_rules import with_settings

COUNTRIES, CAMEO = ("India", "Iran", "Peru", "Chad"), cameo_table()
GOOD = "a\tp\tb\t2014-05-13\n"
DUMPS = {
    "gdelt": gdelt(),
    "gdelt 1": gdelt_version_1(),
    "icews": ICEWS,
    "acled": ACLED,
    "icews nobody": "\n".join(ICEWS.splitlines()[:: len(ICEWS.splitlines()) - 1]),
    "none": "a,p,b,2014-05-13\n",
}
CASES = tomllib.loads(Path(__file__).with_name("golden_cases.toml").read_text("utf-8"))


def axis_text(texts: list[str], granularity: Any = "auto") -> str:
    votes, counts = votes_of(*texts, granularity=granularity)
    if votes.expected:
        distinct = list(dict.fromkeys(texts))
        bad = [f"{distinct[row]!r}, expected {said}" for row, said in votes.expected.items()]
        return f"refused: {'; '.join(bad)}"
    axis, codes = votes.resolve(counts)
    assert [axis.parse(axis.format(code)) for code in codes.tolist()] == codes.tolist()
    places = zip(codes.tolist(), axis.positions(codes).tolist(), strict=True)
    return f"{axis}: {', '.join(f'{axis.format(code)} at {place}' for code, place in places)}"


def pattern_text(pattern: str, text: str) -> str:
    votes_of(date_format=pattern)
    return str(fields_of(read_by_pattern(text, pattern)[0]))


def axis_by(unit: Any, stride: int = 1) -> TimeAxis:
    *mixed, unit = unit.split()
    return TimeAxis(unit, mixed=bool(mixed), stride=stride)


def window_text(
    axis: str, start: str | None = None, stride: int = 1, span: Any = (), **length: Any
) -> str:
    """A window of data from 2014, or whose times are from 0 on or around 1970."""
    days = TimeAxis("day")
    spans = {
        "day": (days.parse("2014-01-01"), days.parse("2014-12-31")),
        "month": (23_000, 24_200),
        "year": (1900, 2010),
        "integer": (0, 9 if stride == 1 else 720),
        "minute": (0, 1439),
    }
    named = axis_by(axis, stride)
    known = tuple(span) or spans.get(named.unit, (0, 10**7))
    window = read_window(named, known, start, Length(**length))
    return f"{' to '.join(window.texts(named))}, after {' to '.join(window.before().texts(named))}"


def distance_text(unit: str, apart: int, lasting: bool = False) -> str:
    return apart_text(axis_by(unit), apart, lasting=lasting)


def usual_window(unit: str, stride: int, known: int, typical: float) -> str:
    return str(usual_length(axis_by(unit, stride), known, typical))


def connection_text(actions: list[int]) -> str:
    facts = [
        PlainFact(0, 0, 2, 5, 5),  # 0 and 1 meet in 2 ...
        PlainFact(1, 0, 2, 6, 6),
        PlainFact(0, 0, 3, 1, 1),  # ... and in 3, farther in time
        PlainFact(3, 0, 1, 9, 9),
        PlainFact(4, 0, 1, 5, 5),
        PlainFact(0, 1, 1, 5, 5),  # of another predicate
    ]
    process = DecisionProcess(graph_of(facts), AgentConfig())
    return str(connect(process, queries_of([(0, 1, 5, None)]), actions))


def mirror_text(distances: list[int], horizon: int | None = None) -> str:
    seen = Occurrences(tuple(distances), 0, False, horizon)
    ends = Ends("A", "B")
    return mirror_sentence("{} visited {}".format, ends, TimeAxis("day"), seen, same=False)


def drawing_text(facts: list[Any], width: float) -> str:
    """Where each entity is, what leads from where to where, and the texts below."""
    drawing = draw_answer(explained_by([fact(*each) for each in facts]), width=width)
    names = {node.id: node.name for node in drawing.nodes}
    ordered = sorted(drawing.nodes, key=lambda node: node.x)
    nodes = [f"{each.name}: {each.role} at {each.x:.0f}, {each.y:.0f}" for each in ordered]
    edges = [
        f"{names[each.source]} to {names[each.target]}: {each.kind}, facts {each.facts}, "
        f"reasons {each.reasons}, {' '.join(text.words for text in each.texts)}, "
        f"from {each.curve[0]:.0f} to {each.curve[4]:.0f}"
        for each in drawing.edges
    ]
    return "\n  ".join([*nodes, *edges, *(text.words for text in drawing.texts)])


def clock_text(rows: list[tuple[int, int, str, str]]) -> str:
    """The scales, whatever the order of the facts is."""
    facts = [
        PlainFact(s, 0, o, *(None if end == "?" else int(end) for end in ends))
        for s, o, *ends in rows
    ]
    forwards, backwards = (Clock.of(graph_of(each)) for each in (facts, facts[::-1]))
    assert forwards == backwards
    return str(forwards)


def last_text(spans: list[tuple[int, int]]) -> str:
    positions = [np.arange(first, last + 1, dtype=np.int32) for first, last in spans]
    return str(last_supported(np.concatenate(positions)))


def dump_text(
    folder: Path, file: str, dump: str, change: tuple[str, str] = ("", ""), **options: Any
) -> str:
    text = DUMPS[dump].replace(*change)
    data = read_dataset(write(folder / file, text), splitting=ALL_IN_TRAIN, **options)
    labels = data.labelled().labels
    assert labels is not None
    classes = {name: labels.class_of(name) for name in data.predicates}
    types = {kind: dict(sorted(found.items())) for kind, found in sorted(data.types.items())}
    return f"{facts_text(data)}\n  types: {types}\n  classes: {classes}"


def interval_text(since: str, until: str) -> str:
    lows, highs = votes_of(since, until)[0].bounds()
    return "fits" if lows[0] <= highs[1] else "does not fit"


def setting_text(name: str, setting: str) -> str:
    changed = with_settings(model_settings(name), [setting])
    section, key = setting.partition("=")[0].split(".")
    return repr(asdict(changed)[section][key])


def facts_text(data: Dataset) -> str:
    facts = [" | ".join(fact).encode("unicode_escape").decode() for fact in in_words(data)]
    are_points = data.train.until is data.train.since  # one array for both
    unit = f"{'points' if are_points else 'ends'} by {'mixed ' * data.axis.mixed}{data.axis.unit}"
    names = [*data.predicates, *data.entities]
    labels = [data.labels.shown(name) for name in names] if data.labels else []
    more = [f"label: {label}" for label in sorted({*labels} - {*names})]
    return "\n  ".join([unit, *facts, *more, *(f"note: {note}" for note in data.report.notes)])


def words_text(table: PredicateTable) -> str:
    """What the table says of its predicates, and of another."""
    names = (*table.entries, "else")
    words = {name: (table.class_of(name), table.phrase(name), table.label(name)) for name in names}
    return f"{table.source}: {words}"


def types_text(case: dict[str, Any]) -> str:
    names = names_of(case.pop("names"))
    pairs = [(names.find(one), names.find(other)) for one, other in case.pop("facts", [])]
    facts = [PlainFact(one or 0, 0, other or 0, 0, 0) for one, other in pairs]
    found = {
        kind.name: {name: value for row, name in enumerate(names) if (value := kind.value(row))}
        for kind in types_from_names(names, facts_of(facts), **case)
    }
    return str(found)


def moment_text(
    distances: tuple[int, ...] = (), undated: int = 0, horizon: int | None = None, **more: bool
) -> str:
    seen = Occurrences(tuple(distances), undated, False, horizon, **more)
    return repr(when_words(TimeAxis("day"), seen))


def reach_text(host: str, token: str | None = None, *, insecure: bool = False) -> str:
    Reach(host, 0, token, insecure)
    return "let in"


def score_words(case: dict[str, Any]) -> str:
    usual = dict.fromkeys(("base_rate", "no_change", "own_rate"))
    return score_text(case | {"skill": usual | case["skill"]})


def described(changes: dict[str, Any]) -> str:
    graph = graph_of(random_intervals(50, np.random.default_rng(3)))
    return str(graph_from(graph_about(graph) | changes, graph_arrays(graph)))


def new_name_text(name: str) -> str:
    known = [
        f"{who} ({where})" for who in ("Police", "Navy", "Media", "Army") for where in COUNTRIES
    ]
    names = names_of(set(known) - {"Navy (India)"})
    kinds = types_from_names(names, facts_of([]))
    ids = NewNames(kinds).id(name), NewNames(kinds, strict=True).id(name)
    assert max(ids) < 0
    types, strict = ({kind.name: kind.value(new) for kind in kinds} for new in ids)
    return f"{types}, with strict names {strict}"


def search_text(uses: dict[str, int], typed: list[str]) -> str:
    names = names_of(uses)
    index = NameIndex(names, np.asarray([uses[name] for name in names], np.int32))
    lines = []
    for text in typed:
        found = [names[place] for place in index.search(text, 2)]
        offered = NameResolver(names).suggestions(text)
        near, containing = index.near(text), [index.containing(text, most) for most in (1, 5)]
        lines.append(f"{text!r}: {found}, near {near}, in {containing}, offered {offered}")
    return "\n  ".join(lines)


def iri_text(name: str) -> str:
    data = read_dataset([("North Korea", "Consult", "ex:a", "2014")], splitting=ALL_IN_TRAIN)
    data = replace(data, aliases={"DPRK": "North Korea", "ex:b": "B"})
    iris = IriNames(replace(data, read_with={"prefixes": "ex=http://example.org/"}))
    return f"{iris.find(name)}, label {iris.new_labels()}, then {iris.new_labels()}"


def resolved_text(names: list[str], asked: str, aliases: Any = ()) -> str:
    known = names_of(names)
    found = NameResolver(known, dict(aliases)).find(asked)
    return "none of them" if found is None else known[found]


@cache
def explained() -> Explanation:
    facts = [(f"a{n % 5}", f"p{n % 3}", f"b{n % 4}", 2001 + n % 9) for n in range(60)]
    return Predictor.fit(facts).explain(("a1", "b1", 2005))


def told_text(reasons: list[list[Any]], groups: Any = ()) -> str:
    parts = []
    for words, log_odds, *lifts in reasons:
        part = replace(explained().all_reasons()[0], sentence=words, log_odds=log_odds)
        seen = None
        if lifts:
            seen = Support("", 9, 3, 2, confidence=0.3, lift=lifts[0], runner_up=4)
            seen = replace(seen, runner_up_lift=lifts[1])
            seen = replace(seen, contradicts=contradicts_alone(seen, log_odds))
        parts.append(replace(part, support=seen))
    found = replace(
        explained(),
        reasons=tuple(part for part in parts if part.log_odds >= 0),
        against=tuple(part for part in parts if part.log_odds < 0),
        groups=tuple(Group("usual", title, log_odds, ()) for title, log_odds in groups),
    )
    return "\n  ".join(text.partition(GIVEN)[2] for text in (sentence(found), paragraph(found)))


def shares_text(case: dict[str, dict[str, float]]) -> str:
    kinds = (case.get(kind, {}).items() for kind in ("classes", "groups"))
    return " ".join(share_lines(*([Share(*share) for share in shares] for shares in kinds)))


def in_file(read: Callable[..., object]) -> Callable[..., str]:
    """What is made of a case that is a file."""

    def made(folder: Path, case: dict[str, Any]) -> str:
        options = {key: value for key, value in case.items() if key not in {"file", "text"}}
        found = read(write(folder / case["file"], case["text"]), **options)
        return facts_text(found) if isinstance(found, Dataset) else str(found)

    return made


def folder_text(
    folder: Path, files: dict[str, Any], source: str | list[str], **options: Any
) -> str:
    """Several files, tables as sheets, in a folder of their own: the facts of each split."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    for name, content in files.items():
        if isinstance(content, dict):
            home.mkdir()
            write_sheets(home / name, content)
        else:
            write(home / name, content)
    paths = f"{home}/{source}" if isinstance(source, str) else [home / name for name in source]
    data = read_dataset(paths, **options)
    splits = [f"{split}: {in_words(data, data.split(split))}" for split in SPLITS]
    about = {key: data.report.how.get(key) for key in ("format", "delimiter")}
    notes = [f"note: {note}" for note in data.report.notes]
    return "\n  ".join([f"{data.name}: {about}", *splits, *notes])


def queries_in(path: Path) -> list[tuple[int, Query | str]]:
    rows = read_rows(path, QUERY_ROLES)
    return [(line, row if isinstance(row, str) else Query(*row)) for line, row in rows]


SHOWN: dict[str, Callable[[Path, Any], str]] = {
    "times": lambda _, text: str(read(text)),
    "patterns": lambda _, case: pattern_text(*case),
    "axes": lambda _, texts: axis_text(texts),
    "granularities": lambda _, case: axis_text(case[1:], case[0]),
    "queries": lambda _, case: str(axis_by(case[0]).parse(case[1])),
    "intervals": lambda _, case: interval_text(*case),
    "settings": lambda _, setting: setting_text("paper", setting),
    "model-settings": lambda _, case: setting_text(*case),
    **dict.fromkeys(
        ("reading", "columns", "rows", "files"),
        in_file(partial(read_dataset, splitting=ALL_IN_TRAIN)),
    ),
    "bad-rows": lambda folder, row: facts_text(
        read_dataset(write(folder / "facts.tsv", f"{GOOD * 2}\r\n{row}\n{GOOD}"))
    ),
    "rdf": lambda folder, case: facts_text(read_rdf(folder, **case)),
    "aliases": in_file(read_aliases),
    "projects": in_file(read_project),
    "distances": lambda _, case: distance_text(*case),
    "intervals-in-words": lambda _, ends: when_text(*ends),
    "connections": lambda _, actions: connection_text(actions),
    "mirrors": lambda _, case: mirror_text(**case),
    "frames": lambda _, case: facts_text(
        read_dataset(pa.table(case["frame"]), columns=case.get("columns"), splitting=ALL_IN_TRAIN)
    ),
    "drawings": lambda _, case: drawing_text(**case),
    "clocks": lambda _, rows: clock_text(rows),
    "last-supported": lambda _, spans: last_text(spans),
    "dumps": lambda folder, case: dump_text(folder, **case),
    "windows": lambda _, case: window_text(**case),
    "expected-numbers": lambda _, number: expected_words(number),
    "usual-lengths": lambda _, case: usual_window(*case),
    "types": in_file(read_types),
    "predicates": in_file(lambda path: words_text(read_predicates(path))),
    "results": in_file(lambda path: read_result(path).model),
    "qualities": lambda _, case: quality_text(case),
    "scores": lambda _, case: score_words(case),
    "graph-descriptions": lambda _, case: described(case),
    "new-names": lambda _, name: new_name_text(name),
    "cameo": lambda _, name: f"{CAMEO.group_of(name)}: {', '.join(CAMEO.everyday_words(name))}",
    "searches": lambda _, case: search_text(case["names"], case["typed"]),
    "alike": lambda _, case: str(alike_note(names_of(case["names"]), known=case.get("known", 0))),
    "folded": lambda _, name: repr(folded(name)),
    "shipped-tables": lambda _, counts: f"{len(shipped_table(counts))} predicates",
    "opposites": lambda _, case: str(CAMEO.opposes(*case)),
    "held-axes": lambda _, case: str(axis_by(case[0]).holds(axis_by(case[1]))),
    "iris": lambda _, name: iri_text(name),
    "resolved": lambda _, case: resolved_text(**case),
    "cells": lambda _, cell: repr(without_formulas(pa.table({"a": [cell]}))["a"][0].as_py()),
    "told": lambda _, case: told_text(**case),
    "shares": lambda _, case: shares_text(case),
    "read-as": lambda _, pair: str([note.text for note in read_as_notes(tuple(pair))]),
    "pairs": in_file(
        lambda path, **options: read_pairs(path, NameResolver(names_of("ABCD")), **options)
    ),
    "splittings": lambda _, case: str(Splitting(**case)),
    "types-of-names": lambda _, case: types_text({**case}),
    "moments": lambda _, case: moment_text(**case),
    "times-in-sentences": lambda _, time: at_time(time),
    "reach": lambda _, case: reach_text(**case),
    "query-files": in_file(queries_in),
    "folders": lambda folder, case: folder_text(folder, **case),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_each_case(name: str, tmp_path: Path) -> None:
    lines = []
    for case in CASES[name]:
        try:
            made = SHOWN[name](tmp_path, case)
        except ApptekError as error:
            (said,) = str(error).splitlines()
            made = f"refused: {said}".replace(f"{tmp_path}/", "")
        lines.append(f"{case!r}\n  {made}")
    check(f"text/{name}.txt", "\n".join(lines))
