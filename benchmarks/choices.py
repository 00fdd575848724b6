"""Measure which open choices bring our numbers closer to those that the paper prints.

    python -m benchmarks.choices icews14 --result choices-icews14-seed0.json
    python -m benchmarks.choices icews14 --model tnt_complex --result choices-tnt.json

Every trial changes something that the paper leaves open, under the paper's protocol. It ranks the
test set in four ways: filtered or raw, with the expected or the worst rank over ties. None of the
changes is part of the product. Trials that are already in the result file are skipped.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from apptek.arrays import Doubles, Floats, Ints
from apptek.baselines.embedding import EmbeddingTrainer, choose_device, embedding_scores
from apptek.baselines.tnt_complex import PRESETS, TntComplEx, TntComplExSettings
from apptek.compiling import limit_threads
from apptek.config import Config, preset
from apptek.evaluation.filters import known_predicates
from apptek.evaluation.ranking import expected_ranks, metrics_of
from apptek.extras import one_torch_thread
from apptek.facts.facts import Dataset
from apptek.facts.protocols import apply_protocol
from apptek.facts.queries import Queries, askable, held_out_queries, training_queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.fitting.examples import Examples
from apptek.models.fitting.linear_fit import fit_linear_softmax
from apptek.paper.agent import Agent
from apptek.paper.application import apply_topologies
from apptek.paper.environment import DecisionProcess, Episodes, play
from apptek.paper.topologies import TopologySet, mine, topology_set
from apptek.paper.trainer import Trainer
from apptek.ragged import Ragged
from apptek.reading.reader import read_dataset
from apptek.research.result import Result, plain_settings, read_result, write_result
from apptek.seeding import generator
from apptek.setting_rules import with_settings

Score = Callable[[], Floats]  # returns the scores of all predicates for the test queries
EVERYTHING = 10**9  # number of topologies per predicate: all of them
LETTER = ("agent.reward=literal", "agent.tknn_strict=true", "agent.traversal=outgoing")
UNREGULARISED = ("model.n3=0", "model.smoothness=0")


def main() -> None:
    """Run the missing trials of a model, and write the result after each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--model", choices=("paper", "tnt_complex"), default="paper")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--result", type=Path, required=True)
    options = parser.parse_args()
    limit_threads(1)
    data = apply_protocol(read_dataset(options.data).labelled(), "paper")
    config, trials = {
        "paper": (preset("paper"), topology_trials),
        "tnt_complex": (PRESETS["paper"], embedding_trials),
    }[options.model]
    done = read_result(options.result).extras["trials"] if options.result.exists() else {}
    for name, score in trials(data, options.seed).items():
        if name in done:
            continue
        done[name] = ranked(data, score())
        sys.stdout.write(f"{name}: {done[name]['filtered']['mrr']:.4f}\n")
        sys.stdout.flush()
        result = Result(
            model="choices",
            dataset=data.name,
            protocol="paper",
            split="test",
            seed=options.seed,
            settings=plain_settings(config),
            metrics=done["ours"]["filtered"],
            extras={"of": options.model, "trials": done},
        )
        write_result(options.result, result)


def ranked(data: Dataset, scores: Floats) -> dict[str, Any]:
    """Return the metrics for each way to rank the test set."""
    truths, everything = data.test.predicates, (data.train, data.valid, data.test)
    filters = {
        "filtered": known_predicates(data.test, everything),
        "raw": Ragged.empty(len(truths)),
    }
    metrics = {}
    for name, known in filters.items():
        metrics[name] = expected_ranks(scores, truths, known)
        metrics[f"{name}, pessimistic"] = worst_ranks(scores, truths, known)
    return {name: asdict(found) for name, ranks in metrics.items() if (found := metrics_of(ranks))}


def worst_ranks(scores: Floats, truths: Ints, known: Ragged) -> Doubles:
    """Return the rank of each true predicate if all others with the same score precede it."""
    true_scores = np.take_along_axis(scores, truths[:, None].astype(np.int64), axis=1)
    equal_or_better = scores >= true_scores
    equal_or_better[known.row_of_each, known.columns] = False
    ranks: Doubles = equal_or_better.sum(axis=1).astype(np.float64)
    return ranks


def topology_trials(data: Dataset, seed: int) -> dict[str, Score]:
    """Return the trials of the paper's model by name."""
    method = Method(data, preset("paper"), seed)
    no_choice = {"classifier.l2": [0.0]}
    letter = Method(data, with_settings(preset("paper"), LETTER), seed)
    found = method.found
    together = {**no_choice, "classifier.epochs": 1}
    return {
        "ours": lambda: method.scores(found()),
        "other true predicates not masked": lambda: method.scores(found(), masked=False),
        "no early stop, no L2": lambda: method.scores(found(), no_choice, tuned=False),
        "one pass": lambda: method.scores(found(), {"classifier.epochs": 1}),
        "random m": lambda: method.scores(method.drawn()),
        "all of these": lambda: method.scores(method.drawn(), together, masked=False, tuned=False),
        "greedy agent": lambda: method.scores(method.mined(epsilon=0.0)),
        "random policy": lambda: method.scores(method.of_random()),
        "equations to the letter": lambda: letter.scores(letter.found()),
        "own fact seen in training": lambda: method.scores(found(), hidden=False),
        "all, own fact seen in training": lambda: method.scores(
            method.drawn(), together, masked=False, tuned=False, hidden=False
        ),
    }


class Method:
    """The paper's model on one data set: its agent, its topologies, and fits that use them."""

    def __init__(self, data: Dataset, config: Config, seed: int) -> None:
        self.data, self.config, self.seed = data, config, seed
        self.process = DecisionProcess(TemporalGraph.of(data), config.agent)
        self.queries = training_queries(data.train)
        self.agent, self.features = cache(self._agent), cache(self._features)

    @one_torch_thread()
    def _agent(self) -> Agent:
        trainer = Trainer(self.process, self.queries, seed=self.seed)
        while not trainer.finished:
            trainer.step()
        return trainer.agent()

    def rollouts(self, epsilon: float) -> list[Episodes]:
        """Return the agent's episodes on the training queries."""
        return [
            self.agent().play(self.queries, epsilon=epsilon, seed=self.seed + number)
            for number in range(self.config.mining.rollouts)
        ]

    def found(self) -> TopologySet:
        """Return the topologies of `fit --model paper`."""
        return self.mined(epsilon=self.config.mining.epsilon)

    def mined(self, *, epsilon: float) -> TopologySet:
        """Return an agent's most frequent topologies, with this proportion of random actions."""
        top, predicates = self.config.mining.top, self.data.train.predicates
        return topology_set(mine(self.rollouts(epsilon), predicates, top).sequences())

    def of_random(self) -> TopologySet:
        """Return the most frequent topologies of random episodes."""
        episodes = (
            play(self.process, self.queries, "random", seed=self.seed + number)
            for number in range(self.config.mining.rollouts)
        )
        mined = mine(episodes, self.data.train.predicates, self.config.mining.top)
        return topology_set(mined.sequences())

    def drawn(self) -> TopologySet:
        """Return m topologies for each predicate, drawn from all that connected."""
        rollouts = self.rollouts(self.config.mining.epsilon)
        mined = mine(rollouts, self.data.train.predicates, EVERYTHING)
        rng, sequences = generator(self.seed, "random m"), set()
        for predicate in range(len(self.data.predicates)):
            connecting = [
                found.sequence for found in mined.topologies if found.predicate == predicate
            ]
            kept = rng.permutation(len(connecting))[: self.config.mining.top]
            sequences |= {connecting[row] for row in kept}
        return topology_set(sequences)

    def _features(self, sequences: tuple[tuple[int, ...], ...], split: str) -> Ragged:
        queries: dict[str, Queries] = {
            "train": self.queries,
            "train, own fact seen": held_out_queries(self.data.train),
            "valid": held_out_queries(self.data.valid),
            "test": held_out_queries(self.data.test),
        }
        return apply_topologies(self.process, queries[split], topology_set(sequences))

    def scores(
        self,
        found: TopologySet,
        changed: Mapping[str, Any] | None = None,
        *,
        masked: bool = True,
        tuned: bool = True,
        hidden: bool = True,
    ) -> Floats:
        """Return the scores of the test queries after a fit with these features.

        masked  whether other true predicates of a training query are masked in the loss
        tuned   whether the L2 strength and the epoch are chosen on the validation set
        hidden  whether a training query's own fact is hidden from it
        """
        data, rows = self.data, askable(self.data.train).astype(np.int64)
        facts = data.train.take(rows)
        features = self.features(found.sequences, "train" if hidden else "train, own fact seen")
        others = known_predicates(facts, (data.train,)) if masked else Ragged.empty(len(facts))
        valid = Examples(
            self.features(found.sequences, "valid"),
            data.valid.predicates,
            known_predicates(data.valid, (data.train, data.valid, data.test)),
        )
        texts = [f"{key}={value}" for key, value in (changed or {}).items()]
        classifier, _ = fit_linear_softmax(
            [Examples(features.take(rows), facts.predicates, others)],
            valid if tuned else None,
            class_count=len(data.predicates),
            config=with_settings(self.config, texts).classifier,
            rng=generator(self.seed, "classifier"),
        )
        return classifier.scores(self.features(found.sequences, "test"))


def embedding_trials(data: Dataset, seed: int) -> dict[str, Score]:
    """Return the trials of TNTComplEx by name."""
    changes: dict[str, tuple[tuple[str, ...], dict[str, bool]]] = {
        "ours": ((), {}),
        "no bias": ((), {"bias": False}),
        "no unknown entities": (("training.unseen_share=0",), {}),
        "no early stop": (("training.patience=30",), {"best": False}),
        "one pass": (("training.epochs=1",), {}),
        "no regularisation": (UNREGULARISED, {}),
        "objective of its authors": (("training.objective=entities",), {}),
        "all of these": (
            ("training.unseen_share=0", "training.epochs=1", *UNREGULARISED),
            {"bias": False},
        ),
        "all, objective of its authors": (
            (
                "training.unseen_share=0", "training.epochs=1", *UNREGULARISED,
                "training.objective=entities",
            ),
            {"bias": False},
        ),
    }  # fmt: skip
    return {
        name: partial(
            embedding_test_scores, data, with_settings(PRESETS["paper"], texts), seed, **how
        )
        for name, (texts, how) in changes.items()
    }


@one_torch_thread()
def embedding_test_scores(
    data: Dataset, settings: TntComplExSettings, seed: int, *, bias: bool = True, best: bool = True
) -> Floats:
    """Return TNTComplEx's scores for the test queries.

    bias  whether each predicate has a bias
    best  whether to use the epoch with the best validation ranks instead of the last epoch
    """
    model = TntComplEx(TemporalGraph.of(data), settings.model, rng=generator(seed, "embedding"))
    model.bias.requires_grad_(bias)
    trainer = EmbeddingTrainer(model, data, settings.training, seed=seed, device=choose_device())
    while not trainer.finished:
        trainer.run_epoch()
    if best:
        model.load_state_dict(trainer.record.best_weights)
    with torch.no_grad():
        return embedding_scores(model, held_out_queries(data.test))


if __name__ == "__main__":
    main()
