"""How the systems of the paper's tables are trained, each of a few parts; all systems by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.word_model import CombinedModel, WordModel
from metacross.baselines.clustering import (
    centered,
    encoder_vectors,
    k_means,
    mapped,
    unit_length,
)
from metacross.baselines.selection_systems import SELECTION_FITS
from metacross.baselines.successors import SUCCESSOR_FITS
from metacross.baselines.two_language_systems import TWO_LANGUAGE_FITS
from metacross.baselines.workshop import Fit, Workshop, merged
from metacross.model.bilstm_crf import BilstmCrf
from metacross.model.word_features import WordFeatures
from metacross.text.sentence import Sentence
from metacross.text.word_clusters import WordClusters
from metacross.text.word_vectors import WordVectors

_CLUSTER_SIZES = (64, 256)


# Encoders on the source


def _direct(shop: Workshop) -> NerModel:
    return shop.direct(shop.source, shop.dev, shop.folder)


def _ours(shop: Workshop) -> NerModel:
    return shop.meta(shop.source, shop.dev, shop.folder)


# Translation


def _mayhew(shop: Workshop) -> NerModel:
    return shop.crf([shop.translated], shop.folder)


def _data_transfer(shop: Workshop) -> NerModel:
    return shop.direct_on_translated(shop.folder)


def _both_corpora_direct(shop: Workshop) -> NerModel:
    corpus, dev = merged(shop.source, shop.translated), merged(shop.dev, shop.translated_dev)
    return shop.direct(corpus, dev, shop.folder)


def _ours_translated(shop: Workshop) -> NerModel:
    return shop.meta_on_both(shop.folder)


# Projection


def _ni_projection(shop: Workshop) -> NerModel:
    labeler = shop.crf([shop.plain_source], shop.stage("source"))
    return shop.crf([shop.projected(labeler)], shop.folder)


def _ni(shop: Workshop) -> NerModel:
    labeler = shop.crf([shop.plain_source], shop.stage("source"))
    corpora = [shop.projected(labeler), *shop.target_texts]
    projected = shop.crf(corpora, shop.stage("projected"))
    if all(map(shop.resources.has, ("vectors", "source_vectors", "lexicon"))):
        other = _on_shared_vectors(shop)
    else:
        other = shop.direct_on_source()
    model = CombinedModel([projected, other], shop.settings)
    model.save(shop.folder)
    return model


def _on_shared_vectors(shop: Workshop) -> NerModel:
    """A BiLSTM-CRF, trained on source vectors, that reads the target's vectors: they are mapped to
    the source's on the lexicon's pairs. Words that only the source has keep theirs.
    """
    resources = shop.resources
    pairs = [
        (phrase, " ".join(translation.words))
        for phrase, translations in resources.lexicon.entries.items()
        for translation in translations
    ]
    target = mapped(resources.vectors, resources.source_vectors, pairs)
    own = resources.source_vectors
    source = WordVectors(own.words, unit_length(own.matrix))
    model = shop.bilstm_crf(shop.source, shop.dev, source, shop.stage("representations"))
    rows = dict(zip(source.words, source.matrix, strict=True))
    rows |= dict(zip(target.words, target.matrix, strict=True))
    return _with_vectors(model, WordVectors(tuple(rows), np.stack(list(rows.values()))))


def _with_vectors(model: NerModel, vectors: WordVectors) -> NerModel:
    """A BiLSTM-CRF with other word vectors of the same space."""
    if not isinstance(model, WordModel) or not isinstance(model.word_tagger, BilstmCrf):
        raise ValueError(f"expected a BiLSTM-CRF, found {type(model).__name__}")
    tagger = model.word_tagger.with_vectors(vectors)
    return WordModel(tagger, model.settings, facts=model.parts.facts)


# Features that languages share


def _tackstrom(shop: Workshop) -> NerModel:
    clusters: tuple[WordClusters, ...]
    if shop.resources.has("clusters"):
        clusters = (shop.resources.clusters,)
    else:
        clusters = _encoder_clusters(shop)
    crf = shop.settings.crf
    features = WordFeatures(words=False, affixes=crf.affixes, clusters=clusters)
    return shop.crf([shop.source], shop.folder, features)


def _encoder_clusters(shop: Workshop) -> tuple[WordClusters, ...]:
    words = list(filter(_is_writable, _words([*shop.source, *shop.resources.raw_text])))
    vectors = centered(encoder_vectors(words, shop.settings.encoder))
    seed = shop.settings.run.seed
    sizes = [min(size, len(words)) for size in _CLUSTER_SIZES]
    return tuple(k_means(vectors, size, seed=seed) for size in sizes)


def _words(sentences: Iterable[Sentence]) -> list[str]:
    return list(dict.fromkeys(word for sentence in sentences for word in sentence.words))


def _is_writable(word: str) -> bool:
    """Whether a table of words keeps it as it is: space around it would be lost."""
    return word == word.strip() != ""


def _tsai(shop: Workshop) -> NerModel:
    crf = shop.settings.crf
    features = WordFeatures(words=False, affixes=crf.affixes, gazetteer=shop.resources.gazetteer)
    return shop.crf([shop.source], shop.folder, features)


def _crf(shop: Workshop) -> NerModel:
    features = WordFeatures(words=False, affixes=shop.settings.crf.affixes)
    return shop.crf([shop.source], shop.folder, features)


def _xie(shop: Workshop) -> NerModel:
    if shop.resources.has("vectors"):
        vectors = shop.resources.vectors
    else:
        texts = [shop.translated, shop.translated_dev, *shop.target_texts]
        if shop.resources.has("raw_text"):
            texts.append(shop.resources.raw_text)
        words = list(dict.fromkeys(word for text in texts for word in _words(text)))
        vectors = encoder_vectors(words, shop.settings.encoder)
    vectors = WordVectors(vectors.words, unit_length(vectors.matrix))
    return shop.bilstm_crf(shop.translated, shop.translated_dev, vectors, shop.folder)


_FITS: dict[str, Fit] = {
    "crf": _crf,
    "tackstrom": _tackstrom,
    "tsai": _tsai,
    "ni-projection": _ni_projection,
    "ni": _ni,
    "mayhew": _mayhew,
    "xie": _xie,
    "direct": _direct,
    "ours": _ours,
    "data-transfer": _data_transfer,
    "direct-translated": _both_corpora_direct,
    "ours-translated": _ours_translated,
}
FITS: dict[str, Fit] = {**_FITS, **SUCCESSOR_FITS, **SELECTION_FITS, **TWO_LANGUAGE_FITS}
"""How each system of the catalog is trained, by name."""
