"""For researchers: the public names for your own models, features and evaluations.

    from apptek.research import Evaluator, register_baseline

Config, preset, with_settings       the settings of a model, and changes to them
Queries, training_queries, held_out_queries
                                    queries as arrays of ids
TemporalGraph, DecisionProcess      the facts by entity and time; the paper's environment
Scorer, FitTask, SavedScorer        what a baseline is, and what it is fitted and loaded from
own_baseline, register_baseline     add a baseline
check_scorer, check_baseline        check that a scorer or baseline keeps the contract
FeatureFamily, register_features, check_feature_part
                                    add features, and check them
Evaluator, compare_results          rank any scorer, and compare result files

The other modules here run experiments: their result files are the source of tables and figures.
"""

from itertools import chain

from apptek import lazy_names

_MODULES = {
    "apptek.config": ("Config", "preset"),
    "apptek.paper.environment": ("DecisionProcess",),
    "apptek.research.evaluator": ("Evaluator",),
    "apptek.models.scorers": ("FitTask", "SavedScorer", "Scorer", "own_baseline"),
    "apptek.facts.queries": ("Queries", "held_out_queries", "training_queries"),
    "apptek.graph.temporal_graph": ("TemporalGraph",),
    "apptek.research.checks": ("check_baseline", "check_feature_part", "check_scorer"),
    "apptek.research.compare": ("compare_results",),
    "apptek.features.space": ("FeatureFamily", "register_features"),
    "apptek.models.registry": ("register_baseline",),
    "apptek.setting_rules": ("with_settings",),
}
__all__ = list(chain.from_iterable(_MODULES.values()))
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
