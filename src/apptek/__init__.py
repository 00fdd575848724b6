"""Which event or relation connects A and B at time t, and why?

    from apptek import Predictor, read_dataset
    predictor = Predictor.fit(read_dataset("events.csv"))       or a frame, or a list of tuples
    predictor.predict(("North Korea", "South Korea", "2014-08-15"))
    predictor.explain(("North Korea", "South Korea", "2014-08-15"))
    predictor.forecast("North Korea", "South Korea", days=7)    whether anything happens, and what
    predictor.watch(most=20, days=7)                            the pairs whose chances change most
    predictor.save("model")

Dataset              facts in three splits
Evaluator            ranks any scorer, including your own, in the same way as our models
PredicateClassifier  a classifier with the scikit-learn API
Predictor            fit, load, predict, explain, forecast, watch, evaluate, update, save
UnknownName          raised for a name that is not in the data; its `suggestions` are similar names
read_dataset         reads files, frames, tuples or a database
register_baseline    makes your own model available in fit, evaluate, contest and search

Names are imported on first use, so that `import apptek` is fast.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apptek.classifier import PredicateClassifier
    from apptek.errors import UnknownName
    from apptek.facts.facts import Dataset, Facts
    from apptek.facts.protocols import Splitting
    from apptek.graph.temporal_graph import TemporalGraph
    from apptek.models.registry import register_baseline
    from apptek.predictor import Predictor
    from apptek.reading.reader import read_dataset
    from apptek.research.evaluator import Evaluator
    from apptek.results import Answer, Explanation, Forecast, Query
    from apptek.synthetic.world import make_world

__version__ = "0.3.0"
__all__ = [
    "Answer",
    "Dataset",
    "Evaluator",
    "Explanation",
    "Facts",
    "Forecast",
    "PredicateClassifier",
    "Predictor",
    "Query",
    "Splitting",
    "TemporalGraph",
    "UnknownName",
    "__version__",
    "make_world",
    "read_dataset",
    "register_baseline",
]


def lazy_names(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package that imports its names on first use.

    modules  the names in each module
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find, lambda: sorted(import_module(package).__all__)


__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "apptek.results": ("Answer", "Explanation", "Forecast", "Query"),
        "apptek.facts.facts": ("Dataset", "Facts"),
        "apptek.research.evaluator": ("Evaluator",),
        "apptek.classifier": ("PredicateClassifier",),
        "apptek.predictor": ("Predictor",),
        "apptek.facts.protocols": ("Splitting",),
        "apptek.graph.temporal_graph": ("TemporalGraph",),
        "apptek.errors": ("UnknownName",),
        "apptek.synthetic.world": ("make_world",),
        "apptek.reading.reader": ("read_dataset",),
        "apptek.models.registry": ("register_baseline",),
    },
)
