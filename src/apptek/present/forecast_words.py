"""Forecasts in words: the evidence, the notes, and the tables of a backtest."""

import math
from collections.abc import Mapping, Sequence

from apptek import results
from apptek.present.wording import GIVEN, listed, percent, period_text
from apptek.safe_text import counted
from apptek.terminal import table_text

CHANGED = "much may have changed since."
NEITHER_KNOWN = "this is the base rate of pairs without earlier facts."
ONE_KNOWN = "this is a guess based only on the activity of the other entity."
RARE = 0.001  # below this expected number of facts, "one fact in N windows" is easier to read
ACTIVE = 400  # ordered pairs with the most facts so far
GROUPS = {
    "all": "all pairs with earlier facts",
    "active": f"the {ACTIVE} most active",
    "continuations": "continuations",
    "onsets": "onsets",
    "never_seen": "never seen before",
}
RULES = {"base_rate": "the base rate", "no_change": "no change", "own_rate": "the pair's own rate"}
RATES = {"own_rate": "the pair's own rate so far", "last_30": "its rate in the last 30 {unit}s"}
METRICS = ("log_loss", "brier", "auc", "calibration_error")
IN_TRAINING = "every window is in the training period, so there are no metrics"


def window_text(result: results.ActorForecast | results.Forecast | results.WatchList) -> str:
    """Return the window: 2015-01-01 to 2015-01-07."""
    return period_text(result.first, result.last)


def based_on(forecast: results.Forecast) -> str:
    """Return the length of the window, the last time whose facts were used, and the lead.

    The text says whether validation and test facts were used, because `predict` does not use them.
    """
    length = counted(forecast.length, forecast.unit)
    lead = f"; lead: {counted(forecast.lead, forecast.unit)}" if forecast.lead else ""
    joined = ", including the validation and test sets" * any(
        n.kind == "splits" for n in forecast.notes
    )
    return f"window of {length}; based on data up to {forecast.observed_until}{joined}{lead}"


def headline(forecast: results.Forecast) -> str:
    """Return the chance of at least one fact, and the expected number."""
    chance, number = percent(forecast.probability), expected_words(forecast.expected)
    return f"chance that something happens: {chance}; expected: {number}"


def expected_words(number: float) -> str:
    """Format as 2.4 facts, 0.012 facts or, for tiny numbers, one fact in about 11,000 windows."""
    if number < RARE:
        windows = float(f"{1 / max(number, 1e-12):.2g}")
        return f"one fact in about {windows:,.0f} windows of this length"
    text = f"{number:.1f}" if number >= 0.05 else f"{number:.2g}"
    return "1 fact" if text == "1.0" else f"{text} facts"


def expected_cell(number: float) -> str:
    """Format an expected number for a table."""
    return f"{number:.1f}" if number >= 0.05 else "< 0.1"


def direction_words(direction: results.DirectionForecast) -> str:
    """Return one direction in words: its ends, chance and number."""
    ends = f"{direction.subject} -> {direction.object}"
    return f"{ends}: {percent(direction.probability)}, {expected_words(direction.expected)}"


def shown_reasons(direction: results.DirectionForecast) -> list[results.OccurrenceReason]:
    """Return the reasons that do not round to 0.00."""
    return [reason for reason in direction.reasons if is_shown(reason.log_odds)]


def is_shown(log_odds: float) -> bool:
    """Return whether a contribution does not round to 0.00."""
    return round(log_odds, 2) != 0.0


def class_lines(forecast: results.Forecast) -> list[str]:
    """Return one line for the classes and one for the groups, if there are any."""
    levels = {"class": forecast.by_class, "group": forecast.by_group}
    return [
        f"At least one of a {level}: "
        f"{listed([f'{part.name} {percent(part.probability)}' for part in parts])}."
        for level, parts in levels.items()
        if parts
    ]


def evidence_sentence(
    family: str,
    ends: tuple[str, str],
    count: int,
    last: str,
    unit: str,
) -> str:
    """Describe the facts in a family.

    count  the number of facts, of times with facts, or of common partners, depending on the
           family; for "either", only whether it is 0 matters
    last   when the last fact was, as returned by `ago` or `dated`
    """
    if family == "common":
        return counted(count, "common partner")
    if family == "either":
        never = "there are no earlier facts between the pair"
        return f"the last fact between the pair was {last}" if count else never
    subject, object_ = ends if family != "reversed" else ends[::-1]
    if family in ("pair", "reversed"):
        if not count:
            return f"{subject} has not acted towards {object_} yet"
        times = f"{_preposition(unit)} {counted(count, unit)}"
        return f"{subject} acted towards {object_} {times}, most recently {last}"
    who, role = (subject, "subject") if family == "subject" else (object_, "object")
    if not count:
        return f"{who} is not the {role} of any fact yet"
    return f"{who} is the {role} of {counted(count, 'fact')}, the last one {last}"


def ago(age: float, unit: str, oldest: float) -> str:
    """Format an age: 3 days before the window; from `oldest` on, at least that many days."""
    if age >= oldest * (1 - 1e-9):
        return f"at least {counted(math.floor(oldest), unit)} before the window"
    length = f"the {unit}" if round(age) == 1 else counted(round(age), unit)
    return f"{length} before the window"


def dated(date: str, unit: str, *, is_latest: bool) -> str:
    """Format a date: on 2014-12-31 or, if it is only the latest possible, on or before it."""
    return f"{_preposition(unit)} {'or before ' * is_latest}{date}"


def _preposition(unit: str) -> str:
    return "on" if unit == "day" else "at" if unit == "step" else "in"


def length_sentence(*, beyond: bool) -> str:
    """Describe the window's length as a reason, besides the evidence and the base rate.

    beyond  whether the window is longer than all windows in training
    """
    shorter = "adjustment for consistency with shorter and longer windows"
    return "a window longer than any in training" if beyond else shorter


def base_sentence(*, met: bool, busy: bool) -> str:
    """Describe the base rate that the reasons are added to.

    met   whether the pair has earlier facts
    busy whether it has enough facts for the regression for busy pairs
    """
    known = "pairs with many earlier facts" if busy else "pairs with earlier facts"
    whose = known if met else "pairs without earlier facts"
    return f"the base rate of {whose}"


def why_sentence(best: results.PredicateForecast, reason: str) -> str:
    """Return why this predicate is most probable; `reason` is the strongest evidence, or empty."""
    because = f", mainly because {reason}" if reason else ""
    answer = f"{best.shown} ({percent(best.share)}, {GIVEN}){because}."
    return f"{best.subject} -> {best.object}: {answer}"


def unknown_name_notes(unseen: tuple[str, ...]) -> list[results.Note]:
    """Return a note that one or both names of a pair are not in the data."""
    data = {"names": list(unseen)}
    if len(unseen) == 2:
        text = f"Neither {unseen[0]} nor {unseen[1]} is in the data: {NEITHER_KNOWN}"
        return [results.Note("unknown_name", text, data)]
    texts = (f"{name} is not in the data: {ONE_KNOWN}" for name in unseen)
    return [results.Note("unknown_name", text, data) for text in texts]


def old_pair_note(age: int, unit: str, since: str) -> results.Note:
    """Return a note that the pair's last fact is old.

    since  the time from which the age is counted, as in the reasons
    """
    text = f"The last fact between the pair was {counted(age, unit)} before {since}: {CHANGED}"
    return results.Note("far", text, {"age": age})


def lead_notes(lead: int, longest: int, unit: str, observed: str) -> list[results.Note]:
    """Return notes about the lead before the window; one if it is longer than any in training."""
    text = (
        f"The data runs through {observed}. Nothing is known about the {counted(lead, unit)} "
        "between that time and the window (the lead)."
    )
    notes = [results.Note("lead", text, {"lead": lead, "observed_until": observed})]
    if lead > longest:
        text = f"The longest lead in training was {counted(longest, unit)}."
        notes.append(results.Note("lead", text, {"longest": longest}))
    return notes


def past_window_note(start: str, *, learned: bool) -> results.Note:
    """Return a note about a window in the past: facts from its start on were not used."""
    hindsight = " (the model's weights were also learned from later facts)" * learned
    text = f"Based only on facts before {start}{hindsight}."
    return results.Note("view", text, {"before": start, "learned": learned})


def long_window_note(longest: int, unit: str) -> results.Note:
    """Return a note that the window is longer than all windows in training."""
    length = counted(longest, unit)
    text = f"Training used windows of up to {length}; longer windows extrapolate the same rate."
    return results.Note("window", text, {"longest": longest})


def isolated_facts_note(times: Sequence[str], observed: str | None) -> results.Note:
    """Return a note on facts so long after all others that they do not mark the data's end."""
    text = (
        f"The data is assumed to end at {observed}: {counted(len(times), 'later fact')} "
        f"({listed(list(dict.fromkeys(times)))}) {'is' if len(times) == 1 else 'are'} far "
        f"from all others, perhaps because of a mistyped date. Correct the date, or set the end "
        f"with --observed-until {times[-1]}."
    )
    return results.Note("model", text, {"observed_until": observed, "times": list(times)})


def all_facts_note(counted_facts: int, learned: int) -> results.Note:
    """Return a note that forecasts use facts that `predict` does not use."""
    text = (
        f"Forecasts use all {counted_facts:,} facts, including the validation and test sets. "
        f"predict and explain use only the {learned:,} training facts, so they may rank predicates "
        "differently."
    )
    return results.Note("splits", text, {"facts": counted_facts, "learned": learned})


def backtest_text(outcome: results.Backtest, width: int) -> str:
    """Return the tables of a backtest, one below the other."""
    parts = [_windows(outcome, width)]
    if outcome.figures is None:
        return "\n".join([*parts, IN_TRAINING])
    parts += [_metrics(outcome, width), _groups(outcome, width), *no_skill_lines(outcome.groups)]
    bins = [
        (
            f"{percent(part.lower)} to {percent(part.upper)}",
            part.forecasts,
            percent(part.forecast),
            percent(part.happened),
        )
        for part in outcome.predicate_reliability
    ]
    header = ("forecast at", "forecasts", "on average", "happened")
    parts.append(table_text("Predicates: how often forecasts came true", header, bins, width))
    return "\n".join(parts)


def _windows(outcome: results.Backtest, width: int) -> str:
    rows = [
        (
            period_text(window.first, window.last) + " (training)" * window.in_training,
            window.pairs,
            f"{window.expected:,.0f}",
            window.happened,
            window.meetings,
        )
        for window in outcome.windows
    ]
    title = f"{outcome.data}, windows of {counted(outcome.every, outcome.unit)}"
    title += f", {counted(outcome.lead, outcome.unit)} ahead" if outcome.lead else ""
    header = ("window", "pairs", "expected", "happened", "new pairs")
    return table_text(title, header, rows, width)


def _metrics(outcome: results.Backtest, width: int) -> str:
    rows = [
        (
            RATES.get(name, name).format(unit=outcome.unit),
            *("" if getattr(each, key) is None else f"{getattr(each, key):.4f}" for key in METRICS),
            f"{outcome.skill[name]:+.3f}" if name in outcome.skill else "",
        )
        for name, each in {"forecasts": outcome.figures, **outcome.baselines}.items()
    ]
    header = ("", "log-loss", "Brier", "AUC", "calibration error", "Brier skill against this")
    return table_text("Chance that something happens", header, rows, width)


def _groups(outcome: results.Backtest, width: int) -> str:
    rows = [
        (
            words,
            f"{group.pairs:,.0f}",
            percent(group.share),
            percent(group.forecast),
            f"{group.brier:.4f}",
            *("" if value is None else f"{value:+.3f}" for value in group.skill.values()),
        )
        for name, words in GROUPS.items()
        if (group := outcome.groups.get(name)) is not None
    ]
    header = ("", "pairs", "with a fact", "forecast", "Brier", "skill: base rate", "no change",
              "own rate")  # fmt: skip
    return table_text("Brier skill by type of pair", header, rows, width)


def no_skill_lines(groups: Mapping[str, results.GroupSkill]) -> list[str]:
    """Return a sentence for each group whose forecasts do not beat some simple rule."""
    lines = []
    for name, group in groups.items():
        better = [rule for rule, skill in group.skill.items() if skill is not None and skill <= 0]
        if better:
            rules = ", ".join(RULES[rule] for rule in better)
            lines.append(f"no skill for {GROUPS[name]}, compared with {rules}")
    return lines
