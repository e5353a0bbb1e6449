"""Measures what labeled target sentences bring, by the way they are chosen and learned from."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.remembering import with_datastore_of, with_remembered
from metacross.adaptation.selection import SelectBy, select
from metacross.errors import SettingsError
from metacross.metrics.scoring import counts_by_sentence
from metacross.model.encoder import weights_digest
from metacross.settings import parse_overrides
from metacross.study.active_results import NOTHING, ActiveFolder, ActiveResult
from metacross.study.models import trained_model
from metacross.study.plan import Study
from metacross.study.study_corpora import StudyCorpora, Target, read_study_corpora
from metacross.text.sentence import Corpus
from metacross.training.run_folder import AFTER_TRAINING, corpus_digest
from metacross.training.sampling import random_subset
from metacross.training.train import loaded_model

LEARNINGS = ("remember", "fine-tune", "both")
SIZES = (25, 50, 100, 200)
POOL_SENTENCES = 2_000
_SYSTEM = "ours"


@dataclass(frozen=True, slots=True)
class ActiveStudy:
    """What is measured.

    Args:
        study: Corpora, recipe and seeds; it has one system.
        sizes: Numbers of labeled sentences, ascending.
        ways: How sentences are chosen.
        learnings: How the model learns from them: ``remember``, ``fine-tune`` or ``both``.
        pool_sentences: Random sentences of the target's training corpus to choose from.
        models: Folders of trained models by seed; a model is trained for other seeds.
    """

    study: Study
    sizes: tuple[int, ...] = SIZES
    ways: tuple[SelectBy, ...] = tuple(SelectBy)
    learnings: tuple[str, ...] = LEARNINGS
    pool_sentences: int = POOL_SENTENCES
    models: Mapping[int, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.sizes or list(self.sizes) != sorted({*self.sizes}) or self.sizes[0] < 1:
            raise SettingsError(f"--sizes: expected ascending numbers above 0, found {self.sizes}")
        unknown = [learning for learning in self.learnings if learning not in LEARNINGS]
        if unknown:
            raise SettingsError(
                f"--learn-by: expected {', '.join(LEARNINGS)}, found {', '.join(unknown)}"
            )


Report = Callable[[ActiveResult], None]


def run_active_study(
    active: ActiveStudy,
    folder: ActiveFolder,
    *,
    on_result: Report = lambda _result: None,
) -> list[ActiveResult]:
    """Measure what is missing in a folder; gives all results of the study.

    For every seed a model chooses sentences of the pool, learns their gold labels, and is scored on
    the target. It remembers what it has chosen so far when it chooses the next sentences, whatever
    it learns by, so all ways to learn are compared on the same sentences.
    """
    settings = active.study.settings(_SYSTEM, active.study.seeds[0])
    groups = read_study_corpora(active.study, settings.data)
    _check_pools(active, [target for corpora in groups for target in corpora.targets])
    done = {result.key: result for result in folder.results()}
    results: list[ActiveResult] = []
    for seed in active.study.seeds:
        for corpora in groups:
            model = _base_model(active, corpora, seed, folder)
            for target in corpora.targets:
                work = _TargetWork(active, model, target, seed, done)
                for result in work.results():
                    if result.key not in done:
                        folder.add(result)
                        done[result.key] = result
                    on_result(result)
                    results.append(result)
    return results


def _check_pools(active: ActiveStudy, targets: Sequence[Target]) -> None:
    """Refuse targets without enough sentences to choose from, before a model is trained."""
    missing = [target.name for target in targets if target.train is None]
    if missing:
        data = "--source, --dev, --target and " if active.study.data.source is None else ""
        raise SettingsError(
            f"data.target_train: expected labeled sentences of {', '.join(missing)} to choose "
            f"from; give {data}--train {missing[0]}=FILE"
        )
    for target in targets:
        n_sentences = min(len(target.train or ()), active.pool_sentences)
        if n_sentences < active.sizes[0]:
            raise SettingsError(
                f"--sizes: expected numbers up to {n_sentences:,}, because there are no more "
                f"sentences of {target.name} to choose from, found {_listed(active.sizes)}"
            )


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes)


def _base_model(
    active: ActiveStudy, corpora: StudyCorpora, seed: int, folder: ActiveFolder
) -> NerModel:
    """The model that learns: given, or trained as the study says. Of the study's settings a given
    model takes those that are set one by one, not the recipe's: it was trained with its own.
    """
    settings = active.study.settings(_SYSTEM, seed)
    if seed in active.models:
        caches = settings.run.model_dump(
            include={"gradient_cache_mb", "gradient_folder", "gradient_folder_mb"}
        )
        changes = parse_overrides(change for change in active.study.set if "=" in change)
        overrides: dict[str, Any] = {
            group: values for group, values in changes.items() if group in AFTER_TRAINING
        }
        return load(active.models[seed], device=settings.run.device, run=caches, **overrides)
    run_folder = folder.runs / f"{corpora.labels_name}_seed-{seed}"
    trained_model(corpora, settings, run_folder)
    return loaded_model(run_folder, settings)


@dataclass(frozen=True, slots=True)
class _TargetWork:
    """A model with a seed, on a target."""

    active: ActiveStudy
    model: NerModel
    target: Target
    seed: int
    done: Mapping[str, ActiveResult]

    def results(self) -> Iterator[ActiveResult]:
        """All results, those that exist already included."""
        pool = self._pool()
        digest = self._digest(pool)
        yield self._result(digest, NOTHING, NOTHING, (), lambda: (self.model, 0.0))
        for way in self.active.ways:
            chosen: list[int] = []
            for size in self.active.sizes:
                if size > len(pool):
                    break
                chosen, seconds = self._chosen(digest, pool, way, chosen, size)
                labeled = Corpus(tuple(pool[position] for position in chosen), source=pool.source)
                tuned: list[tuple[NerModel, float]] = []  # both that fine-tune share a model
                for learning in self.active.learnings:
                    yield self._result(
                        digest,
                        str(way),
                        learning,
                        tuple(chosen),
                        partial(self._learned, learning, labeled, tuned),
                        select_seconds=seconds,
                    )

    def _pool(self) -> Corpus:
        train = self.target.train or Corpus(())  # checked before anything is trained
        return random_subset(train, min(len(train), self.active.pool_sentences), self.seed)

    def _digest(self, pool: Corpus) -> str:
        """Identifies everything that the results depend on, except what was chosen."""
        groups = {"adaptation", "retrieval", "fine_tuning", "optimizer"}
        if self.model.settings.prediction.decoding != "argmax":  # as it was for earlier results
            groups.add("prediction")
        settings = self.model.settings.model_dump(mode="json", include=groups)
        values = [
            weights_digest(self.model.tagger.network),
            settings,
            corpus_digest(pool),
            corpus_digest(self.target.corpus),
            self.seed,
        ]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def _key(self, digest: str, way: str, learning: str, sizes: Sequence[int]) -> str:
        values = json.dumps([digest, way, learning, list(sizes)])
        return hashlib.sha256(values.encode()).hexdigest()[:16]

    def _sizes_up_to(self, size: int) -> list[int]:
        return [each for each in self.active.sizes if each <= size]

    def _chosen(
        self, digest: str, pool: Corpus, way: SelectBy, before: Sequence[int], size: int
    ) -> tuple[list[int], float]:
        """The positions of ``size`` sentences, those chosen before first; the time it took."""
        sizes = self._sizes_up_to(size)
        for learning in self.active.learnings:  # chosen in an earlier run
            stored = self.done.get(self._key(digest, str(way), learning, sizes))
            if stored is not None and len(stored.positions) == size:
                return list(stored.positions), stored.select_seconds
        start = time.monotonic()
        parts = with_remembered(self.model.parts, ())
        choosing = NerModel(parts)
        choosing.remember(pool[position] for position in before)
        labeled = [pool[position] for position in before]
        n_new = size - len(before)
        known = {sentence.words for sentence in labeled}
        new: list[int] = []
        if any(sentence.words not in known for sentence in pool):
            found = select(choosing, pool, n=n_new, by=way, labeled=labeled, seed=self.seed)
            new = [item.position for item in found]
        if len(new) < n_new:  # only copies are left: fill up at random
            taken = {*before, *new}
            rest = [position for position in range(len(pool)) if position not in taken]
            random.Random(self.seed).shuffle(rest)
            new += rest[: n_new - len(new)]
        return [*before, *new], time.monotonic() - start

    def _learned(
        self, learning: str, labeled: Corpus, tuned: list[tuple[NerModel, float]]
    ) -> tuple[NerModel, float]:
        """A model that learned from labeled sentences, and the seconds it took; the first model is
        unchanged.
        """
        seconds = 0.0
        parts = with_remembered(self.model.parts, ())
        if learning != "remember":
            if not tuned:
                start = time.monotonic()
                model = self.model.fine_tune(labeled, seed=self.seed)
                tuned.append((model, time.monotonic() - start))
            model, seconds = tuned[0]
            if learning == "fine-tune":
                return model, seconds
            parts = with_datastore_of(model.parts, parts)
        start = time.monotonic()
        model = NerModel(parts)
        model.remember(labeled)
        return model, seconds + time.monotonic() - start

    def _result(
        self,
        digest: str,
        way: str,
        learning: str,
        positions: tuple[int, ...],
        learn: Callable[[], tuple[NerModel, float]],
        *,
        select_seconds: float = 0.0,
    ) -> ActiveResult:
        key = self._key(digest, way, learning, self._sizes_up_to(len(positions)))
        if key in self.done:
            return self.done[key]
        model, seconds = learn()
        gold = self.target.corpus
        predicted = Corpus(tuple(p.labeled for p in model.predict_stream(gold)))
        rows = counts_by_sentence(gold, predicted).tolist()
        return ActiveResult(
            key=key,
            target=self.target.name,
            seed=self.seed,
            way=way,
            learning=learning,
            size=len(positions),
            positions=positions,
            counts=tuple((row[0], row[1], row[2]) for row in rows),
            seconds=round(seconds, 2),
            select_seconds=round(select_seconds, 2),
        )
