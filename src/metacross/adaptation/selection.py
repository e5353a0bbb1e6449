"""Chooses the sentences that are worth labeling next."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.errors import DataError, SettingsError
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence

_CHUNK = 512  # sentences that are labeled together
_COPY_SIMILARITY = 0.95
_CANDIDATES = 4  # times the number of sentences: what diversity chooses from

Floats = NDArray[np.float32]
Progress = Callable[[int], None]


class SelectBy(str, Enum):
    """How sentences are chosen."""

    MIXED = "mixed"
    DISAGREEMENT = "disagreement"
    UNCERTAINTY = "uncertainty"
    FAR = "far"
    DIVERSE = "diverse"
    RANDOM = "random"

    def __str__(self) -> str:
        return self.value


DEFAULT_WAY = SelectBy.UNCERTAINTY
"""What won in ``metacross experiment active`` (docs/results.md)."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A sentence that is worth labeling, with what the model finds in it.

    Args:
        rank: 1 is the most worthwhile.
        position: Its position in the pool.
        prediction: The entities that the model proposes.
        reasons: What was measured: ``disagreement`` is the mean Jensen-Shannon divergence between
            the tag probabilities without and with adaptation (bits per word), ``uncertainty`` is 1
            minus the least margin between the two best tags of a word, ``far`` is 1 minus the
            similarity of the nearest source or remembered sentence. Empty for random choice.
    """

    rank: int
    position: int
    prediction: SentencePrediction
    reasons: dict[str, float] = field(default_factory=dict)

    @property
    def sentence(self) -> Sentence:
        """The sentence without labels."""
        return self.prediction.sentence


def select(
    model: NerModel,
    pool: Corpus | str | Path,
    *,
    n: int,
    by: SelectBy | str = DEFAULT_WAY,
    labeled: Iterable[Sentence] = (),
    seed: int = 0,
    progress: Progress = lambda _n_done: None,
) -> list[Selected]:
    """Choose ``n`` sentences of a pool to label next, the most worthwhile first.

    Args:
        model: The model that is to learn from them.
        pool: Text of the target language. Labels in it are not looked at.
        n: How many to choose; fewer if the pool has fewer different sentences.
        by: ``"mixed"`` (rank sum of disagreement, uncertainty and distance, then diverse ones among
            the best), ``"disagreement"`` between plain and adapted predictions,
            ``"uncertainty"``, ``"far"`` from all source sentences, ``"diverse"`` (far from each
            other) or ``"random"``.
        labeled: Sentences that are labeled already; they are not chosen again, nor are those that
            the model remembers.
        seed: Seed of random choices.
        progress: Called with the number of sentences that were looked at.

    >>> str(SelectBy("far"))
    'far'
    """
    by = _checked_way(by, model)
    corpus = pool if isinstance(pool, Corpus) else read_corpus(pool)
    if n < 1:
        raise SettingsError(f"n: expected at least 1 sentence, found {n}")
    positions = _different(corpus, [*labeled, *(item.sentence for item in model.remembered)])
    if not positions:
        raise DataError(f"{corpus.name}: expected sentences that are not labeled yet, found none")
    candidates = [corpus[position].with_spans(None) for position in positions]
    measured = _Measures.of(model, candidates, by, progress)
    vectors, known = _centered(measured.vectors, model)
    order = _order(measured, by, n, seed, vectors=vectors, known=known)
    chosen = order[:n]
    predictions = model.predict_stream([candidates[i] for i in chosen])
    return [
        Selected(rank, positions[i], prediction, measured.reasons(i))
        for rank, (i, prediction) in enumerate(zip(chosen, predictions, strict=True), start=1)
    ]


def _checked_way(by: SelectBy | str, model: NerModel) -> SelectBy:
    try:
        way = SelectBy(str(by))
    except ValueError:
        ways = ", ".join(map(str, SelectBy))
        raise SettingsError(f"by: expected one of {ways}, found {by!r}") from None
    needs_datastore = way not in (SelectBy.UNCERTAINTY, SelectBy.RANDOM)
    if needs_datastore and model.parts.datastore is None:
        raise SettingsError(
            f"by: the model has no datastore, so {way} cannot be measured; choose uncertainty or "
            "random, or use the model that was meta-trained"
        )
    return way


def _different(corpus: Corpus, labeled: Iterable[Sentence]) -> list[int]:
    """The positions of sentences with different words that are not labeled yet."""
    seen = {sentence.words for sentence in labeled}
    positions = []
    for position, sentence in enumerate(corpus):
        if sentence.words not in seen:
            seen.add(sentence.words)
            positions.append(position)
    return positions


def _centered(vectors: Floats | None, model: NerModel) -> tuple[Floats | None, Floats | None]:
    """The vectors of candidates and of remembered sentences, which new ones should be unlike,
    without what all candidates have in common: many encoders give all sentences similar vectors.
    """
    if vectors is None:
        return None, None
    mean = vectors.mean(axis=0)
    known = None
    if model.remembered:
        known = _unit(_unit(np.stack([item.vector for item in model.remembered])) - mean)
    return _unit(vectors - mean), known


@dataclass(frozen=True, slots=True)
class _Measures:
    """What was measured of each candidate; a measure that is not needed is missing.

    *Shape:* each of ``values`` (candidates,), ``vectors`` (candidates, width), of length 1.
    """

    n: int
    values: dict[str, Floats]
    vectors: Floats | None

    @classmethod
    def of(
        cls, model: NerModel, sentences: Sequence[Sentence], by: SelectBy, progress: Progress
    ) -> _Measures:
        """Measure what a way of choosing needs, a chunk of sentences at a time."""
        if by is SelectBy.RANDOM:
            return cls(len(sentences), {}, None)
        parts: dict[str, list[Floats]] = {}
        n_done = 0
        for chunk in _chunks(sentences):
            for name, values in _chunk_measures(model, chunk, by):
                parts.setdefault(name, []).append(values)
            n_done += len(chunk)
            progress(n_done)
        joined = {name: np.concatenate(values) for name, values in parts.items()}
        vectors = joined.pop("vectors", None)
        return cls(len(sentences), joined, vectors)

    def reasons(self, candidate: int) -> dict[str, float]:
        """The measures of a candidate."""
        return {name: float(f"{values[candidate]:.4g}") for name, values in self.values.items()}


def _chunks(sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    remaining = iter(sentences)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _chunk_measures(
    model: NerModel, sentences: Sequence[Sentence], by: SelectBy
) -> Iterator[tuple[str, Floats]]:
    datastore = model.parts.datastore
    if by in (SelectBy.MIXED, SelectBy.DISAGREEMENT, SelectBy.UNCERTAINTY):
        used = list(model.predict_stream(sentences))
        yield "uncertainty", np.array([uncertainty(p) for p in used], np.float32)
        if by is not SelectBy.UNCERTAINTY:
            other = list(model.predict_stream(sentences, adapt=not used[0].neighbors))
            pairs = zip(used, other, strict=True)
            yield "disagreement", np.array([disagreement(a, b) for a, b in pairs], np.float32)
    if datastore is not None and by in (SelectBy.MIXED, SelectBy.FAR):
        nearest = model.neighbors(sentences, k=1)
        yield "far", np.array([1 - found[0].similarity for found in nearest], np.float32)
    if datastore is not None:
        yield "vectors", _unit(datastore.sentence_encoder.vectors(sentences))


def uncertainty(prediction: SentencePrediction) -> float:
    """1 minus the least margin between the two best tags of a word."""
    probabilities = np.sort(prediction.probabilities, axis=1)  # (words, tags)
    return 1.0 - float((probabilities[:, -1] - probabilities[:, -2]).min())


def disagreement(first: SentencePrediction, second: SentencePrediction) -> float:
    """The mean over words of the Jensen-Shannon divergence between tag probabilities, in bits."""
    p, q = (each.probabilities.astype(np.float64) for each in (first, second))
    middle = (p + q) / 2
    divergences = (_divergence(p, middle) + _divergence(q, middle)) / 2  # (words,)
    return max(0.0, float(divergences.mean()))


def _divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of each row, in bits. *Shape:* (words, tags) to (words,)."""
    ratios = np.divide(p, q, out=np.ones_like(p), where=p > 0)
    result: NDArray[np.float64] = (p * np.log2(ratios)).sum(axis=1)
    return result


def _order(
    measured: _Measures,
    by: SelectBy,
    n: int,
    seed: int,
    *,
    vectors: Floats | None,
    known: Floats | None,
) -> list[int]:
    """The candidates, the most worthwhile first."""
    shuffled = list(range(measured.n))
    random.Random(seed).shuffle(shuffled)  # decides between equal ones
    if by is SelectBy.RANDOM:
        return shuffled
    if by is SelectBy.DIVERSE:
        return _farthest_first(vectors, shuffled, n, known)
    if by is not SelectBy.MIXED:
        values = measured.values[str(by)]
        order = sorted(shuffled, key=lambda i: -float(values[i]))
        return _without_copies(vectors, order, n)
    ranks = np.zeros(measured.n)
    for values in measured.values.values():
        order = sorted(shuffled, key=lambda i: -float(values[i]))
        ranks[order] += np.arange(measured.n)
    best = sorted(shuffled, key=lambda i: float(ranks[i]))[: _CANDIDATES * n]
    chosen = _farthest_first(vectors, best, n, known)
    return sorted(chosen, key=lambda i: float(ranks[i]))


def _without_copies(vectors: Floats | None, order: Sequence[int], n: int) -> list[int]:
    """The first ``n`` of an order that are no near-copies of one before them."""
    if vectors is None:
        return list(order)
    chosen: list[int] = []
    for i in order:
        if len(chosen) == n:
            break
        if not chosen or float((vectors[chosen] @ vectors[i]).max()) <= _COPY_SIMILARITY:
            chosen.append(i)
    return chosen


def _farthest_first(
    vectors: Floats | None, order: Sequence[int], n: int, known: Floats | None
) -> list[int]:
    """Begin with the first of an order, then always take the one that is least similar to all
    taken and known ones; near-copies of these are left out.
    """
    if vectors is None or not order:
        return list(order[:n])
    remaining = np.array(order)
    closest = np.full(len(remaining), -np.inf, np.float32)  # similarity of the nearest taken one
    if known is not None:
        closest = (vectors[remaining] @ known.T).max(axis=1)
    chosen: list[int] = []
    while len(chosen) < n and len(remaining):
        best = int(closest.argmin())
        if closest[best] > _COPY_SIMILARITY:
            break
        chosen.append(int(remaining[best]))
        similarities = vectors[remaining] @ vectors[remaining[best]]
        closest = np.maximum(closest, similarities)
        closest[best] = np.inf
    return chosen


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.maximum(lengths, 1e-12)
    return unit
