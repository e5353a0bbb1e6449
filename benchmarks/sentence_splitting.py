"""Compares sentence splitters by the F1 of their boundaries on lines of real text.

python -m benchmarks.sentence_splitting FOLDER

FOLDER has a file of raw sentences per language, one per line, such as ``de.txt`` or ``de.tsv``. Of
a TSV file the first column is the sentence and the second one its source. A sample of the lines is
joined into paragraphs, with blanks between them except in Chinese and Japanese, and each splitter
has to find where the lines start.
The libraries pysbd, blingfire, syntok, sentencex and nupunkt are compared if they are installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from metacross.text.sentence_splitting import split_sentences

Splitter: TypeAlias = Callable[[str], Iterable[int]]
"""Finds the character offsets at which sentences start; 0 may be among them or not."""

_WITHOUT_BLANKS = ("zh", "ja")
_END_MARKS = tuple(".!?…。！？")
_CLOSERS = "\"'”’»›」』）)]}“‘« "


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text made of sentences, and the offsets of all but the first of them."""

    text: str
    starts: frozenset[int]


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Counts of the boundaries between sentences."""

    correct: int
    predicted: int
    gold: int
    seconds: float

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.predicted + self.gold)


def main() -> None:
    """Print a table for all lines and one for lines that end in an end mark."""
    parser = argparse.ArgumentParser(description="Compare sentence splitters on raw text.")
    parser.add_argument("folder", type=Path, help="folder with LANGUAGE.txt or LANGUAGE.tsv")
    parser.add_argument("--languages", nargs="+", default=["en", "es", "nl", "de", "fr", "zh"])
    parser.add_argument("--sentences", type=int, default=2_000, help="sentences per language")
    parser.add_argument("--seed", type=int, default=0, help="which sentences are drawn")
    parser.add_argument(
        "--skip",
        type=int,
        default=0,
        help="leave out the first drawn sentences, used to write rules",
    )
    parser.add_argument(
        "--sources",
        nargs="+",
        default=[""],
        help="only sources whose name starts with one of these",
    )
    parser.add_argument("--errors", action="store_true", help="print the errors of metacross")
    arguments = parser.parse_args()
    lines = {}
    for language in arguments.languages:
        all_lines = read_lines(arguments.folder, language, tuple(arguments.sources))
        rng = random.Random(arguments.seed)
        n_drawn = min(arguments.skip + arguments.sentences, len(all_lines))
        lines[language] = rng.sample(all_lines, n_drawn)[arguments.skip :]
    ended = {code: [line for line in drawn if has_end_mark(line)] for code, drawn in lines.items()}
    for title, drawn in (("all lines", lines), ("lines that end in a mark", ended)):
        sys.stdout.write(f"\n{title}\n\n" + "\n".join(table(drawn, arguments.seed)) + "\n")
    if arguments.errors:
        sys.stdout.writelines(errors(ended, arguments.seed))


def read_lines(folder: Path, language: str, sources: tuple[str, ...] = ("",)) -> list[str]:
    """The sentences of a language, from sources whose names start with one of ``sources``."""
    path = next(
        (path for suffix in (".txt", ".tsv") if (path := folder / f"{language}{suffix}").exists()),
        None,
    )
    if path is None:
        sys.exit(f"{folder}: expected {language}.txt or {language}.tsv, found neither")
    with path.open(encoding="utf-8") as file:
        rows = (line.rstrip("\n").partition("\t") for line in file)
        return [row[0].strip() for row in rows if row[0].strip() and row[2].startswith(sources)]


def has_end_mark(sentence: str) -> bool:
    """Whether a sentence ends in a mark, before closing quotes and brackets."""
    return sentence.rstrip(_CLOSERS).endswith(_END_MARKS)


def paragraphs(sentences: Sequence[str], language: str, seed: int) -> Iterator[Paragraph]:
    """Paragraphs of 5 to 10 sentences."""
    rng = random.Random(seed)
    separator = "" if language in _WITHOUT_BLANKS else " "
    first = 0
    while first < len(sentences):
        part = sentences[first : first + rng.randint(5, 10)]
        first += len(part)
        starts, position = [], 0
        for sentence in part:
            starts.append(position)
            position += len(sentence) + len(separator)
        yield Paragraph(separator.join(part), frozenset(starts[1:]))


def table(lines: dict[str, list[str]], seed: int) -> Iterator[str]:
    """Markdown rows: a language each, with the F1 of the splitters and the highest one possible."""
    names = ["metacross", *(name for name in _LIBRARIES if importlib.util.find_spec(name))]
    yield f"| language | boundaries | without mark | possible F1 | {' | '.join(names)} |"
    yield "|---" * (4 + len(names)) + "|"
    speeds: dict[str, list[float]] = {name: [] for name in names}
    for language, sentences in lines.items():
        parts = list(paragraphs(sentences, language, seed))
        gold = sum(len(part.starts) for part in parts)
        unmarked = sum(
            not has_end_mark(part.text[:start]) for part in parts for start in part.starts
        )
        cells = []
        for name in names:
            splitter = splitter_of(name, language)
            if splitter is None:
                cells.append("-")
                continue
            result = counted(parts, splitter)
            speeds[name].append(sum(len(part.text) for part in parts) / result.seconds)
            cells.append(f"{100 * result.f1:.1f}")
        possible = 200 * (gold - unmarked) / (2 * gold - unmarked)
        yield f"| {language} | {gold} | {unmarked} | {possible:.1f} | {' | '.join(cells)} |"
    cells = [f"{sum(values) / len(values) / 1000:,.0f}" for values in speeds.values()]
    yield f"| 1,000 characters per second | | | | {' | '.join(cells)} |"


def counted(parts: Iterable[Paragraph], splitter: Splitter) -> Boundaries:
    """Compare the boundaries that a splitter finds with the true ones."""
    correct = predicted = gold = 0
    seconds = 0.0
    for part in parts:
        begin = time.perf_counter()
        starts = set(splitter(part.text)) - {0}
        seconds += time.perf_counter() - begin
        correct += len(starts & part.starts)
        predicted += len(starts)
        gold += len(part.starts)
    return Boundaries(correct, predicted, gold, seconds)


def errors(lines: dict[str, list[str]], seed: int) -> Iterator[str]:
    """The places at which metacross splits wrongly (+) or does not split (-)."""
    for language, sentences in lines.items():
        for part in paragraphs(sentences, language, seed):
            starts = {start for start, _ in split_sentences(part.text, language)} - {0}
            for start in sorted(starts ^ part.starts):
                before, after = part.text[max(0, start - 60) : start], part.text[start : start + 40]
                sign = "+" if start in starts else "-"
                yield f"{language} {sign} {before}\N{SECTION SIGN}{after}\n"


def splitter_of(name: str, language: str) -> Splitter | None:
    """A splitter by its name; None if it does not know the language."""
    if name == "metacross":
        return lambda text: (start for start, _ in split_sentences(text, language))
    return _LIBRARIES[name](language)


def _starts_of_texts(text: str, sentences: Iterable[str]) -> Iterator[int]:
    position = 0
    for sentence in sentences:
        if content := sentence.strip():
            position = text.index(content, position)
            yield position
            position += len(content)


def _pysbd(language: str) -> Splitter | None:
    pysbd = importlib.import_module("pysbd")
    if language not in pysbd.languages.LANGUAGE_CODES:
        return None
    segmenter = pysbd.Segmenter(language=language, clean=False)
    return lambda text: _starts_of_texts(text, segmenter.segment(text))


def _blingfire(_language: str) -> Splitter:
    blingfire = importlib.import_module("blingfire")
    return lambda text: _starts_of_texts(text, blingfire.text_to_sentences(text).split("\n"))


def _syntok(language: str) -> Splitter | None:
    segmenter = importlib.import_module("syntok.segmenter")
    if language not in ("en", "es", "de"):
        return None

    def starts(text: str) -> Iterator[int]:
        for paragraph in segmenter.process(text):
            for sentence in paragraph:
                yield sentence[0].offset

    return starts


def _sentencex(language: str) -> Splitter:
    sentencex = importlib.import_module("sentencex")
    return lambda text: _starts_of_texts(text, sentencex.segment(language, text))


def _nupunkt(language: str) -> Splitter | None:
    nupunkt = importlib.import_module("nupunkt")
    if language != "en":
        return None
    return lambda text: _starts_of_texts(text, nupunkt.sent_tokenize(text))


_LIBRARIES: dict[str, Callable[[str], Splitter | None]] = {
    "pysbd": _pysbd,
    "blingfire": _blingfire,
    "syntok": _syntok,
    "sentencex": _sentencex,
    "nupunkt": _nupunkt,
}


if __name__ == "__main__":
    main()
