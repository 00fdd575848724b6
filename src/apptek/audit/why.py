"""Why a fact looks wrong, in a sentence."""

from apptek.audit.audit import Audit
from apptek.explain.explainer import explain
from apptek.models.answerer import Answerer
from apptek.models.answers import Query
from apptek.present.wording import when_text
from apptek.safe_text import counted

UNDATED = when_text("?", "?")
REASONS = 3  # named in a sentence
NOTHING = "nothing is known of the two: the base rates of the predicates speak against it"


class Reasons:
    """Writes the reasons of an audit; what explanations share is built once."""

    def __init__(self, audit: Audit) -> None:
        self.audit, self._answerers = audit, audit.judge.answerers()

    def of(self, fact: int) -> str:
        """Why this fact looks wrong, by its finding."""
        finding = self.audit.finding(fact)
        if finding == "interval":
            return self._of_interval(fact)
        return self._of_direction(fact) if finding == "direction" else self._of_predicate(fact)

    def _names(self, fact: int) -> tuple[str, str, str]:
        data, facts = self.audit.judge.model.dataset, self.audit.judge.model.graph.facts
        return (
            data.entities[int(facts.subjects[fact])],
            data.predicates[int(facts.predicates[fact])],
            data.entities[int(facts.objects[fact])],
        )

    def _dates(self, fact: int) -> str:
        model = self.audit.judge.model
        facts, axis = model.graph.facts, model.dataset.axis
        return when_text(axis.format(int(facts.since[fact])), axis.format(int(facts.until[fact])))

    def _of_interval(self, fact: int) -> str:
        partner = int(self.audit.partners[fact])
        other = "" if partner == fact else f", and another fact of the two {self._dates(partner)}"
        return f"it ends before it starts: {self._dates(fact)}{other}"

    def _of_direction(self, fact: int) -> str:
        roles, (subject, own, object_) = self.audit.roles, self._names(fact)
        predicate = self._answerer(fact).labels.label(own)
        does = (int(roles.subject_does[fact]), int(roles.object_does[fact]))
        gets = (int(roles.object_gets[fact]), int(roles.subject_gets[fact]))
        usual_is_as_written = does[0] + gets[0] >= does[1] + gets[1]
        if usual_is_as_written and self.audit.judgements.leanings[fact] < 0:
            when = "" if self._dates(fact) == UNDATED else " of that time"
            return (
                f"by what else is known{when}, '{predicate}' from {object_} to {subject} is "
                f"more plausible than from {subject} to {object_}"
            )
        return (
            f"elsewhere '{predicate}' has {subject} as its subject {counted(does[0], 'time')} and "
            f"{object_} {counted(does[1], 'time')}; it has {object_} as its object "
            f"{counted(gets[0], 'time')} and {subject} {counted(gets[1], 'time')}"
        )

    def _of_predicate(self, fact: int) -> str:
        model = self.audit.judge.model
        subject, own, object_ = self._names(fact)
        expected = model.dataset.predicates[int(self.audit.judgements.expected[fact])]
        time = model.dataset.axis.format(int(model.graph.facts.times[fact]))
        query = Query(subject, object_, time)
        against = None if own == expected else own
        answerer = self._answerer(fact)
        why = explain(answerer, query, expected, against=against, most=0, hidden=fact)
        speaking = [part.sentence for part in why.contributions() if part.log_odds > 0]
        return f"'{why.label}' because {'; '.join(speaking[:REASONS])}" if speaking else NOTHING

    def _answerer(self, fact: int) -> Answerer:
        return self._answerers[int(self.audit.judge.fold_of[fact])]
