"""Describes how a model sees a text without gold labels: pieces, neighbors, confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from metacross.adaptation.evaluation import f1_of
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.errors import SettingsError
from metacross.metrics.correlation import rank_correlation
from metacross.text.main_script import ScriptShare, main_script
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import tags_from_spans

MEASURES = (
    "pieces_per_word",
    "unknown_pieces",
    "similarity",
    "changed_words",
    "confidence",
)
"""The measures of a report that can be compared with F1."""


@dataclass(frozen=True, slots=True)
class LanguageReport:
    """How a model sees a text. Nothing here needs gold labels, and nothing here is a score.

    Args:
        name: The file, or the language.
        sentences: Number of sentences that were looked at, evenly spread over the text.
        n_sentences: Number of sentences of the text.
        script: The main script; None if the text has no letters.
        pieces_per_word: Mean number of word pieces.
        unknown_pieces: Fraction of pieces that are not in the vocabulary.
        similarity: Mean similarity of the source sentences that a sentence adapts to; None if the
            model does not adapt.
        changed_words: Fraction of words whose label differs between plain and adapted; None if
            the model does not adapt.
        confidence: Mean probability of the predicted tags.
        f1: F1 of the model as it is used, if it is known; None if not.
    """

    name: str
    sentences: int
    n_sentences: int
    script: ScriptShare | None
    pieces_per_word: float
    unknown_pieces: float
    similarity: float | None
    changed_words: float | None
    confidence: float
    f1: float | None


def report_language(
    model: NerModel,
    corpus: Corpus,
    *,
    max_sentences: int = 200,
    f1: float | None = None,
    progress: Callable[[int], None] = lambda _n_done: None,
) -> LanguageReport:
    """Describe how a model sees a text; ``progress`` is called with the number of sentences done.

    ``f1`` is known from elsewhere. If it is None and the corpus is labeled with entity types of the
    model, F1 is measured on the sentences of the report.
    """
    sentences = spread_sample(corpus.sentences, max_sentences)
    plain = list(model.predict_stream(sentences, adapt=False))
    adapted = list(model.predict_stream(sentences, progress=progress)) if model.adapts else None
    used = adapted or plain
    n_pieces, n_unknown = _piece_counts(model, sentences)
    n_words = sum(len(sentence.words) for sentence in sentences)
    gold = Corpus(tuple(sentences))
    if f1 is None and gold.labeled and {*gold.entities_by_label} <= {*model.labels}:
        f1 = f1_of(used, gold)
    return LanguageReport(
        name=corpus.name,
        sentences=len(sentences),
        n_sentences=len(corpus),
        script=main_script(word for sentence in sentences for word in sentence.words),
        pieces_per_word=n_pieces / n_words,
        unknown_pieces=n_unknown / n_pieces,
        similarity=_mean_similarity(adapted) if adapted else None,
        changed_words=_changed_words(plain, adapted) / n_words if adapted else None,
        confidence=_mean_confidence(used),
        f1=f1,
    )


def correlations_with_f1(reports: Iterable[LanguageReport]) -> dict[str, float]:
    """The rank correlation of each measure with F1, over the reports with a known F1.

    Empty if fewer than four F1 are known; measures that do not vary are left out.
    """
    known = [report for report in reports if report.f1 is not None]
    if len(known) < 4:
        return {}
    correlations = {}
    for measure in MEASURES:
        pairs = [(getattr(report, measure), report.f1) for report in known]
        values = [(value, f1) for value, f1 in pairs if value is not None and f1 is not None]
        correlation = rank_correlation([v for v, _ in values], [f1 for _, f1 in values])
        if correlation is not None:
            correlations[measure] = correlation
    return correlations


def spread_sample(sentences: Sequence[Sentence], max_sentences: int) -> list[Sentence]:
    """At most ``max_sentences`` sentences, evenly spread over a text."""
    if max_sentences < 1:
        raise SettingsError(f"--sentences: expected at least 1, found {max_sentences}")
    n_taken = min(max_sentences, len(sentences))
    return [sentences[i * len(sentences) // n_taken] for i in range(n_taken)]


def _piece_counts(model: NerModel, sentences: Sequence[Sentence]) -> tuple[int, int]:
    """The pieces of all sentences, and the unknown ones among them; overlaps count once."""
    special = model.tagger.tokenizer.special
    n_pieces = n_unknown = 0
    for windows in model.tagger.window_cutter.windows(sentences):
        end = 0
        for window in windows:
            pieces = window.piece_ids[window.text_pieces][end - window.start :]
            n_pieces += len(pieces)
            n_unknown += sum(piece == special.unknown for piece in pieces)
            end = window.start + len(window.words)
    return n_pieces, n_unknown


def _changed_words(
    plain: Sequence[SentencePrediction], adapted: Sequence[SentencePrediction]
) -> int:
    return sum(
        before != after
        for plain_prediction, adapted_prediction in zip(plain, adapted, strict=True)
        for before, after in zip(_tags(plain_prediction), _tags(adapted_prediction), strict=True)
    )


def _tags(prediction: SentencePrediction) -> Sequence[str]:
    return tags_from_spans(prediction.spans, len(prediction.sentence.words))


def _mean_similarity(predictions: Sequence[SentencePrediction]) -> float:
    return fmean(n.similarity for prediction in predictions for n in prediction.neighbors)


def _mean_confidence(predictions: Sequence[SentencePrediction]) -> float:
    return fmean(
        float(probability)
        for prediction in predictions
        for probability in prediction.probabilities.max(axis=1)
    )
