"""Labels the sentences of a part and writes them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import metacross
from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import SentencePrediction
from metacross.adaptation.prediction_records import (
    neighbor_place,
    prediction_record,
    scored_record,
)
from metacross.adaptation.sentence_adapter import EngineName
from metacross.errors import DataError, ModelError
from metacross.model.hub_models import find_model
from metacross.model.model_digest import model_digest
from metacross.serving.bulk.output_folder import OutputFolder, Receipt
from metacross.serving.bulk.part_files import write_records
from metacross.text.formats import BulkOutput
from metacross.text.input_parts import InputPart
from metacross.text.part_reading import read_part
from metacross.text.sentence import Sentence

_MOST_TOGETHER = 5_000  # sentences


@dataclass(frozen=True, slots=True)
class BulkModel:
    """A model, how it is loaded and how it labels; a worker can be on another machine.

    ``location`` is absolute, or ``hub:OWNER/NAME@COMMIT``. ``threads`` are those of torch, which
    change the last bits of a result, and so do ``versions``.
    """

    location: str
    digest: str
    device: str
    engine: EngineName
    overrides: Mapping[str, Mapping[str, Any]]
    adapt: bool
    threads: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BulkTarget:
    """Where parts are written, and how. ``hide_source`` leaves out the sentences of neighbors."""

    folder: str
    n_parts: int
    to: BulkOutput
    hide_source: bool

    @property
    def output_folder(self) -> OutputFolder:
        """The folder with names for all parts."""
        return OutputFolder(self.folder, str(self.to), n_parts=self.n_parts)


def versions() -> dict[str, str]:
    """Versions of what the bits of a result depend on."""
    return {"metacross": metacross.__version__, "torch": str(torch.__version__)}


class PartLabeler:
    """A loaded model that labels parts. What it writes depends on the part alone, not on the parts
    before: recordings of source sentences are reused in a part and then forgotten.
    """

    def __init__(self, model: BulkModel, target: BulkTarget, *, device: str | None = None) -> None:
        """``device`` is that of this worker; None: the model's."""
        torch.set_num_threads(model.threads)
        _check_same_versions(model)
        self._adapt = model.adapt
        self._target = target
        self._folder = target.output_folder
        self._model = _loaded(model, device or model.device)

    @property
    def fallback_reason(self) -> str | None:
        """Why the textbook loop adapted where the fast engine was asked for; None: it did not."""
        return self._model.fallback_reason if self._adapt else None

    def label(self, part: InputPart, progress: Callable[[float], None]) -> Receipt:
        """Label a part, unless that is done already; ``progress`` is called with the fraction that
        is done.
        """
        receipt = self._folder.receipt(part)
        if receipt is not None:
            return receipt
        began = time.monotonic()
        sentences = list(read_part(part))
        self._model.clear_gradient_cache()
        records = self._records(sentences, progress)
        return self._folder.write_part(
            part,
            lambda path: write_records(records, path, self._target.to),
            lambda: time.monotonic() - began,
        )

    def _records(
        self, sentences: Sequence[Sentence], progress: Callable[[float], None]
    ) -> Iterator[dict[str, Any]]:
        predictions = self._model.predict_stream(
            sentences,
            adapt=self._adapt,
            chunk_size=_MOST_TOGETHER,
            progress=lambda n_done: progress(n_done / len(sentences)),
        )
        for prediction in predictions:
            yield {"source": str(prediction.sentence.origin), **self._record(prediction)}

    def _record(self, prediction: SentencePrediction) -> dict[str, Any]:
        if not self._target.hide_source or not prediction.neighbors:
            return prediction_record(prediction)
        return {
            **scored_record(prediction),
            "neighbors": [neighbor_place(neighbor) for neighbor in prediction.neighbors],
        }


def _loaded(model: BulkModel, device: str) -> NerModel:
    folder = find_model(model.location).folder
    if model_digest(folder) != model.digest:
        raise ModelError(
            f"{model.location}: expected the model that the annotation began with, found another "
            "in this folder; every worker needs the same files"
        )
    return load(folder, device=device, engine=model.engine, **model.overrides)


def _check_same_versions(model: BulkModel) -> None:
    here = versions()
    for name, version in model.versions.items():
        if here.get(name, version) != version:
            raise DataError(
                f"expected {name} {version} on every machine, found {here[name]}; install the same"
            )
