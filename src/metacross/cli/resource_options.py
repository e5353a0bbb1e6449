"""The options that name resource files of a target language."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

RawTextOption: TypeAlias = Annotated[
    str | None, typer.Option("--raw-text", help="Raw text of the target language.")
]
LexiconOption: TypeAlias = Annotated[
    str | None, typer.Option("--lexicon", help="Source word, TAB, target word [, TAB, weight].")
]
ParallelOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--parallel", help="Source sentence, TAB, target sentence; or two files: A,B."),
]
AlignmentsOption: TypeAlias = Annotated[
    str | None, typer.Option("--alignments", help="Links of the parallel text: 0-0 1-2.")
]
VectorsOption: TypeAlias = Annotated[
    str | None, typer.Option("--vectors", help="Word vectors of the target language.")
]
SourceVectorsOption: TypeAlias = Annotated[
    str | None, typer.Option("--source-vectors", help="Word vectors of the source language.")
]
ClustersOption: TypeAlias = Annotated[
    str | None, typer.Option("--clusters", help="Cluster, TAB, word, of both languages.")
]
GazetteerOption: TypeAlias = Annotated[
    str | None, typer.Option("--gazetteer", help="Name, TAB, type [, TAB, language].")
]
PosOption: TypeAlias = Annotated[
    str | None, typer.Option("--pos", help="Parts of speech of target sentences: CoNLL-U.")
]
SourcePosOption: TypeAlias = Annotated[
    str | None, typer.Option("--source-pos", help="Parts of speech of source sentences: CoNLL-U.")
]
