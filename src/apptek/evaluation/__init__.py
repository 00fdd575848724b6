"""How good a scorer is: ranks, filters, groups of queries and calibration, for any model.

    from apptek.evaluation import Evaluator
    Evaluator("icews14").evaluate(scorer, name="mine").save("mine.json")

The Evaluator also knows our own models and writes result files: its home is `research`.
"""

from importlib import import_module
from typing import Any

__all__ = ["Evaluator"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'apptek.evaluation' has no attribute {name!r}")
    # By its name: rooms below import nothing from those above.
    return getattr(import_module("apptek.research.evaluator"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
