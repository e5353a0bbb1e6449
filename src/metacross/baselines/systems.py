"""The systems of the paper's tables, each made of a few parts, and all systems by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.word_model import CombinedModel, WordModel
from metacross.baselines.baseline import LEXICON, TRANSLATION, Baseline
from metacross.baselines.clustering import (
    centered,
    encoder_vectors,
    k_means,
    mapped,
    unit_length,
)
from metacross.baselines.selection_systems import SELECTION_SYSTEMS
from metacross.baselines.successors import SUCCESSORS
from metacross.baselines.two_language_systems import TWO_LANGUAGE_SYSTEMS
from metacross.baselines.workshop import Workshop, merged
from metacross.errors import SettingsError
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


_SYSTEMS = (
    Baseline(
        name="crf",
        cites="-",
        needs=(),
        uses=("target_train",),
        reads=("crf",),
        made_of="linear CRF on the source: shapes and affixes, no words",
        fit=_crf,
        is_random=False,
    ),
    Baseline(
        name="tackstrom",
        cites="Täckström et al. 2012",
        needs=("clusters or raw_text",),
        uses=("target_train",),
        reads=("crf",),
        made_of="after Täckström 2012: CRF with cross-lingual clusters, given or k-means of the "
        "encoder's word vectors",
        fit=_tackstrom,
        published=(("es", 59.30), ("nl", 58.40), ("de", 40.40)),
    ),
    Baseline(
        name="tsai",
        cites="Tsai et al. 2016",
        needs=("gazetteer",),
        uses=("target_train",),
        reads=("crf",),
        made_of="after Tsai 2016: CRF with gazetteer types instead of a wikifier",
        fit=_tsai,
        published=(("es", 60.55), ("nl", 61.56), ("de", 48.12)),
        is_random=False,
    ),
    Baseline(
        name="ni-projection",
        cites="Ni et al. 2017",
        needs=("parallel",),
        uses=("alignments", "lexicon", "target_train"),
        reads=("projection", "crf"),
        made_of="after Ni 2017: labels projected through parallel text, quality filter, CRF",
        fit=_ni_projection,
        is_random=False,
    ),
    Baseline(
        name="ni",
        cites="Ni et al. 2017",
        needs=("parallel",),
        uses=("alignments", "lexicon", "vectors", "source_vectors", "target_train"),
        reads=("projection", "crf", "bilstm_crf"),
        made_of="after Ni 2017: projection, co-decoded with a tagger on shared representations "
        "(vectors mapped by a lexicon if given, else the encoder: no map was learned)",
        fit=_ni,
        published=(("es", 65.10), ("nl", 65.40), ("de", 58.50)),
    ),
    Baseline(
        name="mayhew",
        cites="Mayhew et al. 2017",
        needs=("lexicon",),
        uses=("raw_text", "parallel", "alignments", "target_train"),
        reads=(*TRANSLATION, "crf"),
        made_of="after Mayhew 2017: lexicon translation, CRF",
        fit=_mayhew,
        published=(("es", 65.95), ("nl", 66.50), ("de", 59.11)),
        is_random=False,
    ),
    Baseline(
        name="xie",
        cites="Xie et al. 2018",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "bilstm_crf"),
        made_of="after Xie 2018: lexicon translation, self-attentive BiLSTM-CRF on word vectors "
        "(given, else of the encoder)",
        fit=_xie,
        published=(("es", 72.37), ("nl", 71.25), ("de", 57.76)),
    ),
    Baseline(
        name="direct",
        cites="Wu and Dredze 2019",
        needs=(),
        uses=(),
        reads=(),
        made_of="the encoder, trained on the source",
        fit=_direct,
        published=(("es", 74.96), ("nl", 77.57), ("de", 69.56)),
    ),
    Baseline(
        name="ours",
        cites="Wu et al. 2020, AAAI",
        needs=(),
        uses=(),
        reads=(),
        made_of="the encoder, meta-trained on the source; adapts unless it was fine-tuned",
        fit=_ours,
        published=(("es", 76.75), ("nl", 80.44), ("de", 73.16)),
    ),
    Baseline(
        name="data-transfer",
        cites="Wu et al. 2020, IJCAI",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="data transfer: the encoder, trained on lexicon-translated text",
        fit=_data_transfer,
    ),
    Baseline(
        name="direct-translated",
        cites="-",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="the encoder, trained on the source and on lexicon-translated text",
        fit=_both_corpora_direct,
    ),
    Baseline(
        name="ours-translated",
        cites="Wu et al. 2020, AAAI; Mayhew et al. 2017",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="the encoder, meta-trained on source and lexicon-translated text in one datastore; "
        "adapts unless it was fine-tuned",
        fit=_ours_translated,
    ),
)
BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (*_SYSTEMS, *SUCCESSORS, *SELECTION_SYSTEMS, *TWO_LANGUAGE_SYSTEMS)
}
"""All systems by name."""


def find_baseline(name: str) -> Baseline:
    """A system by its name."""
    if name not in BASELINES:
        raise SettingsError(f"expected a baseline of {', '.join(BASELINES)}, found {name!r}")
    return BASELINES[name]
