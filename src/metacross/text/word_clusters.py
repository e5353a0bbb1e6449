"""Reads word clusters, such as those of Brown clustering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metacross.errors import DataError
from metacross.text.resource_files import table_rows
from metacross.text.writing import write_atomically

_COLUMNS = ("cluster", "word", "count")


@dataclass(frozen=True, slots=True)
class WordClusters:
    """The cluster of each word.

    >>> WordClusters({"bank": "0110"}).cluster("Bank")
    '0110'
    """

    cluster_of: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.cluster_of)

    def cluster(self, word: str) -> str | None:
        """The cluster of a word as it is spelled, else in lower case; None: it has no cluster."""
        return self.cluster_of.get(word) or self.cluster_of.get(word.lower())

    def write(self, path: Path) -> None:
        """Write a file that :meth:`read` reads back equal."""
        rows = (f"{cluster}\t{word}\n" for word, cluster in self.cluster_of.items())
        write_atomically(path, rows)

    @classmethod
    def read(cls, path: str | Path) -> WordClusters:
        """Read ``cluster TAB word [TAB count]``. Of a word that comes twice the first line
        counts.
        """
        clusters: dict[str, str] = {}
        for row in table_rows(path, _COLUMNS, n_required=2):
            clusters.setdefault(row.fields[1], row.fields[0])
        return cls(clusters)


def read_clusters(path: str | Path) -> WordClusters:
    """Read a file that somebody gives; one without clusters of several words is refused."""
    clusters = WordClusters.read(path)
    if not clusters:
        raise DataError(f"{path}: expected words with their clusters, found none")
    if len(set(clusters.cluster_of.values())) == len(clusters) > 1:
        raise DataError(
            f"{path}: expected clusters with several words, found as many clusters as words; "
            "the first column is the cluster"
        )
    return clusters
