"""Make all figures of the docs from result files, in one style for light and dark: `make figures`.

An SVG contains the colours of both themes, as variables that follow `prefers-color-scheme`. Text is
stored as text, so that figures are small and searchable.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from apptek.paper.figures import BLUE, FIGURES, GREEN, GREY, ORANGE, PURPLE, STYLE
from apptek.present.wording import shortened
from apptek.research.provenance import read_runs
from apptek.research.result import Result, read_results

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "figures"
NAMES = {"icews14": "ICEWS14", "icews05-15": "ICEWS05-15", "yago15k": "YAGO15K"}
VIEWS = {"all_facts": (BLUE, "o"), "past_only": (ORANGE, "s")}
STRATA = ("seen_pair", "unseen_pair", "unseen_entity")
# Colours of a drawing, and the pairs (light, dark) that replace them in the SVG.
COLOURS = {
    "#ffffff": ("#ffffff", "#131416"), "#000000": ("#1d2330", "#e8eaed"),
    "#dddddd": ("#dddddd", "#3a3f46"), GREY.lower(): (GREY, "#a8b0ba"),
    "#555555": ("#555555", "#a8b0ba"),
    BLUE.lower(): (BLUE, "#56b4e9"), ORANGE.lower(): (ORANGE, "#f0a04b"),
    GREEN.lower(): (GREEN, "#4fd1a5"), PURPLE.lower(): (PURPLE, "#e6a7cb"),
}  # fmt: skip
Results = Mapping[str, Result]


def panels(count: int, height: float = 2.6, *, share: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as a page of the site, with panels side by side."""
    figure = Figure(figsize=(6.8, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False, sharey=share)[0]
    return figure, list(axes)


def calibration(results: Results) -> Figure:
    """Draw how often answers and forecasts were correct, by probability."""
    figure, (left, right) = panels(2, 3.2)
    recorded = results["by-predicate-icews14"].extras["reliability"]
    for view, (colour, marker) in VIEWS.items():
        _draw_bins(left, recorded[view], view, colour, marker)
    for name, (colour, marker) in zip(("icews14", "icews05-15"), VIEWS.values(), strict=True):
        bins = results[f"backtest-{name}"].extras["reliability"]
        _draw_bins(right, bins, NAMES[name], colour, marker)
    left.set(title="Top answers, ICEWS14 test", xlabel="stated probability", ylabel="share right")
    right.set(title="Forecasts of an event within 7 days", xlabel="forecast", ylabel="happened")
    return figure


def _draw_bins(panel: Axes, bins: Any, label: str, colour: str, marker: str) -> None:
    panel.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=0.8)
    enough = [each for each in bins if each["forecasts"] >= 30]
    points = [each["forecast"] for each in enough], [each["happened"] for each in enough]
    panel.plot(*points, color=colour, marker=marker, label=label)
    panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    panel.legend(loc="upper left")


def coverage(results: Results) -> Figure:
    """Draw the coverage and size of the 90 % sets in each stratum."""
    figure, (left, right) = panels(2)
    recorded = results["apptek_default-icews14-official-seed0"].extras
    groups = {view: [recorded[view][name] for name in STRATA] for view in VIEWS}
    counts = [group["queries"] for group in groups["all_facts"]]
    names = [f"{n.replace('_', ' ')}\n{c:,}" for n, c in zip(STRATA, counts, strict=True)]
    for shift, (view, (colour, marker)) in zip((-0.2, 0.2), VIEWS.items(), strict=True):
        covered, sizes = ([g[key] for g in groups[view]] for key in ("coverage", "set_size"))
        left.plot(np.arange(3) + shift / 2, covered, marker, color=colour, label=view)
        right.bar(np.arange(3) + shift, sizes, 0.38, color=colour, label=view)
    for panel in (left, right):
        panel.set_xticks(range(3), names)
        panel.grid(axis="x", visible=False)
    left.axhline(0.9, color=GREY, linestyle="--", linewidth=0.8)
    left.set(title="Sets that contain the truth (asked: 90 %)", xlim=(-0.5, 2.5), ylim=(0.8, 1))
    right.set(title="Predicates in a set, mean")
    right.legend(loc="upper left")
    return figure


def skill(results: Results) -> Figure:
    """Draw the Brier skill relative to the base rate, by lead and group of pairs."""
    figure, axes = panels(2, share=True)
    groups = {"all": "all pairs", "active": "400 most active", "continuations": "continuations",
              "onsets": "onsets"}  # fmt: skip
    styles = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"))
    for panel, name in zip(axes, ("icews14", "icews05-15"), strict=True):
        of_name = [r for r in results.values() if r.model == "backtest" and r.dataset == name]
        leads = sorted((r.extras["windows"]["lead"], r) for r in of_name if r.groups)
        for (group, label), (colour, marker) in zip(groups.items(), styles, strict=True):
            points = [(lead, r.groups[group]["skill"]["base_rate"]) for lead, r in leads]
            panel.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label)
        panel.axhline(0, color=GREY, linestyle="--", linewidth=0.8)
        panel.set(title=NAMES[name], xlabel="lead in days")
    axes[0].set(ylabel="Brier skill")
    _legend_above(figure, axes[0])
    return figure


def learning(results: Results) -> Figure:
    """Draw the test MRR by number of training queries."""
    figure, axes = panels(2)
    for panel, (name, title) in zip(
        axes, {"icews05-15": "ICEWS05-15", "world-10m": "Invented world, 10 M facts"}.items(),
        strict=True,
    ):  # fmt: skip
        prefix = f"queries-{name}-"
        runs = [(int(n.removeprefix(prefix)), r) for n, r in results.items() if prefix in n]
        runs.sort(key=lambda run: run[0])
        for view, (colour, marker) in VIEWS.items():
            points = [(count, run.extras[view]["mrr"]) for count, run in runs]
            panel.plot(*zip(*points, strict=True), color=colour, marker=marker, label=view)
        panel.set(title=title, xlabel="training queries", xscale="log")
        panel.minorticks_off()
        panel.set_xticks([count for count, _ in runs], [f"{count:,}" for count, _ in runs])
    axes[0].set(ylabel="MRR on test")
    axes[0].legend(loc="center right")
    return figure


def predicates(results: Results) -> Figure:
    """Draw the MRR of counting and of the model for the 20 most common predicates."""
    rows = results["by-predicate-icews14"].extras["predicates"][:20]
    figure, axes = panels(2, 4.6, share=True)
    places = np.arange(len(rows))[::-1]
    for panel, view in zip(axes, VIEWS, strict=True):
        before, after = ([r["mrr"][m][view] for r in rows] for m in ("recency", "default"))
        panel.hlines(places, before, after, color=GREY, linewidth=1)
        panel.plot(before, places, "o", color=ORANGE, label="counting")
        panel.plot(after, places, "s", color=BLUE, label="default")
        panel.set(title=view, xlabel="MRR", xlim=(0, 1))
        names = [shortened(row["predicate"], 42) for row in rows]
        counts = [f" ({row['queries']:,})" for row in rows]
        panel.set_yticks(places, map(str.__add__, names, counts))
    _legend_above(figure, axes[0])
    return figure


def kernels(results: Results) -> Figure:
    """Draw the weight of a fact by its distance from the query, for each time kernel."""
    scales = results["by-predicate-icews14"].extras["time_scales"]
    figure, (panel,) = panels(1)
    days = np.arange(-60, 61)
    away = np.abs(days)
    near = np.exp(-(away - 1) / scales["brief"])
    curves = {
        "before": np.where(days < 0, near, np.nan), "after": np.where(days > 0, near, np.nan),
        **{name: np.exp(-away / scales[name]) for name in ("short", "middle", "long")},
    }  # fmt: skip
    colours = (GREEN, PURPLE, BLUE, ORANGE, GREY)
    for (name, values), colour in zip(curves.items(), colours, strict=True):
        days_of = f" ({scales[name]:g} days)" if name in scales else ""
        panel.plot(days, values, color=colour, label=f"{name}{days_of}")
    panel.set(xlabel="days between the fact and the query", ylabel="weight", ylim=(0, 1.05))
    _legend_above(figure, panel)
    return figure


def _legend_above(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))


DOCS: dict[str, Callable[[Results], Figure]] = {
    "calibration": calibration, "coverage": coverage, "skill-by-lead": skill,
    "learning-curve": learning, "ranks-by-predicate": predicates, "time-kernels": kernels,
}  # fmt: skip


def drawings() -> Iterator[tuple[str, str]]:
    """Yield the name and SVG of each figure: first the docs' figures, then the paper's."""
    from io import StringIO

    results, runs = read_results(ROOT / "paper" / "results"), read_runs(ROOT / "paper/runs.toml")
    with style.context([STYLE, {"svg.fonttype": "none", "savefig.facecolor": "white"}]):
        figures = {name: make(results) for name, make in DOCS.items()}
        for name, make in FIGURES.items():
            shown = [results[run] for run in runs.shown[name] if run in results]
            figures[name] = make(shown)
        for name, figure in figures.items():
            figure.savefig(
                out := StringIO(), format="svg", metadata={"Date": None, "Creator": None}
            )
            yield name, themed(out.getvalue())


def themed(svg: str) -> str:
    """Return the drawing with its colours replaced by variables."""
    light, dark = (
        ";".join(f"--c{n}:{pair[theme]}" for n, pair in enumerate(COLOURS.values()))
        for theme in range(2)
    )
    for number, colour in enumerate(COLOURS):
        svg = re.sub(colour, f"var(--c{number})", svg, flags=re.IGNORECASE)
    css = f"svg{{{light}}}text{{fill:var(--c1);font-family:system-ui,sans-serif!important}}"
    css += f"@media(prefers-color-scheme:dark){{svg{{{dark}}}}}"
    return svg.replace("<defs>", f"<style>{css}</style>\n <defs>", 1)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for figure_name, drawn in drawings():
        (FOLDER / f"{figure_name}.svg").write_text(drawn, encoding="utf-8")
