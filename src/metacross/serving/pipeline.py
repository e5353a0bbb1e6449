"""Hugging Face pipelines that adapt: ``metacross.pipeline`` and the task ``metacross``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import transformers
from transformers.pipelines import PIPELINE_REGISTRY

from metacross.adaptation.loading import load
from metacross.adaptation.ner_model import NerModel
from metacross.adaptation.prediction import Prediction
from metacross.errors import DataError, ModelError, SettingsError

TASK = "metacross"
_BATCH_SIZE = 64  # texts of a stream that are labeled together
_STRATEGIES = ("simple", "first", "average", "max")

EntityGroup: TypeAlias = dict[str, Any]
"""``entity_group``, ``score``, ``word``, ``start`` and ``end`` of an entity."""


@dataclass(frozen=True, slots=True)
class _ModelReference:
    """Where a model is. transformers "loads" it for the task; the pipeline then loads the model on
    its device, with everything that adaptation needs.
    """

    location: str

    @classmethod
    def from_pretrained(
        cls, name: str, revision: str | None = None, **_options: object
    ) -> _ModelReference:
        if Path(name).is_dir():
            return cls(name)
        return cls(f"hub:{name}@{revision}" if revision else f"hub:{name}")


class EntityPipeline(transformers.Pipeline):
    """Finds entities, with the output of transformers' pipeline ``token-classification``.

    ``metacross.pipeline`` makes one. It adapts to each sentence, splits documents into
    sentences and reads texts of any length to their end.

    Args:
        model: The model.
        device: Only for ``transformers.pipeline``, which gives the place of the model.
        task: The name under which it is registered.
        parameters: ``adapt``, ``language`` and ``ignore_labels`` of all calls.
    """

    _load_tokenizer: Any = False
    _load_processor: Any = False
    _load_feature_extractor: Any = False
    _load_image_processor: Any = False
    _load_video_processor: Any = False

    def __init__(
        self,
        model: NerModel | _ModelReference,
        *,
        device: object = None,
        task: str = TASK,
        **parameters: Any,  # noqa: ANN401 - any type
    ) -> None:
        if isinstance(model, _ModelReference):
            model = load(model.location, device=_device_name(device))
        if not isinstance(model, NerModel):
            raise ModelError(
                f"model: expected a model folder, found {type(model).__name__}; "
                f'use pipeline("{TASK}", model="models/en")'
            )
        self.ner_model = model
        super().__init__(
            model=model.tagger.network,  # type: ignore[arg-type]
            tokenizer=model.tagger.tokenizer.fast,
            device=model.tagger.device,
            task=task,
            **parameters,
        )

    def __call__(  # type: ignore[override]
        self,
        inputs: str | Iterable[str],
        *,
        batch_size: int | None = None,
        num_workers: int | None = None,
        **parameters: Any,  # noqa: ANN401 - any type
    ) -> Any:  # noqa: ANN401 - depends on the type of ``inputs``
        """Find the entities of texts.

        Args:
            inputs: A text gives a list of entities, a list of texts a list of such lists. An
                iterator or a data set of texts gives an iterator.
            batch_size: How many texts of an iterator are read and labeled together.
            num_workers: Ignored: the model works in one process.
            parameters: ``adapt`` and ``language`` as in ``NerModel.predict``, and
                ``ignore_labels``, entity types to leave out.
        """
        _, forward, postprocess = self._sanitize_parameters(**parameters)
        forward = {**self._forward_params, **forward}
        postprocess = {**self._postprocess_params, **postprocess}
        if isinstance(inputs, str):
            (entities,) = self._labeled([inputs], forward, postprocess)
            return entities
        if isinstance(inputs, list | tuple):
            return self._labeled(inputs, forward, postprocess)
        try:
            texts = iter(inputs)
        except TypeError:
            found = type(inputs).__name__
            raise DataError(f"expected a text or texts, found {found}") from None
        size = batch_size or self._batch_size or _BATCH_SIZE
        return self._stream(texts, size, forward, postprocess)

    def _stream(
        self,
        texts: Iterator[str],
        batch_size: int,
        forward: Mapping[str, Any],
        postprocess: Mapping[str, Any],
    ) -> Iterator[list[EntityGroup]]:
        while batch := list(islice(texts, batch_size)):
            yield from self._labeled(batch, forward, postprocess)

    def _labeled(
        self, texts: Sequence[str], forward: Mapping[str, Any], postprocess: Mapping[str, Any]
    ) -> list[list[EntityGroup]]:
        predictions = self._forward(self.preprocess(texts), **forward)
        return [self.postprocess(prediction, **postprocess) for prediction in predictions]

    def _sanitize_parameters(
        self, aggregation_strategy: object = "first", **parameters: object
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Parameters of the three steps; transformers calls it with those of ``__init__``."""
        strategy = getattr(aggregation_strategy, "value", aggregation_strategy)
        if strategy not in _STRATEGIES:
            raise SettingsError(
                f"aggregation_strategy: expected one of {', '.join(_STRATEGIES)}, which all give "
                f"whole entities here, found {strategy!r}"
            )
        known = ("adapt", "language", "ignore_labels")
        for name in parameters:
            if name not in known:
                raise SettingsError(f"unknown parameter {name}; expected one of {', '.join(known)}")
        forward = {name: parameters[name] for name in known[:2] if name in parameters}
        postprocess = {name: parameters[name] for name in known[2:] if name in parameters}
        return {}, forward, postprocess

    def preprocess(self, input_: Sequence[str], **_parameters: object) -> list[str]:  # type: ignore[override]
        """The texts, which the model splits into sentences and words itself."""
        for text in input_:
            if not isinstance(text, str):
                raise DataError(
                    f"expected texts, found {type(text).__name__}; give the texts of a data set "
                    'with transformers.pipelines.pt_utils.KeyDataset(dataset, "text")'
                )
        return list(input_)

    def _forward(  # type: ignore[override]
        self,
        input_tensors: list[str],
        *,
        adapt: bool | None = None,
        language: str | None = None,
    ) -> list[Prediction]:
        return self.ner_model.predict(input_tensors, adapt=adapt, language=language)

    def postprocess(  # type: ignore[override]
        self, model_outputs: Prediction, *, ignore_labels: Collection[str] = ()
    ) -> list[EntityGroup]:
        """The entities of a text as transformers writes them."""
        return [
            {
                "entity_group": entity.label,
                "score": entity.score,
                "word": entity.text,
                "start": entity.start,
                "end": entity.end,
            }
            for entity in model_outputs.entities
            if entity.label not in ignore_labels
        ]

    def save_pretrained(self, save_directory: str | Path, **_options: object) -> None:  # type: ignore[override]
        """Write the model folder.

        transformers would also write the code of this class and an entry in ``config.json``, after
        which everybody would need ``trust_remote_code`` to open the folder.
        """
        self.ner_model.save(save_directory)

    def push_to_hub(self, *_arguments: object, **_options: object) -> NoReturn:
        """Refused: the model folder contains the labeled source sentences."""
        raise ModelError(
            "push_to_hub: refused, because the folder of a model contains its labeled source "
            "sentences; use metacross.push, which asks for their license"
        )


def pipeline(
    model: str | Path | NerModel,
    *,
    device: str = "auto",
    adapt: bool | None = None,
    language: str | None = None,
) -> EntityPipeline:
    """A pipeline like ``transformers.pipeline("token-classification")`` that adapts.

        find_entities = metacross.pipeline("models/en")
        for entity in find_entities("Angela Merkel besuchte Wolfsburg.", language="de"):
            print(entity["entity_group"], entity["score"], entity["word"], entity["start"])

    Args:
        model: A model folder, or a model.
        device: Where to load the model, as in ``metacross.load``.
        adapt: Whether to adapt; None means what the model was trained for.
        language: Language code of the texts, such as ``"es"``.
    """
    loaded = model if isinstance(model, NerModel) else load(model, device=device)
    return EntityPipeline(loaded, adapt=adapt, language=language)


def register_pipelines() -> None:
    """Make the task ``metacross`` known to ``transformers.pipeline``.

        metacross.register_pipelines()
        transformers.pipeline("metacross", model="models/en")

    No code is loaded from the model folder.
    """
    if TASK not in PIPELINE_REGISTRY.supported_tasks:
        PIPELINE_REGISTRY.register_pipeline(
            TASK, pipeline_class=EntityPipeline, pt_model=_ModelReference, type="text"
        )


def _device_name(device: object) -> str:
    """The device of ``transformers.pipeline`` as metacross spells it: -1 is the CPU, 0 a GPU."""
    if device is None:
        return "auto"
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return str(device)
