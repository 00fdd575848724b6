"""What kind of relation holds between A and B at time t, and why?

    from apptek import Predictor, Query, read_dataset
    predictor = Predictor.fit(read_dataset("icews14"), preset="paper")
    predictor.predict([Query("North Korea", "South Korea", "2014-08-15")])

Names are imported when they are first asked for, so that `import apptek` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from apptek.data.facts import Dataset, Facts
    from apptek.data.reading.reader import read_dataset
    from apptek.data.splitting import Splitting
    from apptek.data.synthetic.world import make_world
    from apptek.graph.temporal_graph import TemporalGraph
    from apptek.predictor import Predictor, Query

__version__ = "0.1.0"
__all__ = [
    "Dataset",
    "Facts",
    "Predictor",
    "Query",
    "Splitting",
    "TemporalGraph",
    "__version__",
    "make_world",
    "read_dataset",
]
_HOMES = {
    "Dataset": "apptek.data.facts",
    "Facts": "apptek.data.facts",
    "Predictor": "apptek.predictor",
    "Query": "apptek.predictor",
    "Splitting": "apptek.data.splitting",
    "TemporalGraph": "apptek.graph.temporal_graph",
    "make_world": "apptek.data.synthetic.world",
    "read_dataset": "apptek.data.reading.reader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'apptek' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
