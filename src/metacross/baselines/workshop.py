"""The parts that baselines are made of, for one source corpus and target language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.word_model import WordModel
from metacross.baselines.maker_parts import MakerParts
from metacross.baselines.pseudo_labels import PseudoLabels, pseudo_label
from metacross.baselines.resources import MAKING, Resources
from metacross.baselines.shared_work import SharedWork
from metacross.model.bilstm_crf import BilstmCrf
from metacross.model.linear_crf import train_linear_crf
from metacross.model.model_mark import is_model_folder
from metacross.model.word_features import WordFeatures
from metacross.settings import Settings, settings_with
from metacross.text.sentence import Corpus
from metacross.text.tags import TagSet
from metacross.text.word_vectors import WordVectors
from metacross.training.adversarial import AdversarialModel, train_adversarial
from metacross.training.callbacks import Callback
from metacross.training.distillation import SoftSentence, distill
from metacross.training.fine_tuning import fine_tune
from metacross.training.run_folder import corpus_digest
from metacross.training.sampling import random_subset
from metacross.training.train import train
from metacross.training.word_tagger_training import train_bilstm_crf

_Changes: TypeAlias = Mapping[str, Mapping[str, object]]
_DIRECT: _Changes = {
    "run": {"method": "direct"},
    "masking": {"ratio": 0.0},
    "loss": {"max_weight": 0.0},
}
_META: _Changes = {"run": {"method": "meta"}}


def merged(*corpora: Corpus) -> Corpus:
    """The sentences of several corpora, one corpus after another."""
    sentences = tuple(sentence for corpus in corpora for sentence in corpus)
    return Corpus(sentences, source=" + ".join(corpus.name for corpus in corpora))


@dataclass(frozen=True)
class Workshop:
    """Makes corpora and trains taggers for a baseline.

    The finished model is in ``folder``; models on the way to it are in ``folder/stages``. What is
    there already is loaded, so that a baseline that was stopped resumes.

    ``source`` may have the target's capitals (``data.casing``), ``plain_source`` never has.
    ``shared`` is what several baselines have in common, such as models of the source alone, so that
    they are trained once; None: they are stages of this baseline.
    ``target_train`` is a little labeled text of the target language, which taggers without an
    encoder learn together with the rest; None: there is none.
    """

    source: Corpus
    plain_source: Corpus
    dev: Corpus
    resources: Resources
    settings: Settings
    folder: Path
    callbacks: Sequence[Callback] = ()
    shared: SharedWork | None = None
    target_train: Corpus | None = None

    @property
    def language(self) -> str:
        """The target language."""
        return self.resources.target_language

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The entity types of the source."""
        return tuple(self.source.entities_by_label)

    # Corpora

    @cached_property
    def makers(self) -> MakerParts:
        """What corpora are made with."""
        return MakerParts(self.resources, self.settings)

    @cached_property
    def raw_text(self) -> Corpus:
        """As much of the raw text as ``distillation.sentences`` allows, drawn from all of it: files
        are often sorted by where their sentences come from.
        """
        raw_text = self.resources.raw_text
        n_sentences = min(self.settings.distillation.sentences, len(raw_text))
        return random_subset(raw_text, n_sentences, self.settings.run.seed)

    @cached_property
    def translated(self) -> Corpus:
        """The source corpus, translated by the lexicon."""
        return self._translation(self.plain_source)

    @cached_property
    def translated_dev(self) -> Corpus:
        """The dev corpus, translated by the lexicon."""
        return self._translation(self.dev)

    def _translation(self, corpus: Corpus) -> Corpus:
        """A corpus, translated by the lexicon; once for all baselines."""

        def make() -> Corpus:
            return self.makers.translator.translated(corpus).corpus

        if self.shared is None:
            return make()
        settings = self.settings.model_dump(mode="json", include={"translation", "projection"})
        languages = [self.resources.source_language, self.language]
        inputs = [
            corpus_digest(corpus),
            self.resources.files.digests(MAKING),
            [settings, languages, self.settings.encoder.name],
        ]
        return self.shared.translation(inputs, make, language=self.language)

    def projected(self, model: NerModel) -> Corpus:
        """The target side of the parallel text with the entities that a model finds in the source
        side, filtered.
        """
        return self.makers.projected(model).corpus

    def labeled_by(self, model: NerModel, *, adapt: bool | None = None) -> PseudoLabels:
        """The raw text with what a model predicts for it."""

        def progress(n_done: int) -> None:
            for callback in self.callbacks:
                callback.on_prepare("labels of raw text", n_done, len(self.raw_text))

        return pseudo_label(model, self.raw_text, adapt=adapt, progress=progress)

    # Taggers

    def stage(self, name: str) -> Path:
        """The folder of a model on the way to the finished one."""
        return self.folder / "stages" / name

    def direct_on_source(self) -> NerModel:
        """The encoder, trained on the source; the same for all targets."""
        return self._shared_model(_DIRECT, self.source, self.dev, self.stage("direct"))

    def meta_on_source(self) -> NerModel:
        """The encoder, meta-trained on the source; the same for all targets."""
        return self._shared_model(_META, self.source, self.dev, self.stage("meta"))

    def direct_on_translated(self, folder: Path) -> NerModel:
        """The encoder, trained on translated text; in ``folder`` if it is not shared."""
        return self._shared_model(_DIRECT, self.translated, self.translated_dev, folder)

    def meta_on_both(self, folder: Path) -> NerModel:
        """The encoder, meta-trained on source and translated text, which are one datastore; in
        ``folder`` if it is not shared.
        """
        corpus = merged(self.source, self.translated)
        return self._shared_model(_META, corpus, merged(self.dev, self.translated_dev), folder)

    def _shared_model(
        self, method: _Changes, corpus: Corpus, dev: Corpus, folder: Path
    ) -> NerModel:
        """A model that other baselines need too; if it is itself the finished model of this one, a
        copy is in its folder.
        """
        settings = self._settings_of(method)
        if self.shared is None:
            return self._train(corpus, dev, settings, folder)

        def trained(place: Path) -> NerModel:
            return self._train(corpus, dev, settings, place)

        model = self.shared.encoder_model(settings, corpus, dev, trained)
        if folder == self.folder:
            model.save(folder)
        return model

    def crf(
        self, corpora: Sequence[Corpus], folder: Path, features: WordFeatures | None = None
    ) -> NerModel:
        """A linear CRF; one with ``features`` None reads words and affixes, as ``settings.crf``
        says, and is trained once for all baselines that have the same text.
        """
        texts = [*corpora, *self._target_train(folder)]

        def make() -> NerModel:
            crf = self.settings.crf
            chosen = features or WordFeatures(words=crf.words, affixes=crf.affixes)
            tagger = train_linear_crf(texts, TagSet(self.labels), chosen, crf)
            return WordModel(tagger, self._settings_of_words())

        if is_model_folder(folder):
            return load(folder)
        if self.shared is None or features is not None:
            model = make()
            model.save(folder)
            return model
        inputs = [self.settings.crf.model_dump(), self.labels, [corpus_digest(c) for c in texts]]
        model = self.shared.crf(inputs, self._settings_of_words(), make)
        if folder == self.folder:
            model.save(folder)
        return model

    def bilstm_crf(
        self, corpus: Corpus, dev: Corpus, vectors: WordVectors, folder: Path
    ) -> NerModel:
        """A BiLSTM-CRF on word vectors."""

        def make() -> NerModel:
            settings = self._settings_of_words()
            text = merged(corpus, *self._target_train(folder))
            tagger = BilstmCrf.new(
                vectors,
                text,
                TagSet(self.labels),
                settings.bilstm_crf,
                seed=settings.run.seed,
            )
            return train_bilstm_crf(tagger, text, dev, settings, folder, self.callbacks)

        return self._made(folder, make)

    @property
    def target_texts(self) -> list[Corpus]:
        """The labeled target text, if there is some."""
        return [] if self.target_train is None else [self.target_train]

    def _target_train(self, folder: Path) -> list[Corpus]:
        """The labeled target text, for the finished model only."""
        return self.target_texts if folder == self.folder else []

    def _settings_of_words(self) -> Settings:
        return settings_with(self.settings, {"encoder": {"name": "none"}})

    def _made(self, folder: Path, make: Callable[[], NerModel]) -> NerModel:
        return load(folder) if is_model_folder(folder) else make()

    def direct(self, corpus: Corpus, dev: Corpus, folder: Path) -> NerModel:
        """The encoder with a linear layer, trained directly."""
        return self._train(corpus, dev, self._settings_of(_DIRECT), folder)

    def meta(self, corpus: Corpus, dev: Corpus, folder: Path) -> NerModel:
        """The encoder, meta-trained; its datastore is the corpus."""
        return self._train(corpus, dev, self._settings_of(_META), folder)

    def _settings_of(self, method: _Changes) -> Settings:
        settings = settings_with(self.settings, method)
        return settings_with(settings, {"data": {"drop": (), "map": {}}})  # done already

    def _train(self, corpus: Corpus, dev: Corpus, settings: Settings, folder: Path) -> NerModel:
        return train(corpus, dev=dev, recipe=settings, output=folder, callbacks=self.callbacks)

    def trained_further(self, model: NerModel, corpus: Corpus, folder: Path) -> NerModel:
        """A model, trained further on a corpus for about as many steps as direct training."""
        direct = self.settings.direct
        tuning = {
            "epochs": self._further_epochs(len(corpus)),
            "batch_size": direct.batch_size,
            "learning_rate": direct.learning_rate,
        }
        settings = settings_with(model.settings, {"fine_tuning": tuning})
        changed = NerModel(replace(model.parts, settings=settings))
        seed = self.settings.run.seed
        return fine_tune(changed, corpus, seed=seed, output=folder, callbacks=self.callbacks)

    def _further_epochs(self, n_sentences: int) -> int:
        """Passes over sentences that are about as many steps as direct training."""
        direct = self.settings.direct
        return max(1, round(direct.steps * direct.batch_size / n_sentences))

    def fine_tuned(self, model: NerModel, folder: Path) -> NerModel:
        """A model, fine-tuned on the labeled target text; itself if there is none."""
        if self.target_train is None:
            return model
        seed = self.settings.run.seed
        return fine_tune(
            model, self.target_train, seed=seed, output=folder, callbacks=self.callbacks
        )

    def adversarial(self, folder: Path) -> AdversarialModel:
        """The encoder, trained on the source against a discriminator of the languages."""
        settings = self._settings_of(_DIRECT)
        return train_adversarial(self.source, self.raw_text, settings, folder, self.callbacks)

    def student(
        self, sentences: Sequence[SoftSentence], folder: Path, *, start: NerModel | None = None
    ) -> NerModel:
        """A model that learned soft labels: a new one, or ``start``, trained further for about as
        many steps as direct training.
        """
        settings = self.settings
        if start is not None:
            epochs = self._further_epochs(len(sentences))
            settings = settings_with(settings, {"distillation": {"epochs": epochs}})
        return distill(
            sentences,
            self.labels,
            settings,
            start=start,
            output=folder,
            callbacks=self.callbacks,
        )


Fit: TypeAlias = Callable[[Workshop], NerModel]
"""Trains a system with the parts of a workshop."""


def soft_sentences(teacher: PseudoLabels) -> list[SoftSentence]:
    """The soft labels of one teacher."""
    return [
        SoftSentence(prediction.sentence, prediction.probabilities)
        for prediction in teacher.predictions
    ]
