"""The options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from metacross.cli import output
from metacross.errors import DataError, SettingsError
from metacross.text.conll import Columns
from metacross.text.formats import Format
from metacross.text.language_codes import checked_language
from metacross.text.reading import ReadOptions, read_corpus
from metacross.text.sentence import Corpus

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LanguageOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--language",
        help="Language code, such as es, swa or zh-Hans.",
        callback=checked_language,
    ),
]
FormatOption: TypeAlias = Annotated[
    Format | None, typer.Option("--format", help="Format of the files. Default: detect it.")
]
EncodingOption: TypeAlias = Annotated[
    str, typer.Option("--encoding", help="Encoding of the files, such as latin-1.")
]
WordColumnOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--word-column", help="Column of the word in CoNLL files, from 0 (-1: last)."),
]
TagColumnOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--tag-column", help="Column of the tag in CoNLL files, from 0 (-1: last)."),
]
CommentsOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--comments/--no-comments",
        help="Whether # lines before a sentence are comments. Default: if words are numbered.",
    ),
]
TagNamesOption: TypeAlias = Annotated[
    str | None, typer.Option("--tag-names", help="Names of numbered tags in order: O,B-PER,I-PER.")
]
AnnotatorOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        help="Of several annotators: an ID, first, agreed (texts on which all agree), or model "
        "(proposals). Default: they must agree.",
    ),
]
LossyOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--lossy", help="Leave out annotations that cannot be read, such as overlapping ones."
    ),
]
MapOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--map", help="Rename an entity type: person=PER. Repeatable.")
]
DropOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--drop", help="Drop an entity type (relabel it as O): MISC. Repeatable."),
]


@dataclass(frozen=True, slots=True)
class CorpusReader:
    """Reads corpora as the options of a command say."""

    options: ReadOptions
    new_labels: Mapping[str, str | None]

    def read(self, source: str | Path, *, language: str | None = None) -> Corpus:
        """Read a corpus, rename or drop its labels, and say on stderr what was left out."""
        corpus = self.read_silently(source, language=language)
        show_left_out(corpus)
        return corpus

    def read_labeled(self, source: str | Path, *, language: str | None = None) -> Corpus:
        """Read the annotated sentences of a corpus to learn from; without any there is an error."""
        corpus = self.read(source, language=language)
        labeled = corpus.only_labeled()
        if not len(labeled):
            raise DataError(
                f"{corpus[0].place}: expected labeled sentences to learn from, found one without "
                "labels"
            )
        show_unlabeled(corpus, labeled)
        return labeled

    def read_silently(self, source: str | Path, *, language: str | None = None) -> Corpus:
        """Read a corpus for a command that itself shows what was left out."""
        return read_relabeled(source, self.options, self.new_labels, language)


def show_left_out(corpus: Corpus) -> None:
    """Say on stderr which annotations of a file are not in the corpus, and what else a reader
    decided.
    """
    for omission in corpus.notes.omissions:
        output.show_note(f"left out: {omission}")
    for remark in corpus.notes.remarks:
        output.show_note(f"{corpus.name}: {remark}")


def show_unlabeled(corpus: Corpus, labeled: Corpus) -> None:
    """Say on stderr how many sentences of a corpus were left out because nobody labeled them."""
    n_others = len(corpus) - len(labeled)
    if n_others:
        output.show_note(f"{corpus.name}: left out {n_others:,} sentences without labels")


def corpus_reader(
    *,
    format_: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    word_column: WordColumnOption = None,
    tag_column: TagColumnOption = None,
    comments: CommentsOption = None,
    tag_names: TagNamesOption = None,
    annotator: AnnotatorOption = None,
    lossy: LossyOption = False,
    map_: MapOption = None,
    drop: DropOption = None,
) -> CorpusReader:
    """Make a reader from the options of a command. Each parameter is an option."""
    columns = Columns(word_column, tag_column, comments)
    options = read_options(format_, encoding, columns, tag_names)
    options = replace(options, annotator=annotator, lossy=lossy)
    return CorpusReader(options, new_labels(map_, drop))


def with_read_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``corpus_reader`` in place of its parameter ``reader``.

    Typer makes an option of every parameter in the signature of a function, so the function that
    Typer gets has a signature with the parameters of both.
    """
    command_signature = inspect.signature(command, eval_str=True)
    read_parameters = inspect.signature(corpus_reader, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for parameter in command_signature.parameters.values():
        parameters += read_parameters.values() if parameter.name == "reader" else [parameter]
    signature = command_signature.replace(parameters=parameters)

    @functools.wraps(command)
    def command_with_options(*args: object, **kwargs: object) -> None:
        call = signature.bind(*args, **kwargs)
        call.apply_defaults()
        read_values = {name: call.arguments.pop(name) for name in read_parameters}
        command(**call.arguments, reader=corpus_reader(**read_values))

    command_with_options.__signature__ = signature  # type: ignore[attr-defined]
    return command_with_options


def read_options(
    format_: Format | None,
    encoding: str,
    columns: Columns,
    tag_names: str | None,
) -> ReadOptions:
    """Make read options from the values on the command line."""
    names = None if tag_names is None else tuple(name.strip() for name in tag_names.split(","))
    return ReadOptions(format_, encoding, columns, names)


def new_labels(map_: list[str] | None, drop: list[str] | None) -> dict[str, str | None]:
    """The new label of each label in ``--map`` and ``--drop``; None means: drop it.

    >>> new_labels(["person=PER"], ["MISC"])
    {'person': 'PER', 'MISC': None}
    """
    labels: dict[str, str | None] = {}
    for pair in map_ or ():
        old_label, sign, new_label = pair.partition("=")
        if not old_label or not sign or not new_label:
            raise SettingsError(f"--map: expected OLD=NEW, as in person=PER, found {pair!r}")
        labels[old_label] = new_label
    labels.update(dict.fromkeys(drop or ()))
    return labels


def read_relabeled(
    source: str | Path,
    options: ReadOptions,
    labels: Mapping[str, str | None],
    language: str | None = None,
) -> Corpus:
    """Read a corpus and rename or drop its labels."""
    corpus = read_corpus(source, language=language, options=options)
    return corpus.relabeled(labels) if labels else corpus
