"""Projects entities through parallel text and keeps the good sentences (after Ni et al. 2017)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from metacross.baseline_settings import ProjectionSettings
from metacross.errors import DataError
from metacross.text.language_codes import primary_language
from metacross.text.parallel_text import Links
from metacross.text.sentence import Corpus, Sentence, Span

_FUNCTION_WORDS = frozenset(
    {"the", "a", "an", "of", "in", "on", "at", "to", "for", "by", "with", "from", "and", "or", "'s"}
)  # of English


@dataclass(frozen=True, slots=True)
class Projected:
    """A target sentence with projected entities; ``n_lost`` entities of the source have no place
    in it.
    """

    sentence: Sentence
    n_lost: int


@dataclass(frozen=True, slots=True)
class ProjectedCorpus:
    """The sentences that the filter kept, and how many pairs there were."""

    corpus: Corpus
    n_pairs: int

    @property
    def kept(self) -> float:
        """The share of the pairs that was kept."""
        return len(self.corpus) / self.n_pairs


def project(
    labeled: Sequence[Sentence],
    targets: Sequence[Sentence],
    alignments: Sequence[Links],
    settings: ProjectionSettings,
    *,
    source_language: str | None = "en",
) -> ProjectedCorpus:
    """Give target sentences the entities of their labeled source sentences; keep the good ones."""
    ignored = _FUNCTION_WORDS if primary_language(source_language) == "en" else frozenset()
    projected = [
        projected_sentence(source, target, links, settings, ignored=ignored)
        for source, target, links in zip(labeled, targets, alignments, strict=True)
    ]
    sentences = filtered(projected, settings)
    parallel_text = targets[0].origin.source if targets[0].origin else "corpus"
    if not sentences:
        n_entities = sum(len(sentence.spans or ()) for sentence in labeled)
        raise DataError(
            f"{parallel_text}: expected sentences with projected entities, kept none of "
            f"{len(targets):,}, whose source side has {n_entities:,} entities; check that the "
            "source language is first and has its capitals, or lower projection.min_quality"
        )
    name = f"{parallel_text}, projected"
    return ProjectedCorpus(Corpus(tuple(sentences), source=name), len(projected))


def projected_sentence(
    source: Sentence,
    target: Sentence,
    links: Links,
    settings: ProjectionSettings,
    *,
    ignored: Collection[str] = (),
) -> Projected:
    """The target sentence with the entities of the source. An entity covers the words from the
    first to the last one that its words are linked to; ``ignored`` source words, such as articles,
    do not count unless the entity has no others.

    An entity is lost if it has no links, becomes too long, or overlaps another one.
    """
    spans: list[Span] = []
    n_lost = 0
    for span in source.spans or ():
        place = _place(source, span, links, ignored)
        is_good = (
            place is not None
            and place[1] - place[0] <= span.end - span.start + settings.max_stretch
            and not any(place[0] < other.end and other.start < place[1] for other in spans)
        )
        if place is not None and is_good:
            spans.append(Span(*place, span.label))
        else:
            n_lost += 1
    return Projected(target.with_spans(tuple(sorted(spans))), n_lost)


def _place(
    source: Sentence, span: Span, links: Links, ignored: Collection[str]
) -> tuple[int, int] | None:
    words = range(span.start, span.end)
    counted = [i for i in words if source.words[i].lower() not in ignored] or list(words)
    targets = [j for i, j in links if i in counted]
    return (min(targets), max(targets) + 1) if targets else None


def filtered(projected: Sequence[Projected], settings: ProjectionSettings) -> list[Sentence]:
    """The sentences whose entities are trustworthy, in their order.

    The quality of a sentence is the mean over its entities of how often the same words have the
    same label in all sentences. Sentences with a lost entity are left out; entity-free ones are
    kept up to a multiple of those with entities.
    """
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    for item in projected:
        counts.update(_named(item.sentence))
    totals: Counter[tuple[str, ...]] = Counter()
    for (words, _), count in counts.items():
        totals[words] += count
    with_entities = [
        position
        for position, item in enumerate(projected)
        if item.sentence.spans
        and not item.n_lost
        and len(item.sentence.spans) >= settings.min_entities
        and _quality(item.sentence, counts, totals) >= settings.min_quality
    ]
    without = [
        position
        for position, item in enumerate(projected)
        if not item.sentence.spans and not item.n_lost
    ]
    n_without = round(settings.without_entities * len(with_entities))
    kept = sorted([*with_entities, *without[:n_without]])
    return [projected[position].sentence for position in kept]


def _quality(
    sentence: Sentence,
    counts: Counter[tuple[tuple[str, ...], str]],
    totals: Counter[tuple[str, ...]],
) -> float:
    names = _named(sentence)
    return sum(counts[name] / totals[name[0]] for name in names) / len(names)


def _named(sentence: Sentence) -> list[tuple[tuple[str, ...], str]]:
    return [
        (tuple(word.lower() for word in sentence.words_of(span)), span.label)
        for span in sentence.spans or ()
    ]
