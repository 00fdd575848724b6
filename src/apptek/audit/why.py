"""Why a fact looks wrong, in a sentence."""

from apptek.audit.audit import Audit
from apptek.explain.explainer import explain
from apptek.facts.times import UNKNOWN
from apptek.models.answerer import Answerer
from apptek.models.answers import Query
from apptek.present import audit_words as words
from apptek.present.wording import when_text

REASONS = 3  # named in a sentence


class Reasons:
    """Writes the reasons of an audit; what explanations share is built once."""

    def __init__(self, audit: Audit) -> None:
        self.audit, self._answerers = audit, audit.judge.answerers()

    def of(self, fact: int) -> str:
        """Return why this fact looks wrong, by its finding."""
        finding = self.audit.finding(fact)
        if finding == "interval":
            partner = int(self.audit.partners[fact])
            return words.interval_reason(
                self._dates(fact), None if partner == fact else self._dates(partner)
            )
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

    def _of_direction(self, fact: int) -> str:
        audit, (subject, own, object_) = self.audit, self._names(fact)
        predicate = self._answerer(fact).labels.label(own)
        roles, facts = audit.roles, audit.judge.model.graph.facts
        does = (int(roles.subject_does[fact]), int(roles.object_does[fact]))
        gets = (int(roles.object_gets[fact]), int(roles.subject_gets[fact]))
        usual_is_as_written = does[0] + gets[0] >= does[1] + gets[1]
        if usual_is_as_written and audit.judgements.leanings[fact] < 0:
            dated = not (facts.since[fact] == facts.until[fact] == UNKNOWN)
            return words.leaning_reason(predicate, subject, object_, dated=dated)
        return words.roles_reason(predicate, (subject, object_), does, gets)

    def _of_predicate(self, fact: int) -> str:
        model = self.audit.judge.model
        subject, own, object_ = self._names(fact)
        expected = model.dataset.predicates[int(self.audit.judgements.expected[fact])]
        time = model.dataset.axis.format(int(model.graph.facts.times[fact]))
        against = None if own == expected else own
        why = explain(
            self._answerer(fact), Query(subject, object_, time), expected,
            against=against, most=0, hidden=fact,
        )  # fmt: skip
        speaking = [part.sentence for part in why.contributions() if part.log_odds > 0]
        return words.predicate_reason(why.label, speaking[:REASONS])

    def _answerer(self, fact: int) -> Answerer:
        return self._answerers[int(self.audit.judge.fold_of[fact])]
