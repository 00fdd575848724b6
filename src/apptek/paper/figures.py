"""The paper's figures, redrawn from results as SVG and PNG.

A figure is exactly as wide as a printed column, so that text keeps its size of 7 or 8 points. The
colours are from Okabe and Ito's palette; lines that differ in colour also differ in their markers.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apptek.extras import require_matplotlib
from apptek.files import make_folder, writing
from apptek.paper.topology_figure import topologies_figure
from apptek.research.printed import TITLES
from apptek.research.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Results = Sequence[Result]
WIDTH, PANEL = 3.35, 1.75  # inches: the width of a column, and the height of a panel
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, GREY = "#CC79A7", "#595959"
STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"), (GREY, "v"))
COURSE_WINDOW = 10  # success is averaged over this many hundredths of training
LEAST_EPISODES = 5  # windows with fewer episodes are not drawn
STYLE = Path(__file__).with_name("figures.mplstyle")


def write_figure(name: str, results: Results, folder: Path) -> list[Path]:
    """Write NAME.svg and NAME.png and return their paths; write nothing without results."""
    if not results:
        return []
    require_matplotlib()
    from matplotlib import style

    with style.context(STYLE):
        figure = FIGURES[name](results)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        with writing(folder):
            make_folder(folder)
            # Omit dates and versions, so that an unchanged figure is identical byte by byte.
            figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
            figure.savefig(paths[1], metadata={"Software": None})
    return paths


def _by_panel(recorded: Results) -> dict[str, list[Result]]:
    """Group results by panel: data sets in the paper's order, each by ascending tknn.

    Runs in which a query can see its own fact have a separate panel.
    """
    names = sorted({result.dataset for result in recorded}, key=lambda n: [*TITLES, n].index(n))
    panels: dict[str, list[Result]] = {}
    for name in names:
        for hides, ending in ((True, ""), (False, ", own fact left in")):
            of_data = [result for result in recorded if result.dataset == name]
            here = [r for r in of_data if r.settings["agent"]["hide_query"] == hides]
            if here:
                panels[TITLES.get(name, name) + ending] = sorted(here, key=_tknn)
    return panels


def _tknn(result: Result) -> int:
    return int(result.settings["agent"]["tknn"])


def agent_figure(
    results: Results, draw: "Callable[[Axes, Results], None]", xlabel: str
) -> "Figure":
    """Draw one panel per data set and setting of `hide_query`, with one colour per tknn."""
    from matplotlib.figure import Figure

    panels = _by_panel(results)
    figure = Figure(figsize=(WIDTH, PANEL * len(panels) + 0.3), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for panel, (title, recorded) in zip(axes, panels.items(), strict=True):
        panel.set_title(title)
        draw(panel, recorded)
    if axes[0].get_legend() is None:  # otherwise each panel has its own
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    axes[-1].set_xlabel(xlabel)
    return figure


def _styled(results: Results) -> Iterator[tuple[Result, dict[str, Any]]]:
    """Yield each result with the style of its line."""
    for result, (colour, marker) in zip(results, STYLES, strict=False):
        yield result, {"color": colour, "marker": marker, "label": f"tknn {_tknn(result)}"}


def _draw_actions(panel: "Axes", results: Results) -> None:
    """Draw the mean number of legal actions before each step."""
    for result, style in _styled(results):
        means = enumerate(result.extras["legal_actions"], start=1)
        points = [(step, mean) for step, mean in means if mean is not None]
        steps, counts = zip(*points, strict=True) if points else ((), ())
        panel.plot(steps, counts, **style)
    longest = max(len(result.extras["legal_actions"]) for result in results)
    panel.set(ylabel="legal actions", ylim=(0, None))
    panel.set_xticks(range(1, longest + 1))


def _draw_rewards(panel: "Axes", results: Results) -> None:
    """Draw the mean reward of the last 500 and the last 10,000 episodes during training."""
    for result, style in _styled(results):
        curve = result.extras["rewards"]
        episodes = curve["episodes"]
        panel.plot(episodes, curve["mean_500"], color=style["color"], linewidth=0.5, alpha=0.5)
        # Markers distinguish the lines without colour; a few are enough.
        markevery = max(len(episodes) // 6, 1)
        panel.plot(episodes, curve["mean_10000"], markevery=markevery, **style)
    panel.set(ylabel="mean reward")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.locator_params(axis="x", nbins=5)


def _draw_success(panel: "Axes", results: Results) -> None:
    """Draw the proportion of connected episodes during training, for five predicates."""
    for (predicate, course), (colour, marker) in zip(
        results[0].extras["success"].items(), STYLES, strict=False
    ):
        episodes, connected = (
            np.convolve(course[key], np.ones(COURSE_WINDOW), "valid")
            for key in ("episodes", "connected")
        )
        shown = episodes >= LEAST_EPISODES
        share = np.arange(len(episodes)) + COURSE_WINDOW
        panel.plot(
            share[shown], connected[shown] / episodes[shown], color=colour, marker=marker,
            markevery=max(int(shown.sum()) // 6, 1),
            label=f"{predicate} ({sum(course['episodes']):,})",
        )  # fmt: skip
    panel.set(ylabel="share connected", ylim=(-0.03, 1.03))
    panel.legend(loc="lower right", fontsize=6)


FIGURES: "dict[str, Callable[[Results], Figure]]" = {
    "figure-actions": partial(agent_figure, draw=_draw_actions, xlabel="step of the episode"),
    "figure-rewards": partial(
        agent_figure,
        draw=_draw_rewards,
        xlabel="episodes\nthin: last 500; thick: last 10,000, or all so far",
    ),
    "figure-success": partial(
        agent_figure, draw=_draw_success, xlabel="% of the training (mean of the last tenth)"
    ),
    "figure-topologies": topologies_figure,
}
