"""What tests of annotation in parts look at, and how they label without starting processes."""

import json
from pathlib import Path

import tiny
from metacross.serving.bulk.part_labeling import PartLabeler
from metacross.serving.bulk.part_results import labeled_part


class InThisProcess:
    """Stands in for ``LocalRunner``: labels the parts here, one after another."""

    def __init__(self, model, target, workers):
        self.model, self.target = model, target

    def run(self, parts, on_result, on_progress):
        labeler = PartLabeler(self.model, self.target)
        for part in parts:
            on_result(labeled_part(labeler, part, lambda fraction: None))


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of the parts by name."""
    parts = [*folder.glob("part-*.jsonl"), *folder.glob("part-*.parquet")]
    return {path.name: path.read_bytes() for path in sorted(parts)}


def records(folder: Path) -> list[dict]:
    """The records of all parts, in order."""
    return [
        json.loads(line)
        for content in contents(folder).values()
        for line in content.decode().splitlines()
    ]


def made_lines(n: int) -> list[str]:
    """Lines of one sentence each."""
    return [
        " ".join(word for word in sentence.words if word != ".") or "rain"
        for sentence in tiny.corpus(n, seed=5)
    ]
