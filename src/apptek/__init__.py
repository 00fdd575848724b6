"""What kind of relation holds between A and B at time t, and why?

    from apptek import Predictor, read_dataset
    predictor = Predictor.fit(read_dataset("events.csv"))       or a frame, or a list of tuples
    predictor.predict(("North Korea", "South Korea", "2014-08-15"))
    predictor.explain(("North Korea", "South Korea", "2014-08-15"))
    predictor.forecast("North Korea", "South Korea", days=7)    whether anything happens, and what
    predictor.watch(most=20, days=7)                            the pairs whose chances change most
    predictor.save("model")

Dataset              facts in three splits: Dataset.from_frame, Dataset.from_facts, read_dataset
Evaluator            ranks any scorer, also one of your own, as our own models are ranked
PredicateClassifier  a classifier with the scikit-learn API
Predictor            fit, load, predict, explain, forecast, watch, evaluate, update, save
UnknownName          raised for a name that is not in the data; its `suggestions` are similar names
register_baseline    lets a model of your own take part in fit, evaluate, contest and search

Names are imported when they are first asked for, so that `import apptek` costs nothing.
"""

from collections.abc import Callable, Mapping
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
_HOMES = {
    "Answer": "apptek.results",
    "Dataset": "apptek.facts.facts",
    "Evaluator": "apptek.research.evaluator",
    "Explanation": "apptek.results",
    "Facts": "apptek.facts.facts",
    "Forecast": "apptek.results",
    "PredicateClassifier": "apptek.classifier",
    "Predictor": "apptek.predictor",
    "Query": "apptek.results",
    "Splitting": "apptek.facts.protocols",
    "TemporalGraph": "apptek.graph.temporal_graph",
    "UnknownName": "apptek.errors",
    "make_world": "apptek.synthetic.world",
    "read_dataset": "apptek.reading.reader",
    "register_baseline": "apptek.models.registry",
}


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that imports its names when asked for.

    homes  the module of each name
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return find, lambda: sorted(import_module(package).__all__)


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
