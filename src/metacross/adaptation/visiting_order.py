"""Chooses in which order test sentences are labeled, so that few gradients are recorded twice.

A test sentence needs the gradients of its source sentences at the same time, and memory holds only
some of them. It pays to keep source sentences that many test sentences still need, and to load next
the one that completes the supports of most of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from metacross.model.tagger import Example

_FREE = 0.5  # share of the memory for source sentences of the next stage


@dataclass(frozen=True, slots=True)
class Stage:
    """Test sentences that can be labeled while some source sentences are in memory.

    ``sources`` are all that should be there, also for later stages; ``tests`` are positions.
    """

    sources: dict[int, Example]
    tests: list[int]


def stages(
    supports: Sequence[Mapping[int, Example]], *, max_pieces: int, loaded: Iterable[int] = ()
) -> Iterator[Stage]:
    """Stages that together label all test sentences, each once.

    ``supports`` maps positions of source sentences to examples, for each test sentence. The source
    sentences of a stage have at most ``max_pieces`` pieces, unless a single support has more.
    Those of ``loaded`` are in memory before the first stage.
    """
    memory = _Memory(supports, max_pieces)
    stage_tests = memory.load(memory.needed(loaded))
    while memory.n_left:
        wanted = memory.next_sources()
        if not memory.has_room(wanted):
            if stage_tests:
                yield memory.stage(stage_tests)
                stage_tests = []
            memory.make_room(wanted)
        stage_tests += memory.load(wanted)
    if stage_tests:
        yield memory.stage(stage_tests)


class _Memory:
    """Which source sentences are in memory, and which test sentences still need which."""

    def __init__(self, supports: Sequence[Mapping[int, Example]], max_pieces: int) -> None:
        self._supports = supports
        self._max_pieces = max_pieces
        self._examples = {p: e for support in supports for p, e in support.items()}
        self._users: dict[int, set[int]] = {p: set() for p in self._examples}  # tests not labeled
        for i, support in enumerate(supports):
            for p in support:
                self._users[p].add(i)
        self._missing = [set(support) for support in supports]
        self._loaded: dict[int, None] = {}  # in order
        self._n_pieces = 0
        self._completes: Counter[int] = Counter()  # tests that lack only this source sentence
        self._best: list[tuple[float, int, int]] = []  # a heap; old entries are ignored
        self._starts = iter(self._by_users())
        self.n_left = len(supports)
        """Number of test sentences that are not labeled yet."""
        for i, missing in enumerate(self._missing):
            if len(missing) == 1:
                self._count(i)

    def _by_users(self) -> list[int]:
        """Source sentences that are still to be loaded, the most used ones first."""
        left = [p for p, users in self._users.items() if users and p not in self._loaded]
        return sorted(left, key=lambda p: -len(self._users[p]))

    def next_sources(self) -> set[int]:
        """What to load next: the source sentence that completes most supports, for its number of
        users, or else a whole support with a source sentence that many use.
        """
        while self._best:
            _, p, n_completed = heapq.heappop(self._best)
            if p not in self._loaded and n_completed == self._completes[p] > 0:
                return {p}
        for p in self._starts:
            if self._users[p] and p not in self._loaded:
                return self._missing[min(self._users[p], key=self._n_missing_pieces)].copy()
        self._starts = iter(self._by_users())  # some were evicted before all their users were done
        return self.next_sources()

    def _n_missing_pieces(self, i: int) -> tuple[int, int]:
        return self._size(self._missing[i]), i

    def _size(self, sources: Collection[int]) -> int:
        return sum(self._examples[p].n_pieces for p in sources)

    def needed(self, sources: Iterable[int]) -> list[int]:
        """Those of some source sentences that are in supports."""
        return [p for p in sources if p in self._users]

    def has_room(self, wanted: Collection[int]) -> bool:
        """Whether some source sentences fit into memory beside those that are there."""
        return self._n_pieces + self._size(wanted) <= self._max_pieces

    def make_room(self, wanted: set[int]) -> None:
        """Evict source sentences, those with the fewest users left first, until a good part of the
        memory is free; but keep those of a support that lacks just ``wanted``.
        """
        completed = [i for p in wanted for i in self._users[p] if self._missing[i] == wanted]
        keep = {p for i in completed[:1] for p in self._supports[i]}
        by_users = sorted(self._loaded.keys() - keep, key=lambda p: len(self._users[p]))
        max_kept = min((1 - _FREE) * self._max_pieces, self._max_pieces - self._size(wanted))
        for p in by_users:
            if self._users[p] and self._n_pieces <= max_kept:
                break
            self._evict(p)

    def _evict(self, source: int) -> None:
        del self._loaded[source]
        self._n_pieces -= self._examples[source].n_pieces
        for i in self._users[source]:
            if len(self._missing[i]) == 1:
                (p,) = self._missing[i]
                self._completes[p] -= 1
                self._rank(p)
            self._missing[i].add(source)
            if len(self._missing[i]) == 1:
                self._count(i)

    def load(self, sources: Collection[int]) -> list[int]:
        """Put source sentences into memory; returns the test sentences that can now be labeled."""
        complete = []
        for source in sources:
            self._loaded[source] = None
            self._n_pieces += self._examples[source].n_pieces
            self._completes[source] = 0
            for i in self._users[source]:
                self._missing[i].discard(source)
                if len(self._missing[i]) == 1:
                    self._count(i)
                elif not self._missing[i]:
                    complete.append(i)
        for i in complete:
            for p in self._supports[i]:
                self._users[p].discard(i)
        self.n_left -= len(complete)
        return sorted(complete)

    def _count(self, i: int) -> None:
        """Note the one source sentence that a test sentence lacks."""
        (p,) = self._missing[i]
        self._completes[p] += 1
        self._rank(p)

    def _rank(self, p: int) -> None:
        n = self._completes[p]
        if n:
            heapq.heappush(self._best, (-(n**2) / len(self._users[p]), p, n))

    def stage(self, tests: list[int]) -> Stage:
        """These test sentences with everything that is in memory."""
        return Stage({p: self._examples[p] for p in self._loaded}, tests)
