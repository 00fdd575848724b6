"""The rules of the synthetic world: spontaneous events, and what follows from them.

Shares are fractions of the world's events. They are small enough that the planted facts never
exceed the world's size, even if every rule applies at every opportunity. `FILLING` supplies the
rest.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "background", "noise", "term", "undated", "season", "reciprocity", "escalation", "alliance"
]
Scope = Literal["country", "league", "host", "abroad"]

SECTORS = (
    "Citizen",
    "Protester",
    "Police",
    "Opposition Party",
    "Ministry of Finance",
    "Ministry of Foreign Affairs",
    "Ministry of Defence",
    "Military",
    "Air Force",
    "Coast Guard",
)
STATE, CITIZEN, PROTESTER, POLICE, OPPOSITION, FINANCE, FOREIGN, DEFENCE = range(8)
LEADER = 1 + len(SECTORS)  # slot of a country's first leader; the next two follow
LEADER_COUNT = 3
SLOT_COUNT = LEADER + LEADER_COUNT  # entities per country
FORCES = (DEFENCE, DEFENCE + 1, DEFENCE + 2, DEFENCE + 3)
_DIPLOMATS = (STATE, STATE, FOREIGN, LEADER)  # a state acts twice as often as its organs
_SOCIETY = (CITIZEN, PROTESTER, OPPOSITION)
_POWERS = (STATE, POLICE, LEADER)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A fact with variables for its entities, e.g. (a, Accuse, b)."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The origin of facts: if `body` holds, `head` follows, `lags` days after the body's last fact.

    The lag is uniform over lags[0]..lags[1], inclusive. A rule acts once on every fact that matches
    the dated part of its body, except on facts that the rule itself created.

    | kind                              | probability                                         |
    |-----------------------------------|-----------------------------------------------------|
    | reciprocity, escalation, alliance | that the head follows a given body                  |
    | season                            | that such an event falls into `months`              |
    | noise                             | proportion of the events that are entirely random   |
    | background, term, undated         | 1: not drawn by a rule                              |
    """

    name: str
    kind: Kind
    body: tuple[Pattern, ...] = ()
    head: Pattern | None = None
    probability: float = 1.0
    lags: tuple[int, int] = (0, 0)
    months: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """Spontaneous events: one of a country's `actors` acts on one of the `targets` in scope.

    The scope is the same country, another country in its league, the league's host, or a country in
    another league. Countries are drawn by their heavy-tailed activity, or uniformly if `even`.
    """

    predicate: str
    share: float
    actors: tuple[int, ...]
    targets: tuple[int, ...]
    scope: Scope
    even: bool = False
    season: str = ""  # name of the season's rule


def _followed(
    kind: Kind, name: str, body: str, head: str, probability: float, lags: tuple[int, int]
) -> Rule:
    """Return a rule: (b, head, a), or to escalate (a, head, b), follows (a, body, b)."""
    subject, object_ = "ba" if kind == "reciprocity" else "ab"
    result = Pattern(subject, head, object_)
    return Rule(name, kind, (Pattern("a", body, "b"),), result, probability, lags)


_THREAT = Pattern("a", "Mobilize or increase armed forces", "b")
_ALLIED = Pattern("c", "Allied with", "b")
_AID = Pattern("c", "Provide military aid", "b")

ALLY_AIDS = Rule("ally-aids", "alliance", (_THREAT, _ALLIED), _AID, 0.95, (1, 2))
# The two-hop rule. Nothing connects c and a directly: a threatens b, and c is an ally of b. The
# undated alliance would not be among the facts nearest in time, so the aid makes it visible
# between the two days. The rule acts on aid that follows a threat.
_BREAK = Pattern("c", "Reduce or break diplomatic relations", "a")
ALLY_RETALIATES = Rule("ally-retaliates", "alliance", (_THREAT, _AID), _BREAK, 0.85, (1, 2))

_INTENT = "Express intent to cooperate"
_RIOT = "Protest violently, riot"
_ARREST = "Arrest, detain, or charge with legal action"
_TALKS = "Engage in negotiation"
# In order of application: each rule comes before the rules that build on its facts.
_BACK: Kind = "reciprocity"
_ON: Kind = "escalation"
FOLLOWING = (
    _followed(_BACK, "visit-is-hosted", "Make a visit", "Host a visit", 0.9, (0, 0)),
    _followed(_BACK, "consultation-is-returned", "Consult", "Consult", 0.7, (0, 1)),
    _followed(_BACK, "praise-is-answered", "Praise or endorse", _INTENT, 0.5, (1, 3)),
    _followed(_BACK, "riot-is-punished", _RIOT, _ARREST, 0.6, (1, 2)),
    _followed(_ON, "accusation-becomes-threat", "Accuse", "Threaten", 0.5, (2, 5)),
    _followed(_ON, "threat-becomes-sanctions", "Threaten", "Impose sanctions", 0.5, (3, 8)),
    _followed(_BACK, "sanctions-are-rejected", "Impose sanctions", "Reject", 0.6, (1, 3)),
    _followed(_ON, "negotiation-becomes-agreement", _TALKS, "Sign formal agreement", 0.5, (5, 10)),
)

_TERM = Pattern("a", "Head of government of", "b")
_VISIT = Pattern("a", "Make a visit", "b")
RULES: tuple[Rule, ...] = (
    Rule("background", "background"),
    Rule("noise", "noise", probability=0.04),
    Rule("term-of-office", "term", head=_TERM),
    Rule("undated", "undated"),
    Rule("annual-summit", "season", head=_VISIT, months=(6,)),
    Rule(
        "riot-season", "season", head=Pattern("a", _RIOT, "b"), probability=0.7, months=(3, 4, 10)
    ),
    *FOLLOWING,
    ALLY_AIDS,
    ALLY_RETALIATES,
)
ORIGIN = {rule.name: origin for origin, rule in enumerate(RULES)}

_PEERS = (STATE, FINANCE, FOREIGN)
_RIVALS = (STATE, FOREIGN, DEFENCE)
STREAMS = (
    Stream("Consult", 0.05, _DIPLOMATS, _DIPLOMATS, "league"),
    Stream("Make a visit", 0.04, _DIPLOMATS, _DIPLOMATS, "abroad"),
    Stream("Make a visit", 0.02, _DIPLOMATS, _DIPLOMATS, "host", season="annual-summit"),
    Stream("Praise or endorse", 0.035, _PEERS, _DIPLOMATS, "league"),
    Stream("Accuse", 0.04, _RIVALS, _RIVALS, "league"),
    Stream(_TALKS, 0.03, _PEERS, _PEERS, "abroad"),
    Stream(_RIOT, 0.04, _SOCIETY, _POWERS, "country", season="riot-season"),
    Stream(_THREAT.predicate, 0.03, FORCES, FORCES, "abroad", even=True),
)

# Proportions of the rest. No rule and no noise creates these predicates. Forces mostly act at
# home, so the nearest facts of two forces include few threats and few meaningless paths.
FILLING = (
    Stream("Make statement", 0.25, _DIPLOMATS, _DIPLOMATS, "abroad"),
    Stream("Make statement", 0.25, FORCES, (STATE, *_SOCIETY), "country", even=True),
    Stream("Investigate", 0.2, (POLICE, *FORCES), (FINANCE, *_SOCIETY), "country", even=True),
    Stream("Make an appeal or request", 0.1, _SOCIETY, (FINANCE, *_POWERS), "country"),
    Stream("Criticize or denounce", 0.1, _SOCIETY, _POWERS, "country"),
    Stream("Provide economic aid", 0.05, (STATE, FINANCE), (STATE, CITIZEN), "league"),
    Stream("Demand", 0.05, _DIPLOMATS, _DIPLOMATS, "league"),
)

LOCATED, PART_OF, ALLIED, IN_OFFICE = "Is located in", "Part of", _ALLIED.predicate, _TERM.predicate
_HEADS = [rule.head.predicate for rule in (*FOLLOWING, ALLY_AIDS, ALLY_RETALIATES) if rule.head]
PLANTED = tuple(dict.fromkeys([*(stream.predicate for stream in STREAMS), *_HEADS]))
PREDICATES = (
    *PLANTED,
    *dict.fromkeys(stream.predicate for stream in FILLING),
    LOCATED,
    PART_OF,
    ALLIED,
    IN_OFFICE,
)
