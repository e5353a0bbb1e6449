"""The spaCy component ``metacross``: finds entities with a model that adapts to each sentence.

spaCy imports this module whenever a pipeline is made (entry point ``spacy_factories``), so it loads
nothing heavy before the component is used.
"""
# Annotations of the factory must not be strings: spaCy reads the types of its settings from them.

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example

from metacross.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from metacross.adaptation.ner_model import NerModel

_HUB = "hub:"
_ANY_LANGUAGE = ("xx", "mul")  # spaCy's codes of pipelines for all languages


@dataclass(frozen=True, slots=True)
class ComponentOptions:
    """The settings of the component in ``config.cfg``; see :func:`make`."""

    model: str | None
    adapt: bool | None
    language: str | None
    device: str
    settings: dict[str, dict[str, Any]]
    words: Literal["spacy", "metacross"]
    overwrite: bool
    spans_key: str | None
    keep_neighbors: bool
    batch_size: int


@Language.factory(
    "metacross",
    default_config={
        "model": None,
        "adapt": None,
        "language": None,
        "device": "auto",
        "settings": {},
        "words": "spacy",
        "overwrite": True,
        "spans_key": "metacross",
        "keep_neighbors": False,
        "batch_size": 64,
    },
    assigns=["doc.ents", "token.ent_iob", "token.ent_type", "doc.spans", "span._.metacross_score"],
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make(
    nlp: Language,
    name: str,
    model: str | None,
    adapt: bool | None,
    language: str | None,
    device: str,
    settings: dict[str, dict[str, Any]],
    words: Literal["spacy", "metacross"],
    overwrite: bool,
    spans_key: str | None,
    keep_neighbors: bool,
    batch_size: int,
) -> "MetacrossComponent":
    """Make the component.

    Args:
        nlp: The pipeline.
        name: The name of the component in it.
        model: Model folder; null: it is given by ``from_disk``.
        adapt: Whether to adapt to each sentence; null: what the model was trained for.
        language: Language code of the texts; null: that of the pipeline.
        device: ``auto``, ``cpu``, ``cuda`` or ``mps``.
        settings: How to adapt, by groups: ``{"adaptation": {"learning_rate": 3e-5}}``.
        words: ``spacy``: the tokens are the words; ``metacross``: the text is split into words as
            in ``model.predict``, and entities are widened to whole tokens.
        overwrite: Whether the entities of earlier components are dropped. If not, they stay, and
            entities that do not overlap them are added.
        spans_key: Where in ``doc.spans`` entities and scores are written; null: nowhere.
        keep_neighbors: Whether to keep the source sentences that each sentence learned from.
        batch_size: At most this many documents are labeled together.
    """
    if batch_size < 1:
        raise SettingsError(f"{name}: batch_size: expected at least 1, found {batch_size}")
    options = ComponentOptions(
        model=model,
        adapt=adapt,
        language=language or (None if nlp.lang in _ANY_LANGUAGE else nlp.lang),
        device=device,
        settings=settings,
        words=words,
        overwrite=overwrite,
        spans_key=spans_key,
        keep_neighbors=keep_neighbors,
        batch_size=batch_size,
    )
    return MetacrossComponent(name, options)


class MetacrossComponent(Pipe):
    """Finds the entities of documents. The model is loaded when the first document comes."""

    def __init__(self, name: str, options: ComponentOptions) -> None:
        from metacross.serving.spacy_documents import register_extensions

        register_extensions()
        self.name = name
        self.options = options
        self._source: str | Path | None = _located(options.model)
        self._model: NerModel | None = None
        self._process = os.getpid()

    @property
    def ner_model(self) -> "NerModel":
        """The model; loaded on first use."""
        if self._model is None:
            from metacross.adaptation.loading import load

            overrides: dict[str, Any] = self.options.settings
            self._model = load(self._required(), device=self.options.device, **overrides)
        return self._model

    @property
    def labels(self) -> tuple[str, ...]:
        """The entity types; none if there is no model yet."""
        if self._model is not None:
            return self._model.labels
        from metacross.model.model_mark import is_model_folder, saved_labels

        if not isinstance(self._source, Path) or not is_model_folder(self._source):
            return ()
        return saved_labels(self._source)

    def __call__(self, doc: Doc) -> Doc:
        """Find the entities of a document."""
        self._annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 64) -> Iterator[Doc]:
        """Find the entities of many documents, whose sentences are labeled together."""
        handle_error: Callable[..., Any] = self.get_error_handler()
        remaining, size = iter(stream), max(1, min(batch_size, self.options.batch_size))
        while docs := list(islice(remaining, size)):
            try:
                self._annotate(docs)
            except Exception as problem:  # noqa: BLE001 - spaCy's error handler decides
                handle_error(self.name, self, docs, problem)
            else:
                yield from docs

    def _annotate(self, docs: list[Doc]) -> None:
        from metacross.serving.spacy_documents import annotate, sentences_of

        options = self.options
        self._make_safe_after_fork()
        sentences_by_doc = [
            sentences_of(doc, words=options.words, language=options.language) for doc in docs
        ]
        stream = (sentence for placed in sentences_by_doc for _, sentence in placed)
        predictions = self.ner_model.predict_stream(stream, adapt=options.adapt)
        for doc, placed in zip(docs, sentences_by_doc, strict=True):
            starts = [start for start, _ in placed]
            annotate(
                doc,
                list(zip(starts, islice(predictions, len(placed)), strict=True)),
                overwrite=options.overwrite,
                spans_key=options.spans_key,
                keep_neighbors=options.keep_neighbors,
            )

    def score(self, examples: Iterable[Example], **kwargs: object) -> dict[str, Any]:
        """Precision, recall and F1 of ``doc.ents``, for ``nlp.evaluate``."""
        return get_ner_prf(examples)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the whole model, so that the pipeline works on another machine."""
        from metacross.serving.model_copies import copy_model

        with self._folder() as folder:
            copy_model(folder, Path(path))

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "MetacrossComponent":
        """Use the model in a folder instead of the one in the config."""
        from metacross.model.model_mark import saved_labels

        saved_labels(path)  # reports a folder without a model
        self._source, self._model = Path(path).absolute(), None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The whole model as bytes; at most 2 GB."""
        from metacross.serving.model_copies import packed_model

        with self._folder() as folder:
            packed: bytes = srsly.msgpack_dumps(packed_model(folder))
        return packed

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "MetacrossComponent":
        """Load the model that :meth:`to_bytes` packed."""
        from metacross.serving.model_copies import temporary_folder, unpack_model

        with temporary_folder() as folder:
            unpack_model(srsly.msgpack_loads(data), Path(folder))
            self._source, self._model = Path(folder), None
            try:
                _ = self.ner_model
            finally:
                self._source = None
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A worker of ``nlp.pipe`` reads the same folder; elsewhere the model goes along."""
        is_on_this_machine = get_spawning_popen() is not None and self._source is not None
        if is_on_this_machine or (self._source is None and self._model is None):
            return _restored, (self.name, self.options, self._source, None)
        return _restored, (self.name, self.options, None, self.to_bytes())

    def _required(self) -> str | Path:
        if self._source is None:
            raise ModelError(
                f"{self.name}: expected a model, found none; give its folder: "
                'nlp.add_pipe("metacross", config={"model": "models/en"})'
            )
        return self._source

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """The folder of the model; a temporary one if it has none on this machine."""
        if isinstance(self._source, Path) and self._source.is_dir():
            yield self._source
            return
        from metacross.serving.model_copies import temporary_folder

        with temporary_folder() as folder:
            self.ner_model.save(folder)
            yield Path(folder)

    def _make_safe_after_fork(self) -> None:
        """Compute with one thread in a forked process: the threads of its parent are not in it,
        and waiting for them would take forever. ``n_process`` makes such processes.
        """
        if self._process == os.getpid():
            return
        import torch

        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        torch.set_num_threads(1)
        self._process = os.getpid()


def _located(model: str | None) -> str | Path | None:
    """A folder stays the same when the program changes its directory before the first document."""
    if model is None or model.startswith(_HUB):
        return model
    return Path(model).absolute()


def _restored(
    name: str, options: ComponentOptions, source: str | Path | None, data: bytes | None
) -> MetacrossComponent:
    component = MetacrossComponent(name, options)
    if data is not None:
        return component.from_bytes(data)
    component._source = source
    return component
