"""A CRF over features of words: trained by CRFsuite, decoded here."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file
from torch import Tensor

from metacross.baseline_settings import CrfSettings
from metacross.errors import ModelError, SettingsError
from metacross.model.crf import Chain
from metacross.model.word_features import WordFeatures
from metacross.model.word_tagger import WordTagger, read_description, read_weights
from metacross.text.gazetteer import read_gazetteer
from metacross.text.sentence import Corpus, Sentence
from metacross.text.tags import TagSet, tags_from_spans
from metacross.text.word_clusters import WordClusters

_WEIGHTS, _DESCRIPTION = "crf.safetensors", "crf.json"
_CLUSTERS, _GAZETTEER = "clusters-{}.tsv", "gazetteer.tsv"


class LinearCrf(WordTagger):
    """The weights of a CRF by attribute and tag.

    *Shape:* ``weights`` (attributes, tags), ``transitions`` (tags, tags).
    """

    kind: ClassVar[str] = "crf"

    def __init__(
        self,
        tag_set: TagSet,
        features: WordFeatures,
        attributes: Sequence[str],
        *,
        weights: Tensor,
        transitions: Tensor,
    ) -> None:
        n_tags = len(tag_set)
        if weights.shape != (len(attributes), n_tags) or transitions.shape != (n_tags, n_tags):
            raise ModelError(
                f"expected CRF weights of {len(attributes):,} attributes and {n_tags} tags, "
                f"found {tuple(weights.shape)} and {tuple(transitions.shape)}"
            )
        self._tag_set = tag_set
        self.features = features
        self._rows = {attribute: row for row, attribute in enumerate(attributes)}
        self._weights, self._transitions = weights, transitions

    @property
    def tag_set(self) -> TagSet:
        """The tags that it knows."""
        return self._tag_set

    @property
    def chain(self) -> Chain:
        """The scores of tags that follow each other; none for starts and ends."""
        nothing = torch.zeros(len(self._tag_set))
        return Chain(self._transitions, nothing, nothing)

    def emissions(self, sentences: Sequence[Sentence]) -> list[Tensor]:
        """The sums of the weights of each word's attributes. *Shape:* each (words, tags)."""
        return [self._emissions(sentence.words) for sentence in sentences]

    def _emissions(self, words: Sequence[str]) -> Tensor:
        rows: list[int] = []
        offsets = []
        for attributes in self.features.of(words):
            offsets.append(len(rows))
            rows += [self._rows[a] for a in attributes if a in self._rows]
        return torch.nn.functional.embedding_bag(
            torch.tensor(rows, dtype=torch.long), self._weights, torch.tensor(offsets), mode="sum"
        )

    def write(self, folder: Path) -> None:
        """Write weights, attributes, and the clusters and names that the features need."""
        tensors = {"weights": self._weights, "transitions": self._transitions}
        save_file(tensors, folder / _WEIGHTS)
        features = self.features
        for number, clusters in enumerate(features.clusters):
            clusters.write(folder / _CLUSTERS.format(number))
        if features.gazetteer is not None:
            features.gazetteer.write(folder / _GAZETTEER)
        description = {
            "words": features.words,
            "affixes": features.affixes,
            "clusters": len(features.clusters),
            "gazetteer": features.gazetteer is not None,
            "attributes": list(self._rows),
        }
        text = json.dumps(description, ensure_ascii=False) + "\n"
        (folder / _DESCRIPTION).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path, tag_set: TagSet) -> LinearCrf:
        """Read what :meth:`write` wrote."""
        description = read_description(folder / _DESCRIPTION, ("words", "affixes", "attributes"))
        features = WordFeatures(
            words=bool(description["words"]),
            affixes=bool(description["affixes"]),
            clusters=tuple(
                WordClusters.read(folder / _CLUSTERS.format(number))
                for number in range(int(description.get("clusters", 0)))
            ),
            gazetteer=read_gazetteer(folder / _GAZETTEER) if description.get("gazetteer") else None,
        )
        tensors = read_weights(folder / _WEIGHTS, ("weights", "transitions"))
        return cls(tag_set, features, description["attributes"], **tensors)


def train_linear_crf(
    corpora: Sequence[Corpus], tag_set: TagSet, features: WordFeatures, settings: CrfSettings
) -> LinearCrf:
    """Train on labeled corpora by L-BFGS. Training is deterministic."""
    trainer = _trainer(settings)
    examples = [
        (features.of(sentence.words), tags_from_spans(sentence.spans or (), len(sentence.words)))
        for corpus in corpora
        for sentence in corpus
    ]
    counts = Counter(a for attributes, _ in examples for word in attributes for a in word)
    frequent = {attribute for attribute, n in counts.items() if n >= settings.min_count}
    for attributes, tags in examples:
        trainer.append([[a for a in word if a in frequent] for word in attributes], list(tags))
    with tempfile.TemporaryDirectory(prefix="metacross-") as folder:
        path = str(Path(folder) / "model.crfsuite")
        trainer.train(path)
        return _exported(path, tag_set, features)


def _trainer(settings: CrfSettings) -> Any:  # noqa: ANN401 - pycrfsuite has no types
    try:
        import pycrfsuite
    except ImportError:
        raise SettingsError(
            "python-crfsuite is not installed: pip install 'metacross[baselines]'"
        ) from None
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {"c1": settings.l1, "c2": settings.l2, "max_iterations": settings.iterations}
    )
    return trainer


def _exported(path: str, tag_set: TagSet, features: WordFeatures) -> LinearCrf:
    """The weights of a model file that was written just now, as tensors."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    info = tagger.info()
    tagger.close()
    columns = {tag: i for i, tag in enumerate(tag_set.tags)}
    attributes = tuple(sorted({attribute for attribute, _ in info.state_features}))
    rows = {attribute: row for row, attribute in enumerate(attributes)}
    weights = torch.zeros(len(attributes), len(columns))
    for (attribute, tag), weight in info.state_features.items():
        weights[rows[attribute], columns[tag]] = weight
    transitions = torch.zeros(len(columns), len(columns))
    for (before, after), weight in info.transitions.items():
        transitions[columns[before], columns[after]] = weight
    return LinearCrf(tag_set, features, attributes, weights=weights, transitions=transitions)
