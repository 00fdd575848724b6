"""The paper's figures made anew from result files, as SVG and PNG.

One column of print wide, so that nothing is scaled: texts are of 7 and 8 points. Colours are those
of Okabe and Ito, and what they tell apart differs in its marker, too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apptek.errors import ApptekError
from apptek.experiments.experiment import Experiment, results_of
from apptek.experiments.paper_tables import TITLES, Results, serving
from apptek.experiments.topology_figure import topologies_figure
from apptek.extras import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, PANEL = 3.35, 1.75  # inches: a column, and the height of a panel
BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
STYLES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))
SUCCESS = (
    "Make statement", "Consult", "Criticize or denounce", "Demand military aid",
    "Protest violently, riot",
)  # fmt: skip
LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "legend.frameon": False,
    "font.family": "DejaVu Sans",  # comes with Matplotlib: the same everywhere
    "svg.hashsalt": "apptek",
    "savefig.dpi": 300,
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Matplotlib set up as our figures want it, and as it was afterwards."""
    require_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(LOOK):
        yield


def write_figure(
    name: str, experiments: Sequence[Experiment], results: Results, folder: Path
) -> list[Path]:
    """Draws a figure into NAME.svg and NAME.png; nothing where nothing is recorded for it."""
    with drawing_style():
        figure = FIGURES[name](serving(experiments, name), results)
        if figure is None:
            return []
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
            figure.savefig(paths[1], metadata={"Software": None})
        except OSError as error:
            raise ApptekError(f"{folder} cannot be written: {error.strerror}") from None
    return paths


def _panels(experiments: Sequence[Experiment], results: Results) -> dict[str, list[dict[str, Any]]]:
    """Results by data set in the paper's order, in each by rising tknn."""
    found = [result for experiment in experiments for result in results_of(experiment, results)]
    names = sorted({r["dataset"] for r in found}, key=lambda name: [*TITLES, name].index(name))
    return {name: sorted((r for r in found if r["dataset"] == name), key=_tknn) for name in names}


def _tknn(result: dict[str, Any]) -> int:
    return int(result["settings"]["agent"]["tknn"])


def _figure(count: int, height: float = PANEL) -> "tuple[Figure, list[Axes]]":
    """A column of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height * count + 0.3), layout="constrained")
    return figure, list(figure.subplots(count, squeeze=False)[:, 0])


def agent_figure(
    experiments: Sequence[Experiment],
    results: Results,
    draw: "Callable[[Axes, Results], None]",
    xlabel: str,
) -> "Figure | None":
    """A panel for each data set, in which every tknn has its colour."""
    panels = _panels(experiments, results)
    if not panels:
        return None
    figure, axes = _figure(len(panels))
    for panel, (name, found) in zip(axes, panels.items(), strict=True):
        panel.set_title(TITLES.get(name, name))
        draw(panel, found)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    axes[-1].set_xlabel(xlabel)
    return figure


def _styled(found: Results) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each result with how it is drawn."""
    for result, (colour, marker) in zip(found, STYLES, strict=False):
        yield result, {"color": colour, "marker": marker, "label": f"tknn {_tknn(result)}"}


def _draw_actions(panel: "Axes", found: Results) -> None:
    """The mean number of legal actions before each step."""
    for result, style in _styled(found):
        known = [(s, n) for s, n in enumerate(result["legal_actions"], 1) if n is not None]
        steps, counts = zip(*known, strict=True) if known else ((), ())
        panel.plot(steps, counts, **style)
    panel.set(ylabel="legal actions", ylim=(0, None))
    panel.set_xticks(range(1, max(len(result["legal_actions"]) for result in found) + 1))


def _draw_rewards(panel: "Axes", found: Results) -> None:
    """The mean reward while the agent learns: of the last 500 episodes, and of the last 10,000."""
    for result, style in _styled(found):
        curve = result["rewards"]
        episodes, every = curve["episodes"], max(len(curve["episodes"]) // 6, 1)
        panel.plot(episodes, curve["mean_500"], color=style["color"], linewidth=0.5, alpha=0.5)
        panel.plot(episodes, curve["mean_10000"], markevery=every, **style)
    panel.set(ylabel="mean reward")
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    panel.locator_params(axis="x", nbins=5)


def _draw_success(panel: "Axes", found: Results) -> None:
    """The share of training queries that the greedy agent connects, for five predicates."""
    chosen = nearest_names(SUCCESS, list(found[0]["success"]))
    for result, style in _styled(found):
        shares = [result["success"][predicate][1] for predicate in chosen]
        panel.plot(shares, range(len(chosen)), linestyle="", **style)
    counts = [found[0]["success"][predicate][0] for predicate in chosen]
    labels = [f"{p} ({n:,})" for p, n in zip(chosen, counts, strict=True)]
    panel.set_yticks(range(len(chosen)), labels)
    panel.set(xlim=(-0.03, 1.03), ylim=(len(chosen) - 0.5, -0.5))


def nearest_names(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each wanted predicate, or the nearest by its name that is known; each of them once."""
    found: list[str] = []
    for name in wanted:
        left = [one for one in known if one not in found]
        near = [name] if name in left else get_close_matches(name, left, n=1, cutoff=0.0)
        found += near
    return found


FIGURES: "dict[str, Callable[[Sequence[Experiment], Results], Figure | None]]" = {
    "figure-actions": partial(agent_figure, draw=_draw_actions, xlabel="step of the episode"),
    "figure-rewards": partial(
        agent_figure,
        draw=_draw_rewards,
        xlabel="episodes (thin: mean of 500; thick: of 10,000)",
    ),
    "figure-success": partial(agent_figure, draw=_draw_success, xlabel="share connected"),
    "figure-topologies": topologies_figure,
}
