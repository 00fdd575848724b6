"""Compile the kernels once, before several test processes would each compile them.

`make check` runs it in parallel with the type checker if there is no cache of kernels yet.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

CACHE = Path(__file__).parents[1] / ".numba_cache"  # as in conftest.py


def main() -> None:
    """Fit and ask small models of every preset."""
    os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHE))
    from apptek.config import preset
    from apptek.predictor import Predictor
    from apptek.setting_rules import with_settings
    from apptek.synthetic.world import make_world

    data = make_world(600, 0).dataset
    few = {
        "default": [],
        "paper": ["agent.epochs=0.2", "classifier.epochs=1"],
        "max": ["reranker.rounds=2", "classifier.epochs=1"],
    }
    with TemporaryDirectory() as place:
        for name, settings in few.items():
            folder = Path(place, name)
            config = with_settings(preset(name), settings)
            Predictor.fit(data, folder=folder, model=name, config=config)
            predictor = Predictor.load(folder)
            pair = (
                data.entities[int(data.test.subjects[0])],
                data.entities[int(data.test.objects[0])],
            )
            predictor.explain((*pair, data.axis.format(int(data.test.times[0]))))
            predictor.evaluate("test")
            if name == "default":
                predictor.forecast(*pair)
                predictor.counterfactual((*pair, data.axis.format(int(data.test.times[0]))))
    Predictor.fit(data, model="recency").evaluate("test")


if __name__ == "__main__":
    main()
