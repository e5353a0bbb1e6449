"""Compares Chinese segmenters by the F1 of a model that reads their words.

python -m benchmarks.word_segmentation MODEL CORPUS...

Corpora are labeled; if they are given in words, they are first cut into characters. Each segmenter
finds the words of the corpus, the model labels these words without adaptation, and its entities are
scored on the characters. The libraries jieba, rjieba, snownlp and budoux are compared if they are
installed. ``--output FILE`` writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import metacross
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.word_grouping import WordGrouper, WordGroups
from metacross.text.word_segmentation import Segmenter, segmenter


@dataclass(frozen=True, slots=True)
class Row:
    """What a segmenter brings on a corpus. ``at_edges`` is the share of entities that begin and end
    at an edge of a word, ``length`` the mean number of characters in a word.
    """

    segmenter: str
    corpus: str
    at_edges: float
    length: float
    f1: float
    characters_per_second: float | None


def main() -> None:
    """Print a table for each corpus."""
    parser = argparse.ArgumentParser(description="Compare Chinese segmenters.")
    parser.add_argument("model", help="model folder")
    parser.add_argument("corpora", nargs="+", help="labeled Chinese corpora; zh: the bundled one")
    parser.add_argument("--sentences", type=int, help="only the first ones of each corpus")
    parser.add_argument("--without", nargs="+", default=[], help="segmenters to leave out")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    model = metacross.load(arguments.model, encoder={"words": "given"})
    rows: list[Row] = []
    for name in arguments.corpora:
        corpus = _corpus(name, arguments.sentences, model.labels)
        rows += measured(model, corpus, name, arguments.without)
        sys.stdout.write("\n".join(table([row for row in rows if row.corpus == name])) + "\n\n")
    if arguments.output:
        text = json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False)
        arguments.output.write_text(text + "\n", encoding="utf-8")


def _corpus(name: str, n_sentences: int | None, labels: Sequence[str]) -> Corpus:
    read = (
        metacross.bundled_corpus("zh", "test")
        if name == "zh"
        else metacross.read_corpus(name, language="zh")
    )
    dropped = {label: None for label in read.entities_by_label if label not in labels}
    relabeled = read.relabeled(dropped)
    return Corpus(tuple(in_characters(sentence) for sentence in relabeled.sentences[:n_sentences]))


def in_characters(sentence: Sentence) -> Sentence:
    """The sentence with every character of a Chinese word as a unit."""
    if all(len(word) == 1 or word.isascii() for word in sentence.words):
        return sentence
    starts = [0, *accumulate(map(len, sentence.words))]
    spans = tuple(Span(starts[s.start], starts[s.end], s.label) for s in sentence.spans or ())
    return Sentence(tuple("".join(sentence.words)), spans, sentence.language)


def measured(
    model: metacross.NerModel, corpus: Corpus, name: str, without: Sequence[str]
) -> Iterator[Row]:
    """A row for characters and one for every segmenter."""
    units = [WordGroups(tuple(range(1, len(s.words) + 1))) for s in corpus]
    if "characters" not in without:
        yield _row(model, corpus, units, name, "characters", None)
    for title, load in SEGMENTERS.items():
        if title in without or not (title == "metacross" or importlib.util.find_spec(title)):
            continue
        timed = _Timed(load())
        grouper = WordGrouper("segmented", timed.word_ends)
        groups = [
            grouper.groups(sentence) or unit for sentence, unit in zip(corpus, units, strict=True)
        ]
        yield _row(model, corpus, groups, name, title, timed.characters / timed.seconds)


def _row(
    model: metacross.NerModel,
    corpus: Corpus,
    groups: Sequence[WordGroups],
    name: str,
    title: str,
    speed: float | None,
) -> Row:
    pairs = list(zip(corpus, groups, strict=True))
    read = [group.grouped(sentence.with_spans(None)) for sentence, group in pairs]
    predictions = model.predict_stream(read, adapt=False)
    predicted = Corpus(
        tuple(
            sentence.with_spans(group.on_units(prediction.spans))
            for (sentence, group), prediction in zip(pairs, predictions, strict=True)
        )
    )
    at_edges = sum({s.start, s.end} <= {0, *g.ends} for x, g in pairs for s in x.spans or ())
    return Row(
        segmenter=title,
        corpus=name,
        at_edges=at_edges / corpus.n_entities,
        length=corpus.n_words / sum(len(group.ends) for group in groups),
        f1=metacross.score(corpus, predicted).overall.f1,
        characters_per_second=speed,
    )


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Markdown rows."""
    yield f"{rows[0].corpus}\n"
    yield "| segmenter | entities at word edges | characters per word | F1 | 1,000 characters/s |"
    yield "|---|---|---|---|---|"
    for row in rows:
        speed = row.characters_per_second
        cells = f"{100 * row.at_edges:.1f} % | {row.length:.2f} | {100 * row.f1:.1f}"
        yield f"| {row.segmenter} | {cells} | {'-' if speed is None else f'{speed / 1000:,.0f}'} |"


class _Timed:
    """A segmenter that measures how long it takes."""

    def __init__(self, segment: Segmenter) -> None:
        segment("柏林")  # loads the dictionary
        self._segment = segment
        self.characters, self.seconds = 0, 0.0

    def word_ends(self, text: str, _language: str) -> set[int]:
        """Where words end."""
        begin = time.perf_counter()
        words = self._segment(text)
        self.seconds += time.perf_counter() - begin
        self.characters += len(text)
        return set(accumulate(map(len, words)))


def _jieba() -> Segmenter:
    jieba: Any = importlib.import_module("jieba")
    jieba.setLogLevel(60)
    return lambda text: list(jieba.cut(text))


def _rjieba() -> Segmenter:
    cut: Segmenter = importlib.import_module("rjieba").cut
    return cut


def _snownlp() -> Segmenter:
    seg: Any = importlib.import_module("snownlp.seg")
    return lambda text: list(seg.seg(text))


def _budoux() -> Segmenter:
    parser: Any = importlib.import_module("budoux").load_default_simplified_chinese_parser()
    return lambda text: list(parser.parse(text))


SEGMENTERS: dict[str, Callable[[], Segmenter]] = {
    "metacross": lambda: segmenter("zh"),
    "rjieba": _rjieba,
    "jieba": _jieba,
    "snownlp": _snownlp,
    "budoux": _budoux,
}


if __name__ == "__main__":
    main()
