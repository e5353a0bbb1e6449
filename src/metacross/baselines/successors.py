"""Systems of teachers and students, and of an encoder and a CRF that label together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.word_model import CombinedModel
from metacross.baselines.pseudo_labels import PseudoLabels, agreed_tags
from metacross.baselines.source_similarity import source_weights
from metacross.baselines.workshop import Fit, Workshop, soft_sentences
from metacross.errors import DataError, SettingsError
from metacross.model.datastore import Datastore
from metacross.text.sentence import Corpus
from metacross.training.distillation import SoftSentence
from metacross.training.sampling import random_subset

_COMPARED = 1_000  # sentences of raw text whose language is compared with the sources


def _tsl(shop: Workshop) -> NerModel:
    teacher = shop.direct_on_source()
    return _taught_by(shop, teacher)


def _ours_tsl(shop: Workshop) -> NerModel:
    teacher = shop.meta_on_source()
    return _taught_by(shop, teacher)


def _ours_translated_tsl(shop: Workshop) -> NerModel:
    teacher = shop.meta_on_both(shop.stage("teacher"))
    return _taught_by(shop, teacher)


def _ours_crf_tsl(shop: Workshop) -> NerModel:
    return _taught_by(shop, _with_crf(shop, shop.meta_on_source()))


def _with_crf(shop: Workshop, model: NerModel) -> CombinedModel:
    """A model of the source and a CRF on translated text, which err in different places."""
    tuned = shop.fine_tuned(model, shop.stage("fine-tuned"))
    crf = shop.crf([shop.translated, *shop.target_texts], shop.stage("crf"))
    return CombinedModel([tuned, crf], shop.settings, rule="mean")


def _direct_crf(shop: Workshop) -> NerModel:
    model = _with_crf(shop, shop.direct_on_source())
    model.save(shop.folder)
    return model


def _ours_crf(shop: Workshop) -> NerModel:
    model = _with_crf(shop, shop.meta_on_source())
    model.save(shop.folder)
    return model


def _direct_crf_student(shop: Workshop) -> NerModel:
    return _with_student(shop, _with_crf(shop, shop.direct_on_source()))


def _ours_crf_student(shop: Workshop) -> NerModel:
    return _with_student(shop, _with_crf(shop, shop.meta_on_source()))


def _with_student(shop: Workshop, teacher: CombinedModel) -> NerModel:
    """The models of a teacher and its student, all together."""
    student = _taught_by(shop, teacher, shop.stage("student"))
    model = CombinedModel([*teacher.models, student], shop.settings, rule="mean")
    model.save(shop.folder)
    return model


def _taught_by(shop: Workshop, teacher: NerModel, folder: Path | None = None) -> NerModel:
    """A student of a teacher, in ``folder``; None: it is the finished model."""
    adapt = shop.settings.distillation.adapt
    if isinstance(teacher, CombinedModel) and adapt is not None:
        teacher, adapt = _with_parts_adapting(teacher, adapt), None
    labels = shop.labeled_by(teacher, adapt=adapt)
    return shop.student(soft_sentences(labels), folder or shop.folder)


def _with_parts_adapting(model: CombinedModel, adapts: bool) -> CombinedModel:
    """A combined model in which those that can adapt do, or do not."""
    models = [
        part if part.parts.datastore is None else NerModel(replace(part.parts, adapts=adapts))
        for part in model.models
    ]
    return CombinedModel(models, model.settings, rule=model.rule)


def _unitrans(shop: Workshop) -> NerModel:
    on_source = shop.direct_on_source()
    on_translated = shop.direct_on_translated(shop.stage("translated"))
    on_both = shop.trained_further(on_source, shop.translated, shop.stage("further"))
    teachers = [shop.labeled_by(model) for model in (on_both, on_source, on_translated)]
    agreed = agreed_tags(teachers)
    sentences = [
        replace(soft, tag_ids=tuple(tags))
        for soft, tags in zip(soft_sentences(teachers[0]), agreed, strict=True)
    ]
    return shop.student(sentences, shop.folder)


def _tsl_multi(shop: Workshop) -> NerModel:
    """A teacher for each source language; they count by their similarity to the target."""
    languages = sorted({sentence.language or "" for sentence in shop.source})
    if len(languages) < 2:
        raise SettingsError(
            "baseline:tsl-multi: expected sources in several languages, found "
            f"{languages[0] or 'one'}; give --source LANGUAGE=FILE for each"
        )
    teachers = {language: _teacher(shop, language) for language in languages}
    stores = {language: _datastore(teacher) for language, teacher in teachers.items()}
    n_compared = min(_COMPARED, len(shop.raw_text))
    compared = random_subset(shop.raw_text, n_compared, shop.settings.run.seed).sentences
    weights = source_weights(
        {language: np.asarray(store.vectors[:]) for language, store in stores.items()},
        stores[languages[0]].sentence_encoder.vectors(compared),
        seed=shop.settings.run.seed,
    )
    labels = [shop.labeled_by(teacher) for teacher in teachers.values()]
    return shop.student(averaged(labels, [weights[name] for name in languages]), shop.folder)


def _teacher(shop: Workshop, language: str) -> NerModel:
    corpus, dev = _in_language(shop.source, language), _in_language(shop.dev, language)
    missing = [label for label in shop.labels if label not in corpus.entities_by_label]
    if missing:
        raise DataError(
            f"source {language}: expected entities of all types to teach, found no {missing[0]}"
        )
    return shop.direct(
        corpus, dev if dev.n_entities else shop.dev, shop.stage(f"direct-{language}")
    )


def _in_language(corpus: Corpus, language: str) -> Corpus:
    sentences = tuple(s for s in corpus if (s.language or "") == language)
    return Corpus(sentences, source=corpus.source)


def _datastore(model: NerModel) -> Datastore:
    if model.parts.datastore is None:
        raise ValueError("expected a model with the vectors of its source, found none")
    return model.parts.datastore


def averaged(teachers: Sequence[PseudoLabels], weights: Sequence[float]) -> list[SoftSentence]:
    """The weighted means of the probabilities of several teachers."""
    averages = []
    for predictions in zip(*(teacher.predictions for teacher in teachers), strict=True):
        stacked = np.stack([prediction.probabilities for prediction in predictions])
        mean = np.average(stacked, axis=0, weights=weights).astype(np.float32)  # (words, tags)
        averages.append(SoftSentence(predictions[0].sentence, mean))
    return averages


SUCCESSOR_FITS: dict[str, Fit] = {
    "tsl": _tsl,
    "tsl-multi": _tsl_multi,
    "ours-tsl": _ours_tsl,
    "ours-translated-tsl": _ours_translated_tsl,
    "direct-crf": _direct_crf,
    "ours-crf": _ours_crf,
    "ours-crf-tsl": _ours_crf_tsl,
    "direct-crf-student": _direct_crf_student,
    "ours-crf-student": _ours_crf_student,
    "unitrans": _unitrans,
}
