"""Low-resource systems that learn source and target together, with weights in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from metacross.adaptation.ner_model import NerModel
from metacross.baseline_settings import TwoLanguageSettings
from metacross.baselines.clustering import encoder_vectors, unit_length
from metacross.baselines.workshop import Fit, Workshop
from metacross.errors import DataError
from metacross.model.bilstm_crf import BilstmCrf, BilstmCrfNetwork, Vocabulary, vector_table
from metacross.model.devices import seeded
from metacross.settings import Settings, settings_with
from metacross.text.parts_of_speech import PARTS_OF_SPEECH, PosSentence
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import TagSet
from metacross.text.word_vectors import WordVectors
from metacross.training.word_tagger_training import (
    TaggedText,
    TaggingTask,
    parts_of_mini_batch,
    train_together,
)


@dataclass(frozen=True, slots=True)
class _Language:
    """What the networks of a language read, and what they learn: entities, then parts of speech if
    they are learned too. *Shape:* ``vectors`` (words + 1, width).
    """

    vocabulary: Vocabulary
    vectors: Tensor
    texts: tuple[TaggedText, ...]


def _yang(shop: Workshop) -> NerModel:
    settings, languages = _settings(shop), _languages(shop, with_pos=False)
    networks = _networks(languages, settings)
    (target,), (source,) = networks
    source.share_characters(target)
    return _trained(shop, settings, languages, networks, [1.0, 1.0])


def _lin_ml(shop: Workshop) -> NerModel:
    return _lin(shop, with_pos=False)


def _lin_mlmt(shop: Workshop) -> NerModel:
    return _lin(shop, with_pos=True)


def _lin(shop: Workshop, *, with_pos: bool) -> NerModel:
    settings, languages = _settings(shop), _languages(shop, with_pos=with_pos)
    target_width, source_width = (language.vectors.shape[1] for language in languages)
    if target_width != source_width:
        raise DataError(
            "expected word vectors of the same width in both languages, which share a BiLSTM, "
            f"found {target_width} in the target and {source_width} in the source; give both "
            "--vectors and --source-vectors, or none"
        )
    filters = settings.two_languages.character_filters
    networks = _networks(languages, settings, character_filters=filters, gated=True)
    for network in chain(*networks):
        network.share_words(networks[0][0])
    for target, source in zip(*networks, strict=True):
        source.share_tags(target)
    sizes = [[len(text.sentences) for text in language.texts] for language in languages]
    weights = lin_weights(sizes, settings.two_languages)
    return _trained(shop, settings, languages, networks, weights)


def lin_weights(sizes: Sequence[Sequence[int]], settings: TwoLanguageSettings) -> list[float]:
    """The weights of all tasks in a mini-batch (Lin et al. 2018). ``sizes`` are numbers of
    sentences by language, target first, and task, entities first.

    >>> [round(weight, 1) for weight in lin_weights([[100], [10_000]], TwoLanguageSettings())]
    [10.0, 10.0]
    """
    return [
        settings.language_weight**language * settings.task_weight**task * float(size) ** 0.5
        for language, tasks in enumerate(sizes)
        for task, size in enumerate(tasks)
    ]


def _settings(shop: Workshop) -> Settings:
    return settings_with(
        shop.settings, {"encoder": {"name": "none"}, "bilstm_crf": {"attention": False}}
    )


def _languages(shop: Workshop, *, with_pos: bool) -> tuple[_Language, _Language]:
    """The target and the source."""
    resources, tag_set = shop.resources, TagSet(shop.labels)
    target = [TaggedText.of_entities(_target_train(shop), tag_set)]
    source = [TaggedText.of_entities(shop.source, tag_set)]
    if with_pos:
        target.append(_pos_text(resources.pos))
        source.append(_pos_text(resources.source_pos))
    target_sentences, source_sentences = _sentences(target), _sentences(source)
    raw_text = resources.raw_text.sentences if resources.has("raw_text") else ()
    vectors = (
        _vectors(
            resources.vectors if resources.has("vectors") else None,
            [*target_sentences, *raw_text],
            shop.settings,
        ),
        _vectors(
            resources.source_vectors if resources.has("source_vectors") else None,
            source_sentences,
            shop.settings,
        ),
    )
    both = [*target_sentences, *source_sentences]
    target_language, source_language = (
        _Language(Vocabulary.of(of_language, both), vector_table(of_language), tuple(texts))
        for of_language, texts in zip(vectors, (target, source), strict=True)
    )
    return target_language, source_language


def _target_train(shop: Workshop) -> Corpus:
    corpus = shop.target_train
    if corpus is None:
        raise ValueError("expected labeled target text")
    return corpus


def _pos_text(sentences: Sequence[PosSentence]) -> TaggedText:
    return TaggedText(
        [tagged.sentence for tagged in sentences],
        [tagged.pos_ids for tagged in sentences],
        len(PARTS_OF_SPEECH),
    )


def _sentences(texts: Sequence[TaggedText]) -> list[Sentence]:
    return [sentence for text in texts for sentence in text.sentences]


def _vectors(
    given: WordVectors | None, sentences: Sequence[Sentence], settings: Settings
) -> WordVectors:
    """The given vectors, else the encoder's of all words; of length 1."""
    if given is None:
        words = list(dict.fromkeys(word for sentence in sentences for word in sentence.words))
        given = encoder_vectors(words, settings.encoder)
    return WordVectors(given.words, unit_length(given.matrix))


def _networks(
    languages: Sequence[_Language],
    settings: Settings,
    *,
    character_filters: int | None = None,
    gated: bool = False,
) -> list[list[BilstmCrfNetwork]]:
    """A network for each task of each language, which share nothing yet."""
    networks: list[list[BilstmCrfNetwork]] = []
    for number, language in enumerate(languages):
        networks.append([])
        for task, text in enumerate(language.texts):
            with seeded(settings.run.seed, number, task):
                network = BilstmCrfNetwork(
                    language.vectors,
                    len(language.vocabulary.characters),
                    text.n_tags,
                    settings.bilstm_crf,
                    character_filters=character_filters,
                    gated=gated,
                )
            networks[-1].append(network)
    return networks


def _trained(
    shop: Workshop,
    settings: Settings,
    languages: Sequence[_Language],
    networks: Sequence[Sequence[BilstmCrfNetwork]],
    weights: Sequence[float],
) -> NerModel:
    """Train all networks; the model is that of the target's entities."""
    texts = [(language, text) for language in languages for text in language.texts]
    per_step = parts_of_mini_batch(weights, settings.bilstm_crf.batch_size)
    tasks = [
        TaggingTask(network, language.vocabulary, text, n_sentences)
        for network, (language, text), n_sentences in zip(
            chain(*networks), texts, per_step, strict=True
        )
    ]
    tagger = BilstmCrf(networks[0][0], languages[0].vocabulary, TagSet(shop.labels))
    return train_together(tagger, tasks, settings, shop.folder, shop.callbacks)


TWO_LANGUAGE_FITS: dict[str, Fit] = {
    "yang": _yang,
    "lin-ml": _lin_ml,
    "lin-mlmt": _lin_mlmt,
}
