"""The resources of a language pair: their files, read when they are needed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import Field

from metacross.errors import SettingsError
from metacross.settings_group import SettingsGroup
from metacross.text.gazetteer import Gazetteer, read_gazetteer
from metacross.text.lexicon import Lexicon, read_lexicon
from metacross.text.parallel_text import (
    Links,
    ParallelLanguages,
    SentencePair,
    read_alignments,
    read_parallel,
)
from metacross.text.parts_of_speech import PosSentence, read_parts_of_speech
from metacross.text.raw_text import read_raw_text
from metacross.text.resource_files import file_digest
from metacross.text.sentence import Corpus
from metacross.text.word_clusters import WordClusters, read_clusters
from metacross.text.word_vectors import WordVectors, read_vectors

MAKING = ("raw_text", "lexicon", "parallel", "alignments", "vectors", "source_vectors")
"""The resources that corpora are translated with."""
_ATTRIBUTES = {"parallel": "pairs", "alignments": "given_links"}
"""How :class:`Resources` calls what is in the files of a resource, where the names differ."""


class ResourceFiles(SettingsGroup):
    """Files for a target language; null: not given. Names that end in ``.gz`` are decompressed."""

    raw_text: str | None = Field(None, description="raw text of the target language")
    lexicon: str | None = Field(None, description="source word, TAB, target word [, TAB, weight]")
    parallel: str | None = Field(
        None, description="source sentence, TAB, target sentence; or two files with a comma"
    )
    alignments: str | None = Field(
        None, description="links such as 0-0 1-2 for each line of the parallel text"
    )
    vectors: str | None = Field(None, description="word vectors of the target language")
    source_vectors: str | None = Field(None, description="word vectors of the source language")
    clusters: str | None = Field(None, description="cluster, TAB, word, of both languages")
    gazetteer: str | None = Field(None, description="name, TAB, type [, TAB, language]")
    pos: str | None = Field(None, description="parts of speech of target sentences, CoNLL-U")
    source_pos: str | None = Field(None, description="parts of speech of source sentences, CoNLL-U")

    def given(self) -> dict[str, str]:
        """The files that were given, by resource."""
        return {name: file for name, file in self.model_dump().items() if file is not None}

    def digests(self, names: Collection[str] | None = None) -> dict[str, str]:
        """Digests of the contents of the files of some resources; None: of all."""
        return {
            name: ",".join(map(file_digest, _parts(file)))
            for name, file in self.given().items()
            if names is None or name in names
        }


def _parts(file: str) -> Sequence[str]:
    """The two files of ``SOURCE,TARGET``, or the one."""
    return (file,) if Path(file).exists() else file.split(",")


def option_of(resource: str) -> str:
    """The option that gives a resource.

    >>> option_of("raw_text")
    '--raw-text'
    """
    return f"--{resource.replace('_', '-')}"


class Resources:
    """The resources of a language pair. A resource that was not given is an error when asked for,
    or None where it is optional.
    """

    def __init__(
        self, files: ResourceFiles, *, source_language: str | None, target_language: str
    ) -> None:
        self.files = files
        self.source_language = source_language
        self.target_language = target_language

    def has(self, resource: str) -> bool:
        """Whether a resource was given."""
        return resource in self.files.given()

    def read(self, names: Iterable[str]) -> None:
        """Read files now that are needed later: a mistake in one is found before training."""
        for name in names:
            getattr(self, _ATTRIBUTES.get(name, name))

    def _file(self, resource: str) -> str:
        file = self.files.given().get(resource)
        if file is None:
            name = resource.replace("_", " ")
            raise SettingsError(f"expected {name}; give {option_of(resource)} FILE")
        return file

    @cached_property
    def raw_text(self) -> Corpus:
        """Raw text of the target language."""
        return read_raw_text(self._file("raw_text"), language=self.target_language)

    @cached_property
    def lexicon(self) -> Lexicon:
        """A lexicon from the source to the target language."""
        return read_lexicon(self._file("lexicon"))

    @cached_property
    def pairs(self) -> list[SentencePair]:
        """Parallel text."""
        return read_parallel(
            self._file("parallel"),
            ParallelLanguages(self.source_language, self.target_language),
            pretokenized=self.has("alignments"),
        )

    @cached_property
    def given_links(self) -> list[Links] | None:
        """The links of the parallel text; None if they were not given."""
        if not self.has("alignments"):
            return None
        return read_alignments(self._file("alignments"), self.pairs)

    @cached_property
    def vectors(self) -> WordVectors:
        """Word vectors of the target language."""
        return read_vectors(self._file("vectors"))

    @cached_property
    def source_vectors(self) -> WordVectors:
        """Word vectors of the source language."""
        return read_vectors(self._file("source_vectors"))

    @cached_property
    def clusters(self) -> WordClusters:
        """Clusters of words of both languages."""
        return read_clusters(self._file("clusters"))

    @cached_property
    def gazetteer(self) -> Gazetteer:
        """Names with their types."""
        return read_gazetteer(self._file("gazetteer"), self.source_language, self.target_language)

    @cached_property
    def pos(self) -> list[PosSentence]:
        """Sentences of the target language with parts of speech."""
        return read_parts_of_speech(self._file("pos"), language=self.target_language)

    @cached_property
    def source_pos(self) -> list[PosSentence]:
        """Sentences of the source language with parts of speech."""
        return read_parts_of_speech(self._file("source_pos"), language=self.source_language)
