"""Actor forecasts and rankings of missing entities, in words."""

from apptek.present.forecast_words import expected_cell, window_text
from apptek.present.wording import listed, percent, points
from apptek.results import ActorForecast, EntityRanking, Forecast, NextEvent, PartnerForecast
from apptek.safe_text import counted
from apptek.terminal import BAR, table_text

COLUMNS = (
    "partner, most probable event and strongest evidence",
    "chance",
    "change",
    "expected",
    "50 % within",
)
MEMBERS_SHOWN = 5
BAR_WIDTH = 30  # characters in a bar for 100 %


def no_partners(actor: str, time: str) -> str:
    """Return a sentence saying that the actor has no partners yet."""
    return (
        f"{actor} has no facts with other entities before {time}, so there are no partners to "
        "list: give two entities to forecast a pair"
    )


def no_candidates(actor: str, label: str, time: str) -> str:
    """Return a sentence saying that there is no evidence to rank entities by."""
    return f"no entity has a fact before {time} with {actor} or with {label!r}"


def candidate_reason(family: str, actor: str, count: int, *, is_subject: bool) -> str:
    """Return the facts that support a candidate."""
    facts = counted(count, "fact")
    direction = f"from {actor}" if is_subject else f"to {actor}"
    opposite = f"to {actor}" if is_subject else f"from {actor}"
    role = "object" if is_subject else "subject"
    return {
        "triple": f"{facts} {direction} with this predicate",
        "pair": f"{facts} {direction}",
        "reversed": f"{facts} {opposite}",
        "predicate": f"{role} of {facts} with this predicate",
        "role": f"{role} of {facts}",
    }[family]


def ranking_text(ranking: EntityRanking, width: int) -> str:
    """Return the candidates as a table, and the total probability of all other entities."""
    ends = (ranking.subject or "?", ranking.shown, ranking.object or "?", ranking.time)
    rows = [
        (one.entity, percent(one.probability), BAR * round(one.probability * BAR_WIDTH), one.reason)
        for one in ranking.ranked
    ]
    header = ("entity", "probability", "", "strongest evidence")
    more, rest = ranking.candidates - len(ranking.ranked), percent(ranking.others_probability)
    lines = [
        table_text(", ".join(ends), header, rows, width),
        *([f"... and {counted(more, 'more candidate')} with evidence"] if more else []),
        f"The other {ranking.others:,} entities have no evidence and share the remaining {rest}.",
        "These are the probabilities if there is a fact with this predicate at that time.",
        f"Based only on facts before {ranking.time}.",
        *(note.text for note in ranking.notes),
    ]
    return "\n".join(lines)


def actor_text(forecast: ActorForecast, width: int) -> str:
    """Return both lists of partners, and the chance that other entities are involved."""
    what = forecast.event or "any event"
    lines = [f"{forecast.actor} | {what} | {window_text(forecast)}"]
    if forecast.members:
        lines.append(
            f"{counted(len(forecast.members), 'member')} combined: "
            f"{listed(forecast.members, MEMBERS_SHOWN)}. Expected numbers are sums. "
            "The other numbers are for at least one member. Predicates and evidence come from the "
            "most probable member."
        )
    lists = (
        (f"Partners that {forecast.actor} may act on", forecast.acts_on, 1),
        (f"Partners that may act on {forecast.actor}", forecast.acted_on_by, 0),
    )
    for title, rows, other in lists:
        cells = [_cells(row, (row.subject, row.object)[other], forecast) for row in rows]
        lines += ["", table_text(title, COLUMNS, cells, width)]
        if (more := forecast.partners - len(rows)) > 0:
            lines.append(f"... and {counted(more, 'more partner')} with a lower chance")
    lines += [
        "",
        f"Chance that {forecast.actor} acts on a new partner: {percent(forecast.others_acted_on)}",
        f"Chance that a new partner acts on {forecast.actor}: {percent(forecast.others_acting)}",
        f"(A new partner has no earlier facts with {forecast.actor}.)",
        *(note.text for note in forecast.notes),
    ]
    return "\n".join(lines)


def _cells(row: PartnerForecast, partner: str, forecast: ActorForecast) -> tuple[object, ...]:
    first = row.predicates[0] if row.predicates else None
    return (
        (
            partner,
            f"{percent(first.probability)} {first.shown}" if first else "",
            row.reason,
        ),
        percent(row.probability),
        points(row.change),
        expected_cell(row.expected),
        median_cell(row.median, forecast.longest, forecast.unit),
    )


def median_cell(median: int | None, longest: int, unit: str) -> str:
    """Format a median for a table: 5 days, > 90 days."""
    return f"> {counted(longest, unit)}" if median is None else counted(median, unit)


def median_words(event: NextEvent, forecast: Forecast) -> str:
    """Return the time by which the next event has happened with a chance of 50 %."""
    what = f"next event ({event.event})" if event.event else "next event"
    if event.median is None:
        length = counted(event.longest, forecast.unit)
        return f"median time to the {what}: more than {length}"
    length = counted(event.median, forecast.unit)
    return (
        f"median time to the {what}: {length} (50 % chance that it happens by {event.median_time})"
    )


def event_lines(forecast: Forecast) -> list[str]:
    """Return when the next event is expected, and the chance of the requested event."""
    event = forecast.next_event
    if event is None:
        return []
    lines = []
    if event.event:
        lines.append(
            f"chance of {event.event}: {percent(event.probability)}; "
            f"expected: {expected_cell(event.expected)}"
        )
    return [*lines, median_words(event, forecast)]
