"""The replay memory D: the last transitions, in flat arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools, Floats, Ints
from apptek.errors import ApptekError
from apptek.paper.states import States, gather

Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B transitions. A finished episode has no next state: both sides of it are empty."""

    states: States
    actions: Ints  # (B,)
    rewards: Floats  # (B,)
    next_states: States
    next_legal: Bools  # (B, actions)
    done: Bools  # (B,)


class Queue:
    """Rows of a flat array: new ones join at the end, the oldest leave at the front.

    When the array is full, the rows that are left move to the front of it, or of a larger one.
    There is always room for as many again, so that a row is moved about once.
    """

    __slots__ = ("_array", "_begin", "_end", "left")

    def __init__(self, dtype: npt.DTypeLike, *shape: int) -> None:
        self._array = np.empty((16, *shape), dtype)
        self._begin = self._end = 0
        self.left = 0  # rows that have left since the beginning

    @property
    def alive(self) -> npt.NDArray[Any]:
        """A view of the rows, oldest first, until the next join."""
        return self._array[self._begin : self._end]

    def join(self, rows: npt.NDArray[Any]) -> None:
        """Appends rows. O(their number), amortised."""
        if self._end + len(rows) > len(self._array):
            self._make_room(len(rows))
        self._array[self._end : self._end + len(rows)] = rows
        self._end += len(rows)

    def leave(self, count: int) -> None:
        """Forgets the oldest rows. O(1)."""
        self._begin += count
        self.left += count

    def _make_room(self, count: int) -> None:
        alive = self.alive
        needed = len(alive) + count
        if 2 * needed > len(self._array):
            self._array = np.empty((4 * needed, *alive.shape[1:]), alive.dtype)
        self._array[: len(alive)] = alive
        self._begin, self._end = 0, len(alive)


class StateQueue:
    """States, oldest first: their members in one queue, their starts and sizes in others."""

    __slots__ = ("_members", "_sizes", "_starts")

    def __init__(self) -> None:
        self._members = Queue(np.int32)
        self._starts = Queue(np.int64)  # counted from the very first member: they never change
        self._sizes = Queue(np.int64, 2)

    def __len__(self) -> int:
        return len(self._starts.alive)

    def join(self, states: States) -> None:
        """Appends states."""
        before = self._members.left + len(self._members.alive)
        self._members.join(states.members)
        self._starts.join(states.offsets[:-1:2] + before)
        self._sizes.join(states.sizes())

    def leave(self, count: int) -> None:
        """Forgets the oldest states."""
        self._members.leave(int(self._sizes.alive[:count].sum()))
        self._starts.leave(count)
        self._sizes.leave(count)

    def take(self, rows: npt.NDArray[np.int64]) -> States:
        """Copies of the states of these rows, in that order."""
        starts = self._starts.alive[rows] - self._members.left
        return gather(self._members.alive, starts, self._sizes.alive[rows])


class Replay:
    """The last `capacity` transitions, oldest first, whose states are ragged."""

    def __init__(self, capacity: int, action_count: int) -> None:
        self.capacity = capacity
        self._states = StateQueue()
        self._next_states = StateQueue()
        self._actions = Queue(np.int32)
        self._rewards = Queue(np.float32)
        self._next_legal = Queue(np.bool_, action_count)
        self._done = Queue(np.bool_)

    def __len__(self) -> int:
        return len(self._actions.alive)

    def add(
        self,
        states: States,
        actions: Ints,
        rewards: npt.NDArray[np.floating[Any]],
        next_states: States,
        next_legal: Bools,
        done: Bools,
    ) -> None:
        """Appends B transitions and drops the oldest ones. A done one has no next state to keep."""
        columns = (states, actions, rewards, next_states, next_legal, done)
        if any(len(column) != len(done) for column in columns):
            raise ValueError(f"a batch of {[len(column) for column in columns]} rows")
        self._states.join(states)
        self._next_states.join(next_states.without(done))
        for queue, rows in zip(self._columns(), (actions, rewards, next_legal, done), strict=True):
            queue.join(rows)
        self._forget(len(self) - self.capacity)

    def _forget(self, count: int) -> None:
        for queue in (self._states, self._next_states, *self._columns()):
            queue.leave(max(0, count))

    def _columns(self) -> tuple[Queue, Queue, Queue, Queue]:
        return self._actions, self._rewards, self._next_legal, self._done

    def sample(self, count: int, *, rng: np.random.Generator) -> Batch:
        """Transitions drawn uniformly and with replacement."""
        if not len(self):
            raise ValueError("an empty replay memory has nothing to draw from")
        return self._take(rng.integers(len(self), size=count))

    def _take(self, rows: npt.NDArray[np.int64]) -> Batch:
        actions, rewards, next_legal, done = (queue.alive[rows] for queue in self._columns())
        return Batch(
            states=self._states.take(rows),
            actions=actions,
            rewards=rewards,
            next_states=self._next_states.take(rows),
            next_legal=next_legal,
            done=done,
        )

    def state_dict(self) -> Arrays:
        """Copies of all transitions, oldest first: everything that later samples depend on."""
        batch = self._take(np.arange(len(self)))
        return {
            "members": batch.states.members,
            "offsets": batch.states.offsets,
            "actions": batch.actions,
            "rewards": batch.rewards,
            "next_members": batch.next_states.members,
            "next_offsets": batch.next_states.offsets,
            "next_legal": batch.next_legal,
            "done": batch.done,
        }

    def load_state_dict(self, state: Arrays) -> None:
        """Replaces the transitions by those of a `state_dict`; ApptekError if it does not fit."""
        own = self.state_dict()
        for name in sorted(own.keys() | state.keys()):
            if name not in own or name not in state:
                raise ApptekError(f"replay memory: {name} is missing or unknown")
            stored, expected = state[name], own[name]
            if stored.dtype != expected.dtype or stored.shape[1:] != expected.shape[1:]:
                raise ApptekError(
                    f"replay memory: {name} is {stored.dtype}{stored.shape[1:]}, expected"
                    f" {expected.dtype}{expected.shape[1:]}"
                )
        states = _states(state["members"], state["offsets"])
        next_states = _states(state["next_members"], state["next_offsets"])
        actions, rewards, next_legal, done = columns = [
            state[name] for name in ("actions", "rewards", "next_legal", "done")
        ]
        if {len(next_states), *map(len, columns)} != {len(states)}:
            raise ApptekError("replay memory: its columns are not equally long")
        self._forget(len(self))
        self.add(states, actions, rewards, next_states, next_legal, done)


def _states(members: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> States:
    complete = len(offsets) % 2 == 1 and offsets[0] == 0 and offsets[-1] == len(members)
    if not complete or (np.diff(offsets) < 0).any():
        raise ApptekError("replay memory: the offsets of its states are damaged")
    return States(members, offsets)
