"""Translations and models that several baselines have in common, made once."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.word_model import load_word_model
from metacross.model.model_mark import is_model_folder
from metacross.settings import Settings
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus
from metacross.text.writing import write_atomically, write_corpus
from metacross.training.run_folder import compared_settings, corpus_digest, finished_training
from metacross.training.train import loaded_model

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class SharedWork:
    """What several baselines need; the first of them makes it, the others find it here.

    It is in ``folder``; the training runs of a study are beside that folder. ``seconds`` is how
    long each thing took to make, by name, in all sessions; ``seconds_here`` is how long the present
    baseline made, loaded or waited for it in this session, which is no time of its own.
    """

    folder: Path
    seconds: dict[str, float] = field(default_factory=dict)
    seconds_here: dict[str, float] = field(default_factory=dict)

    def translation(self, inputs: object, make: Callable[[], Corpus], *, language: str) -> Corpus:
        """A corpus that is made of ``inputs``."""
        with self._place("translated", inputs) as place:
            path = place.with_suffix(".jsonl")
            if not path.exists():
                write_corpus(_timed(make, place), path)
            self.seconds[place.name] = _seconds(place)
            return read_corpus(path, language=language)

    def encoder_model(
        self, settings: Settings, corpus: Corpus, dev: Corpus, train: Callable[[Path], NerModel]
    ) -> NerModel:
        """The model of a training: that of another baseline, that of an ordinary system of the
        study, or a new one. ``train`` trains it in a folder, or loads it.
        """
        digests = _digests(corpus, dev)
        with self._training(settings, digests) as place:
            folder = finished_training(self.folder.parent, settings, digests) or place
            model = loaded_model(folder, settings) if is_model_folder(folder) else train(folder)
            facts = model.parts.facts
            self.seconds[place.name] = (facts and facts.seconds) or 0.0
        return model

    @contextmanager
    def shared_with(
        self, folder: Path, settings: Settings, corpus: Corpus, dev: Corpus
    ) -> Iterator[None]:
        """While an ordinary system of the study is trained in ``folder``, baselines that need the
        same model wait for it. What a baseline has trained before is copied there.
        """
        with self._training(settings, _digests(corpus, dev)) as place:
            if is_model_folder(place) and not folder.exists():
                copied = place.with_suffix(".copy")
                shutil.rmtree(copied, ignore_errors=True)  # of a process that was killed
                shutil.copytree(place, copied)
                copied.rename(folder)
            yield

    def _training(
        self, settings: Settings, digests: Mapping[str, str]
    ) -> AbstractContextManager[Path]:
        """The folder of a training, if no ordinary system has it; other processes wait for it."""
        inputs = [compared_settings(settings), settings.encoder.name, dict(digests)]
        return self._place(settings.run.method, inputs)

    def crf(self, inputs: object, settings: Settings, make: Callable[[], NerModel]) -> NerModel:
        """A CRF that is made of ``inputs``; if it is found here, it gets ``settings``."""
        with self._place("crf", inputs) as place:
            model: NerModel
            if is_model_folder(place):
                model = load_word_model(place, load, change=lambda _: settings)
            else:
                model = _timed(make, place)
                model.save(place)
            self.seconds[place.name] = _seconds(place)
            return model

    @contextmanager
    def _place(self, kind: str, inputs: object) -> Iterator[Path]:
        """Where something that is made of ``inputs`` belongs; other processes wait for it."""
        digest = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]
        place = self.folder / f"{kind}_{digest}"
        self.folder.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        try:
            with FileLock(place.with_suffix(".lock")):
                yield place
        finally:
            before = self.seconds_here.get(place.name, 0.0)
            self.seconds_here[place.name] = before + time.monotonic() - began


def _digests(corpus: Corpus, dev: Corpus) -> dict[str, str]:
    return {"source corpus": corpus_digest(corpus), "dev corpus": corpus_digest(dev)}


def _timed(make: Callable[[], _Made], place: Path) -> _Made:
    """What ``make`` makes; how long it took is kept beside its place."""
    began = time.monotonic()
    made = make()
    write_atomically(_clock(place), [f"{time.monotonic() - began:.3f}\n"])
    return made


def _seconds(place: Path) -> float:
    """How long it took to make what is in a place; 0 if earlier versions made it."""
    clock = _clock(place)
    return float(clock.read_text(encoding="utf-8")) if clock.exists() else 0.0


def _clock(place: Path) -> Path:
    return place.with_suffix(".seconds")
