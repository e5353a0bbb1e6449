"""Studies with made-up results, for tests that need no training."""

import hashlib
import random
from dataclasses import replace

from metacross.metrics.scoring import counts_by_sentence, score
from metacross.study.packed_counts import packed_counts
from metacross.study.results import (
    Result,
    StoredSentence,
    StudyFolder,
    TrainingSummary,
    counts_of,
)
from metacross.text.sentence import Corpus, Sentence, Span

LABELS = ("PER", "LOC", "ORG")
SOURCE = Corpus(
    tuple(
        Sentence((f"Name{number}", "<spoke>", "."), (Span(0, 1, "PER"),), "en")
        for number in range(10)
    )
)
TRAINING = TrainingSummary(
    folder="runs/some",
    seconds=120.0,
    best_step=20,
    validations=((10, 0.5), (20, 0.7), (30, 0.6)),
    target_validations={"es": ((10, 0.40), (20, 0.30), (30, 0.35))},
    losses=((10, 1.0), (20, 0.5), (30, 0.25)),
)
QUALITIES = {
    "base": {"plain": 0.6},
    "ours": {"plain": 0.7, "adapted": 0.9},
    "without-masking": {"plain": 0.65, "adapted": 0.6},
}
"""By system and mode: about which part of the entities gets the right label."""


def digest_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


def gold_corpus(language, n_sentences=60):
    """Sentences of four words; the first and the third are often entities."""
    rng, sentences = random.Random(language), []
    for number in range(n_sentences):
        spans = [
            Span(start, start + 1, rng.choice(LABELS)) for start in (0, 2) if rng.random() < 0.7
        ]
        words = (f"Uno{number}", "dos", "Tres&", "cuatro")
        sentences.append(Sentence(words, tuple(spans), language))
    return Corpus(tuple(sentences))


def made_up_predictions(gold, qualities, rng):
    """Predictions in some modes, with two neighbors for each sentence."""
    return [
        StoredSentence(
            {mode: _made_up_spans(sentence, quality, rng) for mode, quality in qualities.items()},
            tuple((rng.randrange(len(SOURCE)), round(rng.random(), 4)) for _ in range(2)),
        )
        for sentence in gold
    ]


def _made_up_spans(gold_sentence, quality, rng):
    return tuple(
        span if rng.random() < quality else replace(span, label=rng.choice(LABELS))
        for span in gold_sentence.spans
        if rng.random() < 0.95
    )


def predicted_corpus(gold, predictions, mode):
    pairs = zip(gold, predictions, strict=True)
    return Corpus(tuple(replace(sentence, spans=p.spans[mode]) for sentence, p in pairs))


def result_of(gold, predictions, *, system, seed=0, fraction=0.0, training=TRAINING):
    """The result that predictions for a target corpus have."""
    target = gold[0].language
    counts = {
        mode: counts_of(score(gold, predicted_corpus(gold, predictions, mode)))
        for mode in predictions[0].spans
    }
    return Result(
        key=f"{system}-{seed}-{target}-{fraction}",
        system=system,
        seed=seed,
        target=target,
        fraction=fraction,
        labels=LABELS,
        reported_mode="adapted" if "adapted" in counts else "plain",
        counts=counts,
        training=training,
        seconds=12.0,
        digests={
            "source corpus": digest_of("source"),
            "dev corpus": digest_of("dev"),
            "target corpus": digest_of(target),
            "encoder": digest_of("encoder"),
        },
        versions={"metacross": "0.1", "torch": "2.4"},
        machine="a machine",
        recipe={"run": {"method": "meta", "seed": seed}, "loss": {"max_weight": 2.0}},
    )


def with_sentence_counts(result, gold, predictions):
    """The same result with the counts of each sentence, as a study stores it."""
    packed = {
        mode: packed_counts(counts_by_sentence(gold, predicted_corpus(gold, predictions, mode)))
        for mode in result.counts
    }
    return result.model_copy(update={"sentence_counts": packed})


def made_up_study(folder, *, store_predictions=True, store_counts=False, exclude=(), seeds=(0, 1)):
    """Three systems on Spanish and Chinese, zero-shot and with 2 % of labeled text.

    ``exclude`` holds the results to leave out, as (fraction, system, target, seed).
    """
    study = StudyFolder(folder)
    rng = random.Random(1)
    study.folder.mkdir(parents=True, exist_ok=True)
    if store_predictions:
        study.add_corpus(digest_of("source"), SOURCE)
    for fraction in (0.0, 0.02):
        for target in ("es", "zh"):
            gold = gold_corpus(target)
            if store_predictions:
                study.add_corpus(digest_of(target), gold)
            for system, qualities in QUALITIES.items():
                for seed in seeds:
                    predictions = made_up_predictions(gold, qualities, rng)
                    result = result_of(
                        gold,
                        predictions,
                        system=system,
                        seed=seed,
                        fraction=fraction,
                        training=TRAINING.model_copy(update={"folder": f"runs/{system}-{seed}"}),
                    )
                    if store_counts:
                        result = with_sentence_counts(result, gold, predictions)
                    if (fraction, system, target, seed) not in exclude:
                        study.add(result, predictions)
    if not store_predictions:
        for path in (study.folder / "predictions").iterdir():
            path.unlink()
    return study


def result_in(study, system, target, seed, fraction=0.0):
    """One result of a study."""
    place = (system, target, seed, fraction)
    return next(r for r in study.results() if (r.system, r.target, r.seed, r.fraction) == place)


def label_counts(result):
    """The counts of each label in the reported mode."""
    return result.counts[result.reported_mode]


def f1_by_hand(result):
    """F1 in points in the reported mode."""
    correct, predicted, gold = (
        sum(getattr(counts, name) for counts in label_counts(result).values())
        for name in ("correct", "predicted", "gold")
    )
    return 200 * correct / (predicted + gold)


def summed_by_hand(study, system, target, mode):
    """The counts of each sentence, zero-shot, summed over the seeds 0 and 1."""
    gold = gold_corpus(target)
    total = 0
    for seed in (0, 1):
        predictions = study.sentences(result_in(study, system, target, seed))
        total = total + counts_by_sentence(gold, predicted_corpus(gold, predictions, mode))
    return total
