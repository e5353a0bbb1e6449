"""Runs the code of a Markdown page and writes what it prints below it.

A block of Python or shell code that is followed by ``<!-- output -->`` and a ``text`` block prints
that text. Blocks without it are run too, since later ones may need them. Blocks after
``<!-- not run -->`` are not run. Shell code may use ``metacross``; its trainings take two steps.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"(?P<skip><!-- not run -->\n)?"
    r"^```(?P<language>python|sh)\n(?P<code>.*?)^```\n"
    r"(?P<shown>\n?<!-- output -->\n```text\n(?P<output>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_SHORT_TRAINING = {
    "train": "--set meta.steps=2 --set meta.tasks_per_step=2 --set run.validate_every=2",
    "fine-tune": "--set fine_tuning.epochs=1",
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Code of a page. ``expected`` is None where the page shows no output."""

    language: str
    code: str
    expected: str | None


def code_blocks(page: str) -> list[CodeBlock]:
    """The blocks of a page that are run."""
    return [
        CodeBlock(match["language"], match["code"], match["output"])
        for match in _BLOCK.finditer(page)
        if not match["skip"]
    ]


def refreshed(page: str) -> str:
    """The page with every output block replaced by what its code prints now."""
    with page_folder() as run:

        def replaced(match: re.Match[str]) -> str:
            if match["skip"]:
                return match[0]
            printed = run(CodeBlock(match["language"], match["code"], match["output"]))
            if match["shown"] is None:
                return match[0]
            before = match[0][: match.start("output") - match.start()]
            return f"{before}{printed}```\n"

        return _BLOCK.sub(replaced, page)


@contextlib.contextmanager
def page_folder() -> Iterator[Callable[[CodeBlock], str]]:
    """Gives a function that runs blocks one after another in a folder with a few corpora.

    Python blocks share their variables. The folder is deleted at the end.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    before = Path.cwd()

    def run(block: CodeBlock) -> str:
        if block.language == "python":
            return _python_output(block.code, namespace)
        return _shell_output(block.code)

    with tempfile.TemporaryDirectory() as folder:
        write_example_files(Path(folder))
        os.chdir(folder)
        try:
            yield run
        finally:
            os.chdir(before)


def write_example_files(folder: Path) -> None:
    """The files that the pages name, made from the bundled corpus."""
    from metacross.text.bundled_corpus import bundled_corpus
    from metacross.text.sentence import Corpus
    from metacross.text.writing import write_corpus

    spanish = bundled_corpus("es", "test")
    files = {
        "en/train.conll": bundled_corpus("en", "train"),
        "en/dev.conll": bundled_corpus("en", "dev"),
        "es/train.conll": Corpus(spanish.sentences[50:], source="es/train.conll"),
        "es/test.conll": Corpus(spanish.sentences[:50], source="es/test.conll"),
    }
    for name, corpus in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_corpus(corpus, folder / name)
    lines = [" ".join(sentence.words) for sentence in spanish.sentences[:3]]
    (folder / "text.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _python_output(code: str, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<page>", "exec"), namespace)
    return printed.getvalue()


def _shell_output(code: str) -> str:
    """What the ``metacross`` commands print on standard output."""
    cases = [f'{command}) set -- "$@" {extra};;' for command, extra in _SHORT_TRAINING.items()]
    call = f'{shlex.quote(sys.executable)} -m metacross "$@"'
    function = f'metacross() {{ case "$1" in {" ".join(cases)} esac; {call}; }}'
    script = "\n".join(["set -eo pipefail", function, code])
    ended = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{code}\nended with {ended.returncode}:\n{ended.stderr}")
    return ended.stdout


def same_output(printed: str, expected: str, *, tolerance: float = 0.02) -> bool:
    """Whether two outputs have the same words, and numbers that are about equal.

    >>> same_output("Ana (PER, 0.971)", "Ana (PER, 0.969)")
    True
    >>> same_output("Ana (PER, 0.971)", "Ana (LOC, 0.971)")
    False
    """
    if _NUMBER.sub("#", printed).split() != _NUMBER.sub("#", expected).split():
        return False
    pairs = zip(_NUMBER.findall(printed), _NUMBER.findall(expected), strict=True)
    return all(abs(float(a) - float(b)) <= tolerance * max(1, abs(float(b))) for a, b in pairs)
