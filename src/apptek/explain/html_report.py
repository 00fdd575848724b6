"""An explanation as one HTML file: no script, nothing to load, light and dark, narrow and wide."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from apptek.data.predicate_table import PredicateTable, labelled
from apptek.explain.drawing.answer_layout import draw_answer
from apptek.explain.drawing.svg import draw_svg
from apptek.explain.explanation import CitedFact, Explanation, Reason
from apptek.explain.groups import Group
from apptek.explain.text import BASE, early_words, meeting_words, notes, query_notes, sequence_words
from apptek.models.answers import Answer
from apptek.present.html import html_fragment, html_page
from apptek.present.wording import given, left_over, listed, percent, shown_time, signed
from apptek.safe_text import counted, printable

READABLE = 0.78  # a drawing is not made smaller than this, but scrolls
DRAWN = "The facts behind it"
LEGEND = (
    "Above, what the two did to each other; below, whom both deal with, and at the edges, whom "
    "only one of them deals with. A number after \N{MULTIPLICATION SIGN} counts such facts."
)
CLASSES = 6  # classes and groups that get a bar
SHOWN = 8  # connecting facts in the open; the others unfold


def explanation_html(explanation: Explanation) -> str:
    """The whole file. Every name is escaped; the policy in its head forbids scripts and loading."""
    title = f"{explanation.subject}, ?, {explanation.object}, {shown_time(explanation.time)}"
    sections = [*_answer(explanation), *_details(explanation, explanation.all_reasons())]
    body = "\n".join([_header(explanation), *(section for section in sections if section)])
    return html_page(title, body, _footer(explanation))


def explanation_fragment(explanation: Explanation) -> str:
    """The same for a notebook: an element whose style reaches nothing around it."""
    details = _details(explanation, explanation.reasons)
    return html_fragment("".join([_header(explanation), *_answer(explanation), *details]))


def _answer(explanation: Explanation) -> Iterator[str]:
    """The drawing of all reasons, the rankings, and what adds up."""
    yield _drawing(explanation)
    yield from _rankings(explanation)
    if explanation.contributions() and not explanation.is_only:
        yield _sum(explanation)


def _details(explanation: Explanation, reasons: Iterable[Reason]) -> Iterator[str]:
    """The facts of these reasons, each set of them once."""
    return (_reason(explanation, r) for r in reasons if r.facts and not r.same_as)


def _drawing(explanation: Explanation) -> str:
    """All reasons as one drawing, as the page of `apptek serve` has it."""
    if not any(reason.facts for reason in explanation.all_reasons()):
        return ""
    drawing = draw_answer(explanation)
    rest = "".join(f"<li>{_text(words)}</li>" for words in drawing.unplaced())
    return (
        f'<section><h2>{DRAWN}</h2><p class="soft">{LEGEND}</p><div class="drawing" tabindex="0" '
        f'style="--least:{READABLE * drawing.width:.0f}px">{draw_svg(drawing)}</div>'
        f"{rest and f'<ul>{rest}</ul>'}</section>"
    )


def answers_fragment(answers: Sequence[Answer], shown: int) -> str:
    """The bars of some answers, for a notebook."""
    parts = []
    for answer in answers[:shown]:
        query = answer.query
        names = map(labelled, answer.predicates, answer.labels)
        ranked = list(zip(names, answer.probabilities, strict=True))[:shown]
        title = f"{query.subject}, {query.object}, {shown_time(query.time)}"
        condition = given(query.time) if ranked else ""
        parts.append(_ranking(ranked, ranked[0][0] if ranked else "", title, condition))
        parts.append(_flags(query_notes(answer)))
    if len(answers) > shown:
        parts.append(f'<p class="soft">and {len(answers) - shown:,} more</p>')
    return html_fragment("".join(parts))


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _header(explanation: Explanation) -> str:
    when = shown_time(explanation.time)
    who = f"{_text(explanation.subject)}, {_text(explanation.object)}"
    question = f'{who}, <span class="when">{_text(when)}</span>: what holds between them?'
    chosen, runner_up = (
        f"<b>{_text(name)}</b> ({percent(probability)})"
        for name, probability in (
            (labelled(explanation.predicate, explanation.label), explanation.probability),
            (
                labelled(explanation.runner_up, explanation.runner_up_label),
                explanation.runner_up_probability,
            ),
        )
    )
    if explanation.is_only:
        answer = chosen
    elif explanation.is_first or explanation.runner_up_role == "compared with":
        answer = f"{chosen}, rather than {runner_up}"
    else:
        answer = f"Asked about {chosen}; the answer is {runner_up}"
    why = f"<p>{_text(explanation.paragraph)}</p>{_flags(notes(explanation))}"
    recorded = f'<p class="answer">{_text(explanation.recorded)}</p>' * bool(explanation.known)
    return f'<h1>{question}</h1>{recorded}<p class="answer">{answer}.</p>{why}'


def _flags(lines: Iterable[str]) -> str:
    return "".join(f'<p class="note">{_text(line)}</p>' for line in lines)


def _rankings(explanation: Explanation) -> Iterator[str]:
    """The predicates by their probabilities, then the classes and the groups."""
    names = [name for name, _ in explanation.ranked]
    shown = list(map(labelled, names, explanation.labels or names))
    shares = (probability for _, probability in explanation.ranked)
    chosen = labelled(explanation.predicate, explanation.label)
    title, condition = "Most probable predicates", given(explanation.time)
    yield _ranking(list(zip(shown, shares, strict=True)), chosen, title, condition)
    for level, classes in (("class", explanation.by_class), ("group", explanation.by_group)):
        if classes:
            shown_classes = [*classes[:CLASSES], *left_over(level, classes)]
            yield _ranking(shown_classes, "", f"By {level}")


def _ranking(
    ranked: Sequence[tuple[str, float]], chosen: str, title: str, condition: str = ""
) -> str:
    largest = max((probability for _, probability in ranked), default=0.0) or 1.0
    rows = "".join(
        f'<p class="label">{_text(name)}</p><p class="track"><i class="'
        f'{"best" if name == chosen else "other"}" style="left:0;width:'
        f'{100 * probability / largest:.1f}%"></i></p><p class="value">{percent(probability)}</p>'
        for name, probability in ranked
    )
    note = f'<p class="soft">{condition}</p>' if condition else ""
    return f'<section><h2>{_text(title)}</h2>{note}<div class="bars">{rows}</div></section>'


def _sum(explanation: Explanation) -> str:
    """What adds up to the log-odds, as bars to both sides of zero; groups unfold."""
    sides = [
        [
            (f"{r.number}. {r.contribution.sentence}{_repeats(r)}", r.contribution.log_odds)
            for r in reasons
        ]
        for reasons in (explanation.reasons, explanation.against)
    ]
    base = (BASE, explanation.bias)
    total = (f"log-odds against {explanation.runner_up_label}", explanation.log_odds)
    groups = [(group.title, group.log_odds) for group in explanation.groups]
    values = [value for _, value in (*sides[0], *sides[1], *groups, base, total)]
    low, high = min(0.0, *values), max(0.0, *values)
    span = (low, max(high, low + 1e-9))
    titles = (
        "What speaks for it",
        f"What speaks against it, and for {explanation.runner_up_label}",
    )
    parts = [
        f"<h3>{_text(title)}</h3>{_bars(entries, span)}"
        for title, entries in zip(titles, sides, strict=True)
        if entries
    ]
    if groups:
        parts.append("<h3>Smaller reasons, taken together</h3>")
        parts.extend(_group(explanation, group, span) for group in explanation.groups)
    parts.append(_bars([base], span) + _bars([total], span, " total"))
    return f"<section><h2>Why {_text(explanation.label)}</h2>{''.join(parts)}</section>"


def _bars(entries: Sequence[tuple[str, float]], span: tuple[float, float], kind: str = "") -> str:
    rows = "".join(_signed_bar(*entry, *span, kind) for entry in entries)
    return f'<div class="bars reasons">{rows}</div>'


def _group(explanation: Explanation, group: Group, span: tuple[float, float]) -> str:
    members = [explanation.further[index] for index in group.members]
    entries = [(part.sentence, part.log_odds) for part in members]
    words = f"{group.title} ({counted(len(members), 'reason')})"
    return (
        f"<details><summary>{_bars([(words, group.log_odds)], span)}</summary>"
        f"{_bars(entries, span)}</details>"
    )


def _repeats(reason: Reason) -> str:
    return f" (by the same facts as {reason.same_as})" if reason.same_as else ""


def _signed_bar(words: str, value: float, low: float, high: float, kind: str) -> str:
    span = high - low
    left, width = 100 * (min(value, 0) - low) / span, 100 * abs(value) / span
    zero = 100 * -low / span
    return (
        f'<p class="label{kind}">{_text(words)}</p>'
        f'<p class="track signed" style="--zero:{zero:.1f}%">'
        f'<i class="{"plus" if value >= 0 else "minus"}" '
        f'style="left:{left:.1f}%;width:{width:.1f}%"></i></p>'
        f'<p class="value{kind}">{signed(value)}</p>'
    )


def _reason(explanation: Explanation, reason: Reason) -> str:
    contribution = reason.contribution
    repeats = [r for r in explanation.all_reasons() if r.same_as == reason.number]
    also = listed([f"{r.number} ({signed(r.contribution.log_odds)})" for r in repeats], 9)
    words = _headline(explanation, reason)
    same = f" The same facts stand behind {also}." if repeats else ""
    ends = (explanation.subject, explanation.object)
    met = {meeting.entity for meeting in reason.meeting if meeting.entity not in ends}
    words_of = explanation.words
    counting, bystanders = reason.cited
    steps = contribution.kind == "topology"
    if reason.is_bundled:
        tables = "".join(_bundle(words_of, *bundle) for bundle in reason.bundles())
    else:
        tables = _table(words_of, counting[:SHOWN], met, steps)
        if folded := (*counting[SHOWN:], *bystanders):
            rest = _table(words_of, folded, met, steps)
            tables += f"<details><summary>{_rest_words(reason)}</summary>{rest}</details>"
    return (
        f"<section><h2>{reason.number}. {signed(contribution.log_odds)} "
        f"&ensp;{_text(contribution.sentence)}</h2>"
        f'<p class="soft">{_text(words[:1].upper() + words[1:])}.{_text(same)}</p>'
        f"{tables}{_statistics(reason)}</section>"
    )


def _statistics(reason: Reason) -> str:
    """The support of a reason."""
    return f'<p class="soft">{_text(reason.support.words)}</p>' if reason.support else ""


def _bundle(words_of: PredicateTable, partner: str, facts: Sequence[CitedFact]) -> str:
    """The facts with one partner; many of them unfold."""
    is_open = " open" if len(facts) <= SHOWN else ""
    words = f"{counted(len(facts), 'fact')} with {_text(partner)}"
    rows = _table(words_of, facts, set(), False)
    return f"<details{is_open}><summary>{words}</summary>{rows}</details>"


def _headline(explanation: Explanation, reason: Reason) -> str:
    """What joins the facts of a reason."""
    if reason.contribution.kind == "history":
        return "the facts, nearest in time first"
    met = meeting_words(explanation, reason).replace(" *", "")
    early = early_words(reason)
    return f"{met}{',' if early else ''}{early}; {sequence_words(explanation, reason)}"


def _rest_words(reason: Reason) -> str:
    counting, bystanders = reason.cited
    more, others = len(counting) - SHOWN, len(bystanders)
    noun = "more fact" if reason.contribution.kind == "history" else "more connecting fact"
    words = [counted(more, noun)] if more > 0 else []
    if others:
        words.append(
            f"{counted(others, 'bystander')} that {'lead' if others > 1 else 'leads'} elsewhere"
        )
    return ", ".join(words)


def _table(words_of: PredicateTable, facts: Sequence[CitedFact], met: set[str], steps: bool) -> str:
    """The facts, and with `steps` whose step brought each in."""
    names = ("fact", "date", "distance", *(("side", "step: expanded by") if steps else ()))
    head = "".join(f"<th>{name}</th>" for name in names)
    rows = "".join(f"<tr>{''.join(_cells(words_of, fact, met, steps))}</tr>" for fact in facts)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(words_of: PredicateTable, fact: CitedFact, met: set[str], steps: bool) -> Iterable[str]:
    subject, object_ = (
        f"<mark>{_text(name)}</mark>" if name in met else _text(name)
        for name in (fact.subject, fact.object)
    )
    yield f"<td>{subject} <b>{_text(words_of.label(fact.predicate))}</b> {object_}</td>"
    yield f'<td class="when">{_text(fact.date)}</td>'
    yield f'<td class="when">{_text(fact.apart)}</td>'
    if steps:
        yield f"<td>{fact.side}</td>"
        yield f"<td>{fact.step}: {_text(words_of.label(fact.expanded_by))}</td>"


def _footer(explanation: Explanation) -> str:
    about = explanation.model
    return (
        f"<footer>Model: data set {_text(about['dataset'])}, preset {_text(about['preset'])}, "
        f"protocol {_text(about['protocol'])}, format {about['format']}. Every fact shown "
        "is one that the model answers from.</footer>"
    )
