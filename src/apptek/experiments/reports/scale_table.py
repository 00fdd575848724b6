"""Recorded benches of scale and of the engine: what each stage costs, by the number of facts."""

from collections.abc import Callable

from apptek.experiments.reports.markdown import Results, markdown

ROWS: dict[str, tuple[str, Callable[[float], str]]] = {
    "reading": ("read_seconds", "{:,.0f} s".format),
    "indexing": ("index_seconds", "{:,.0f} s".format),
    "fit": ("fit_seconds", "{:,.0f} s".format),
    "memory after indexing": ("graph_mb", "{:,.0f} MB".format),
    "most memory of the fit": ("fit_peak_mb", "{:,.0f} MB".format),
    "most memory of reading": ("read_peak_mb", "{:,.0f} MB".format),
    "queries answered a second": ("predict_queries_per_s", "{:,.0f}".format),
    "MRR of 100,000 test queries": ("mrr", "{:.4f}".format),
}

ENGINES = ("one_process", "local", "ray")
OF_ENGINE: dict[str, tuple[str, Callable[[float], str]]] = {
    "start": ("start_seconds", "{:.1f} s".format),
    "parts": ("parts_seconds", "{:.1f} s".format),
    "features": ("features_seconds", "{:.1f} s".format),
    "features, processor time": ("features_processor_seconds", "{:.1f} s".format),
    "joining": ("join_seconds", "{:.1f} s".format),
    "most memory of a worker": ("worker_peak_mb", "{:,.0f} MB".format),
}


def scale_table(results: Results) -> str:
    """Seconds and memory of reading, indexing, fitting and asking worlds of each size."""
    benches = [result.metrics for result in results if result.model == "bench_scale"]
    sizes = {size: figures for figures in benches for size in figures["facts"]}
    rows = [
        [words, *(show(sizes[size][key][str(size)]) for size in sorted(sizes))]
        for words, (key, show) in ROWS.items()
    ]
    header = ("facts", *(f"{size / 1e6:g} M" for size in sorted(sizes)))
    return markdown(header, rows if sizes else [])


def engine_table(results: Results) -> str:
    """The features of the largest recorded bench of the engine: one process, processes, Ray."""
    benches = [result.metrics for result in results if result.model == "bench_engine"]
    if not benches:
        return markdown((), [])
    figures = max(benches, key=lambda each: int(each["facts"]))
    rows = [
        [
            words,
            *(show(figures[name][key]) if key in figures[name] else "" for name in ENGINES),
        ]
        for words, (key, show) in OF_ENGINE.items()
    ]
    about = f"{figures['facts'] / 1e6:g} M facts, {figures['queries']:,} queries"
    return markdown((about, "one process, two threads", "`local`", "`ray`"), rows)
