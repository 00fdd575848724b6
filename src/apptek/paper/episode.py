"""One episode, step by step: by a trained agent, or by the random control."""

from dataclasses import dataclass

from apptek.facts.queries import Queries
from apptek.paper.environment import DecisionProcess, Episodes, play


@dataclass(frozen=True, slots=True)
class Episode:
    """What was played for one query."""

    policy: str  # trained or random
    actions: tuple[int, ...]
    choices: tuple[int, ...]  # the legal actions before each step
    met: bool


def play_episode(
    process: DecisionProcess, query: Queries, weights: bytes | None, *, seed: int = 0
) -> Episode:
    """Play the first query: greedily by the network of these weights, which needs torch.

    Without weights, the actions are random.
    """
    if weights is None:
        return _first("random", play(process, query, "random", seed=seed))
    from safetensors.torch import load

    from apptek.paper.controls import play_greedily
    from apptek.paper.dqn import FrozenPolicy, build_network
    from apptek.paper.states import pair_table
    from apptek.seeding import generator

    graph, table = process.graph, pair_table(process.graph.facts)
    sizes = (graph.predicate_count, process.action_count)
    network = build_network(table, *sizes, process.config, rng=generator(0, "network"))
    network.load_state_dict(load(weights))
    return _first(
        "trained", play_greedily(process, query, FrozenPolicy(network), table.pair_of_fact)
    )


def _first(policy: str, episodes: Episodes) -> Episode:
    steps = int((episodes.trail[0] >= 0).sum())
    actions, choices = episodes.trail[0, :steps].tolist(), episodes.legal_counts[0, :steps].tolist()
    return Episode(policy, tuple(actions), tuple(choices), bool(episodes.met[0]))
