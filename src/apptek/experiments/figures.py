"""The paper's figures made anew from result files, as SVG and PNG.

One column of print wide, so that nothing is scaled: texts are of 7 and 8 points. Colours are those
of Okabe and Ito, and what they tell apart differs in its marker, too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apptek.experiments.cells import Cell, results_of
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


def write_figure(name: str, cells: Sequence[Cell], results: Results, folder: Path) -> list[Path]:
    """Draws a figure into NAME.svg and NAME.png; nothing where nothing is recorded for it."""
    with drawing_style():
        figure = FIGURES[name](serving(cells, name), results)
        if figure is None:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
        figure.savefig(paths[1], metadata={"Software": None})
    return paths


def _panels(cells: Sequence[Cell], results: Results) -> dict[str, list[dict[str, Any]]]:
    """Results by data set in the paper's order, in each by rising tknn."""
    found = [result for cell in cells for result in results_of(cell, results)]
    names = sorted({r["dataset"] for r in found}, key=lambda name: [*TITLES, name].index(name))
    return {name: sorted((r for r in found if r["dataset"] == name), key=_tknn) for name in names}


def _tknn(result: dict[str, Any]) -> int:
    return int(result["settings"]["agent"]["tknn"])


def _figure(count: int, height: float = PANEL) -> "tuple[Figure, list[Axes]]":
    """A column of panels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height * count + 0.3), layout="constrained")
    return figure, list(figure.subplots(count, squeeze=False)[:, 0])


def _legend(figure: "Figure", panel: "Axes") -> None:
    """What the colours mean, above all panels."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


def actions_figure(cells: Sequence[Cell], results: Results) -> "Figure | None":
    """The mean number of legal actions before each step."""
    panels = _panels(cells, results)
    if not panels:
        return None
    figure, axes = _figure(len(panels))
    for panel, (name, found) in zip(axes, panels.items(), strict=True):
        for result, (colour, marker) in zip(found, STYLES, strict=False):
            known = [(s, n) for s, n in enumerate(result["legal_actions"], 1) if n is not None]
            steps, counts = zip(*known, strict=True) if known else ((), ())
            label = f"tknn {_tknn(result)}"
            panel.plot(steps, counts, color=colour, marker=marker, label=label)
        panel.set(title=TITLES.get(name, name), ylabel="legal actions", ylim=(0, None))
        panel.set_xticks(range(1, max(len(result["legal_actions"]) for result in found) + 1))
    _legend(figure, axes[0])
    axes[-1].set_xlabel("step of the episode")
    return figure


def rewards_figure(cells: Sequence[Cell], results: Results) -> "Figure | None":
    """The mean reward while the agent learns: of the last 500 episodes, and of the last 10,000."""
    panels = _panels(cells, results)
    if not panels:
        return None
    figure, axes = _figure(len(panels))
    for panel, (name, found) in zip(axes, panels.items(), strict=True):
        for result, (colour, marker) in zip(found, STYLES, strict=False):
            curve = result["rewards"]
            episodes, label = curve["episodes"], f"tknn {_tknn(result)}"
            panel.plot(episodes, curve["mean_500"], color=colour, linewidth=0.5, alpha=0.5)
            every = max(len(episodes) // 6, 1)
            panel.plot(
                episodes, curve["mean_10000"], color=colour, marker=marker, markevery=every,
                label=label,
            )  # fmt: skip
        panel.set(title=TITLES.get(name, name), ylabel="mean reward")
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panel.locator_params(axis="x", nbins=5)
    _legend(figure, axes[0])
    axes[-1].set_xlabel("episodes (thin: mean of 500; thick: of 10,000)")
    return figure


def success_figure(cells: Sequence[Cell], results: Results) -> "Figure | None":
    """The share of training queries that the greedy agent connects, for five predicates."""
    panels = _panels(cells, results)
    if not panels:
        return None
    figure, axes = _figure(len(panels))
    for panel, (name, found) in zip(axes, panels.items(), strict=True):
        chosen = nearest_names(SUCCESS, list(found[0]["success"]))
        for result, (colour, marker) in zip(found, STYLES, strict=False):
            shares = [result["success"][predicate][1] for predicate in chosen]
            places = range(len(chosen))
            label = f"tknn {_tknn(result)}"
            panel.plot(shares, places, color=colour, marker=marker, linestyle="", label=label)
        counts = [found[0]["success"][predicate][0] for predicate in chosen]
        labels = [f"{p} ({n:,})" for p, n in zip(chosen, counts, strict=True)]
        panel.set_yticks(range(len(chosen)), labels)
        panel.set(title=TITLES.get(name, name), xlim=(-0.03, 1.03), ylim=(len(chosen) - 0.5, -0.5))
    _legend(figure, axes[0])
    axes[-1].set_xlabel("share connected")
    return figure


def nearest_names(wanted: Sequence[str], known: Sequence[str]) -> list[str]:
    """Each wanted predicate, or the nearest by its name that is known; each of them once."""
    found: list[str] = []
    for name in wanted:
        left = [one for one in known if one not in found]
        near = [name] if name in left else get_close_matches(name, left, n=1, cutoff=0.0)
        found += near
    return found


FIGURES: "dict[str, Callable[[Sequence[Cell], Results], Figure | None]]" = {
    "figure-actions": actions_figure,
    "figure-rewards": rewards_figure,
    "figure-success": success_figure,
    "figure-topologies": topologies_figure,
}
