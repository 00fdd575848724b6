"""The command `paper play`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from apptek.commands.options import (
    JsonOption,
    ObjectArgument,
    SubjectArgument,
    TimeArgument,
    argument,
    option,
    print_json,
)
from apptek.extras import require_torch
from apptek.safe_text import counted

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset
    from apptek.paper.single_episode import Walk

SHOWN = 8  # actions of a step, and facts that join a core


def play(
    agent: Annotated[Path, argument("AGENT", "A folder that `paper train` left.")],
    subject: SubjectArgument,
    object_: ObjectArgument,
    time: TimeArgument,
    html: Annotated[
        Path | None, option("--html", "Write the episode with a drawing there.", "FILE")
    ] = None,
    data: Annotated[
        str | None, option("--data", "Where the agent's facts are now, if they moved.", "DATA")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play the trained agent on one query, step by step.

    Each step shows the size of core and periphery, the legal actions with their Q-values, the
    choice, and the facts that join the core; at the end where the sides meet.

    Example: `apptek paper play agent "Boko Haram" "Citizen (Nigeria)" 2014-05-11`
    """
    require_torch()
    import numpy as np

    from apptek.errors import ApptekError
    from apptek.facts.name_matching import NameResolver
    from apptek.facts.queries import Queries
    from apptek.files import write_whole
    from apptek.paper.agent import Agent
    from apptek.paper.single_episode import walk
    from apptek.reading.reader import read_dataset
    from apptek.terminal import tell

    trained, dataset = Agent.load(agent, None if data is None else read_dataset(data))
    entities = NameResolver.of_entities(dataset)
    entities.check(subject, object_)
    ids = (entities.find(subject), entities.find(object_), dataset.axis.parse(time), -1)
    query = Queries(*(np.asarray([value], np.int32) for value in ids))
    if query.subjects[0] == query.objects[0]:
        raise ApptekError("subject and object are the same: the sides meet before the first step")
    played = walk(trained.process, query, trained)
    told = _told(played, dataset)
    if as_json:
        print_json(told)
    else:
        _print(told, subject, object_)
    if html is not None:
        write_whole(html, _page(told, played, dataset, (subject, object_, time)).encode())
        tell(f"the episode is drawn in {html}")


def _told(played: "Walk", dataset: "Dataset") -> dict[str, Any]:
    """Return the episode in names."""
    names, facts = dataset.predicates, dataset.train
    steps = [
        {
            "core": [core for core, _ in step.sizes],
            "periphery": [periphery for _, periphery in step.sizes],
            "actions": [
                {"predicate": names[action], "facts": count, "q": value}
                for action, count, value in sorted(
                    step.actions, key=lambda each: -(each[2] if each[2] is not None else 0.0)
                )
            ],
            "chosen": names[step.chosen],
            "subject_facts": [dataset.describe(facts, fact) for fact in step.added[0]],
            "object_facts": [dataset.describe(facts, fact) for fact in step.added[1]],
        }
        for step in played.steps
    ]
    meeting = [dataset.entities[entity] for entity in played.meeting]
    return {"met": played.met, "meeting": meeting, "steps": steps}


def _print(told: dict[str, Any], subject: str, object_: str) -> None:
    from apptek.terminal import output

    console = output()

    def line(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    if not told["steps"]:
        line("There is no fact near that time on either side: the episode has no step.")
        return
    for number, step in enumerate(told["steps"], 1):
        line(f"Step {number}")
        for side, name in enumerate((subject, object_)):
            core, periphery = step["core"][side], step["periphery"][side]
            line(f"  {name}: core {core}, periphery {counted(periphery, 'fact')}")
        line(f"  legal actions: {len(step['actions'])}, by Q-value")
        for action in step["actions"][:SHOWN]:
            mark = "->" if action["predicate"] == step["chosen"] else "  "
            facts = counted(action["facts"], "fact")
            line(f"  {mark} {action['q']:+.4f}  {action['predicate']} ({facts})")
        for key, name in (("subject_facts", subject), ("object_facts", object_)):
            line(f"  new in the core of {name}: {len(step[key])}")
            for fact in step[key][:SHOWN]:
                line(f"      {fact}")
    where = ", ".join(told["meeting"])
    line(f"The sides meet at {where}." if told["met"] else "The sides have not met.")


def _page(
    told: dict[str, Any], played: "Walk", dataset: "Dataset", asked: tuple[str, str, str]
) -> str:
    """Return the episode as one HTML page: the core facts drawn, then each step."""
    from dataclasses import replace
    from types import SimpleNamespace

    from apptek.facts.times import UNKNOWN
    from apptek.present.drawing.layout import draw_answer
    from apptek.present.drawing.svg import draw_svg
    from apptek.present.html import render_template
    from apptek.present.wording import when_text
    from apptek.results import CitedFact

    facts, cited = dataset.train, dict[int, CitedFact]()
    for number, step in enumerate(played.steps, 1):
        for side, added in zip(("subject", "object"), step.added, strict=True):
            for fact in added:
                ends = facts.since[fact], facts.until[fact]
                since, until = (dataset.axis.format(int(end)) for end in ends)
                cited[fact] = CitedFact(
                    fact=fact,
                    subject=dataset.entities[int(facts.subjects[fact])],
                    predicate=dataset.predicates[int(facts.predicates[fact])],
                    object=dataset.entities[int(facts.objects[fact])],
                    since=since,
                    until=until,
                    date=when_text(since, until) if facts.since[fact] != UNKNOWN else "undated",
                    distance=None,
                    apart=f"step {number}",
                    side=side,
                    step=number,
                    expanded_by=dataset.predicates[step.chosen],
                    on_path=True,
                )
    title = f"({asked[0]}, ?, {asked[1]}, {asked[2]})"
    about: Any = SimpleNamespace(
        subject=asked[0], object=asked[1], time=asked[2], sentence=title, label="", predicate="",
        probability=0.0, predicate_groups={}, shown=str, all_reasons=lambda: (),
    )  # fmt: skip
    drawn = draw_answer(about, nearby=list(cited.values()))
    edges = (replace(e, date=asked[2]) if e.kind == "question" else e for e in drawn.edges)
    drawing = draw_svg(replace(drawn, edges=tuple(edges)))
    return render_template("play.html.j2", title=title, asked=asked, told=told, drawing=drawing)
