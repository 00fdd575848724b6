"""The Markov decision process and its episodes: many at once, as flat arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Ints, Words, read_only
from apptek.compiling import in_threads
from apptek.config import AgentConfig
from apptek.errors import ApptekError
from apptek.facts.queries import Queries, QueryColumns, held_out_queries, training_queries
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.episode_kernels import DROP, KEEP, START, Moves, State, advance, members_of
from apptek.paper.states import MARKS, States
from apptek.seeding import generator

CHUNK = 2048  # episodes per thread task


@dataclass(frozen=True, slots=True)
class DecisionProcess:
    """The paper's Markov decision process: a graph, and the settings for episodes on it.

    The settings determine which facts of an entity are visible (tknn, traversal) and when an
    episode is rewarded.
    """

    graph: TemporalGraph
    config: AgentConfig

    @property
    def action_count(self) -> int:
        """The number of actions: every predicate is an action."""
        return self.graph.predicate_count

    def moves(self) -> Moves:
        """Return the data that the kernels need to expand a side."""
        graph, config = self.graph, self.config
        directions = graph.directions(config.traversal, strict=config.tknn_strict)
        columns, count = graph.columns(), graph.predicate_count
        literal = int(config.reward == "literal")
        return Moves(graph.incidence, columns, directions, count, literal)

    def kernel_queries(self, queries: Queries) -> QueryColumns:
        """Convert queries for the kernels. Raise ApptekError if an entity is out of range.

        The kernels do not check bounds, so they would read memory outside the arrays.
        """
        count = self.graph.entity_count
        for entities in (queries.subjects, queries.objects):
            if entities.max(initial=-1) >= count:
                raise ApptekError(
                    f"a query has entity {entities.max()}, but there are only {count}"
                )
        return queries.for_kernels(self.graph.axis)

    def training_queries(self) -> Queries:
        """Return one query per fact in the graph; the fact is hidden if the settings require it."""
        facts = self.graph.facts
        return training_queries(facts) if self.config.hide_query else held_out_queries(facts)


class Environment:
    """B parallel episodes. `step` expands both sides of each episode by its action.

    edges  (B, actions): the number of edges per action in the two peripheries; 0 after the end
    done   (B,): the sides have met, max_steps actions were taken, or nothing is left to expand
    met    (B,): whether the sides have met so far; `step` returns the reward
    steps  (B,): number of actions taken so far
    """

    def __init__(self, process: DecisionProcess, queries: Queries) -> None:
        self._process, count = process, len(queries)
        self._moves, self._queries = process.moves(), process.kernel_queries(queries)
        offsets, nothing = np.zeros(2 * count + 1, np.int32), np.empty(0, np.int32)
        self._state: State = (offsets, nothing, offsets, nothing, offsets, nothing)
        self.edges: Ints = np.zeros((count, process.action_count), np.int32)
        self.done: Bools = np.zeros(count, np.bool_)
        self.met: Bools = np.zeros(count, np.bool_)
        self.steps: Ints = np.zeros(count, np.int32)
        self._advance(np.full(count, START, np.int32))

    def __len__(self) -> int:
        return len(self.done)

    @property
    def legal(self) -> Bools:
        """(B, actions): which predicates occur in the periphery of either side."""
        return np.greater(self.edges, 0)

    def step(self, actions: npt.ArrayLike) -> Bools:
        """Take an action in every running episode; return which episodes are rewarded.

        The action KEEP leaves an episode unchanged.
        """
        chosen = np.asarray(actions, np.int32)
        if chosen.shape != self.done.shape:
            raise ApptekError(
                f"expected {len(self)} actions, one per episode, found {chosen.shape}"
            )
        going = ~self.done & (chosen != KEEP)
        if not self.edges[going, chosen[going]].all():
            raise ApptekError("an action is not legal: no such predicate in either periphery")
        self.steps += going
        return self._advance(np.where(self.done, np.int32(DROP), chosen))

    def restart(self, slots: npt.NDArray[np.intp], queries: Queries) -> None:
        """Start new queries in these slots; leave the other episodes unchanged."""
        columns = [column.copy() for column in self._queries]
        for column, new in zip(columns, self._process.kernel_queries(queries), strict=True):
            column[slots] = new
            read_only(column)
        self._queries = (columns[0], columns[1], columns[2], columns[3])
        actions = np.where(self.done, DROP, KEEP).astype(np.int32)
        actions[slots] = START
        self.steps[slots], self.met[slots] = 0, False
        self._advance(actions)

    def states(self, pair_of_fact: Ints) -> States:
        """Return the states for the network: the pairs in the core and periphery of each side.

        A pair consists of a predicate and a time. The pairs have marks if the settings request
        them.
        """
        process, facts = self._process, self._moves.facts
        marks = 1 if process.config.fingerprint == "paper" else MARKS
        return States(
            *members_of(self._state, facts, process.graph.entity_count, pair_of_fact, marks)
        )

    def side(self, row: int) -> tuple[Ints, Ints, Ints]:
        """Return entities, core facts and periphery facts for row 2b (subject) or 2b + 1."""
        rows = iter(self._state)
        parts = [
            numbers[offsets[row] : offsets[row + 1]]
            for offsets, numbers in zip(rows, rows, strict=True)
        ]
        return parts[0], parts[1], parts[2]

    @property
    def nbytes(self) -> int:
        """The memory that the episodes currently use, in bytes."""
        return sum(array.nbytes for array in (*self._state, *self._queries, self.edges))

    def _advance(self, actions: Ints) -> Bools:
        """Apply these actions; return which episodes met as a result."""
        rewarded = np.zeros(len(self), np.bool_)
        k, state = self._process.config.tknn, self._state
        self._state = advance(self._moves, k, self._queries, actions, state, self.edges, rewarded)
        exhausted = ~self.edges.any(axis=1)
        self.met = self.met | rewarded
        self.done = self.met | exhausted | (self.steps >= self._process.config.max_steps)
        self.edges[self.done] = 0
        return rewarded


class Episodes(NamedTuple):
    """Finished episodes: whether the sides met, and which actions were taken."""

    met: Bools  # (n,)
    trail: Ints  # (n, max_steps) actions, -1 after the last
    legal_counts: Ints  # (n, max_steps) legal actions before each step, 0 after the last


Choose = Callable[[Environment], Ints]  # an action per episode; ignored for finished ones


def play_in_chunks(
    process: DecisionProcess,
    queries: Queries,
    policy: Callable[[int], Choose],
    *,
    chunk: int,
    threads: int | None = None,
) -> Episodes:
    """Play episodes to their end in chunks, using threads.

    policy  maps the index of a chunk's first episode to the function that chooses actions
    """

    def play_chunk(start: int) -> Episodes:
        rows = np.arange(start, min(start + chunk, len(queries)))
        environment, choose = Environment(process, queries.take(rows)), policy(start)
        trail = np.full((len(rows), process.config.max_steps), -1, np.int32)
        legal_counts = np.zeros_like(trail)
        while not environment.done.all():
            going = np.flatnonzero(~environment.done)
            actions, taken = choose(environment), environment.steps[going]
            trail[going, taken] = actions[going]
            legal_counts[going, taken] = np.count_nonzero(environment.legal[going], axis=1)
            environment.step(actions)
        return Episodes(environment.met, trail, legal_counts)

    nothing = np.empty((0, process.config.max_steps), np.int32)
    played = in_threads(play_chunk, range(0, len(queries), chunk), threads)
    parts = [Episodes(np.zeros(0, np.bool_), nothing, nothing), *played]
    return Episodes(*map(np.concatenate, zip(*parts, strict=True)))


def play(
    process: DecisionProcess,
    queries: Queries,
    policy: Literal["random", "commonest"],
    *,
    seed: int = 0,
    threads: int | None = None,
) -> Episodes:
    """Play episodes to their end with a control policy: random, or the action with the most edges.

    Each episode has its own random stream, so threads and chunks do not affect the result.
    """
    seeds = generator(seed, "episodes").integers(0, 2**64, len(queries), np.uint64)

    def random(start: int) -> Choose:
        words = seeds[start : start + CHUNK].copy()

        def choose(environment: Environment) -> Ints:
            legal = environment.legal
            # The high 32 bits times the count, divided by 2^32: uniform, without a modulo
            # operation.
            shares = (next_words(words) >> np.uint64(32)) * legal.sum(axis=1, dtype=np.uint64)
            return nth_legal(legal, shares >> np.uint64(32))

        return choose

    def commonest(_: int) -> Choose:
        return lambda environment: environment.edges.argmax(axis=1).astype(np.int32)

    chosen = {"random": random, "commonest": commonest}[policy]
    return play_in_chunks(process, queries, chosen, chunk=CHUNK, threads=threads)


def next_words(words: Words) -> Words:
    """Return the next number of each splitmix64 stream; advance the streams in place."""
    words += np.uint64(0x9E3779B97F4A7C15)
    mixed: Words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def nth_legal(legal: Bools, skipped: npt.NDArray[Any]) -> Ints:
    """Return the legal action with index `skipped` in each row, (B,); 0 if none is legal."""
    ranks = np.cumsum(legal, axis=1, dtype=np.int32)  # (B, actions)
    # Use the same type as the ranks: numpy is ten times slower with different types.
    actions: Ints = (ranks > skipped[:, None].astype(np.int32)).argmax(axis=1).astype(np.int32)
    return actions
