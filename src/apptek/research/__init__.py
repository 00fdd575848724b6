"""For researchers: the public names for your own models, features and evaluations.

    from apptek.research import Evaluator, register_baseline

Config, preset, with_settings       the settings of a model, and changes to them
Queries, training_queries, held_out_queries
                                    queries as arrays of ids
TemporalGraph, DecisionProcess      the facts by entity and time; the paper's environment
Scorer, FitTask, SavedScorer        what a baseline is, and what it is fitted and loaded from
own_baseline, register_baseline     add a baseline
check_scorer, check_baseline        does it keep the contract?
FeatureFamily, register_features, check_feature_part
                                    add features, and check them
Evaluator, compare_results          rank any scorer; compare result files

The other modules here run experiments: their result files are the source of tables and figures.
"""

from apptek import lazy_names

_HOMES = {
    "Config": "apptek.config",
    "DecisionProcess": "apptek.paper.environment",
    "Evaluator": "apptek.research.evaluator",
    "FitTask": "apptek.models.scorers",
    "Queries": "apptek.facts.queries",
    "SavedScorer": "apptek.models.scorers",
    "Scorer": "apptek.models.scorers",
    "TemporalGraph": "apptek.graph.temporal_graph",
    "check_baseline": "apptek.research.checks",
    "check_feature_part": "apptek.research.checks",
    "check_scorer": "apptek.research.checks",
    "compare_results": "apptek.research.compare",
    "held_out_queries": "apptek.facts.queries",
    "own_baseline": "apptek.models.scorers",
    "preset": "apptek.config",
    "FeatureFamily": "apptek.features.space",
    "register_baseline": "apptek.models.registry",
    "register_features": "apptek.features.space",
    "training_queries": "apptek.facts.queries",
    "with_settings": "apptek.setting_rules",
}
__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
