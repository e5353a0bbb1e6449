"""Retrieval against brute force."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacross.adaptation import retrieval
from metacross.adaptation.approximate_retrieval import ApproximateIndex
from metacross.adaptation.retrieval import JoinedIndex, SentenceIndex, build_index
from metacross.errors import SettingsError
from metacross.model.array_file import MappedArray, write_array
from metacross.settings import RetrievalSettings
from metacross.training.tasks import pseudo_tasks


def brute_force(sources, query, k, exclude=()):
    """Cosines one by one in double precision, then sorted."""
    scored = []
    for position, source in enumerate(sources.astype(np.float64)):
        if position not in exclude:
            cosine = source @ query / (np.linalg.norm(source) * np.linalg.norm(query))
            scored.append((-cosine, position))
    return [position for _, position in sorted(scored)[:k]]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from([3, 7, 64]))
def test_it_finds_what_brute_force_finds_whatever_the_blocks(seed, k, block):
    rng = np.random.default_rng(seed)
    sources = rng.standard_normal((40, 6)).astype(np.float32)
    queries = rng.standard_normal((9, 6)).astype(np.float32)
    before = retrieval.QUERY_BLOCK, retrieval._SOURCE_BLOCK
    retrieval.QUERY_BLOCK, retrieval._SOURCE_BLOCK = block, block
    try:
        found = SentenceIndex(sources).nearest(queries, k=k)
    finally:
        retrieval.QUERY_BLOCK, retrieval._SOURCE_BLOCK = before
    for query, own in zip(queries, found, strict=True):
        assert [n.position for n in own] == brute_force(sources, query, k)
        assert [n.similarity for n in own] == sorted((n.similarity for n in own), reverse=True)


def test_equally_similar_ones_come_in_the_order_of_their_positions():
    sources = np.array([[0, 1], [1, 0], [2, 0], [1, 0], [3, 0]], dtype=np.float32)
    (found,) = SentenceIndex(sources).nearest(np.array([[1, 0]], dtype=np.float32), k=3)
    assert [n.position for n in found] == [1, 2, 3]


def test_a_foreign_sentence_keeps_its_nearest_neighbor():
    sources = np.eye(4, dtype=np.float32)
    (found,) = SentenceIndex(sources).nearest(sources[2:3], k=1)
    assert found[0].position == 2
    assert found[0].similarity == pytest.approx(1.0)


def test_positions_left_out_are_not_returned():
    rng = np.random.default_rng(0)
    sources = rng.standard_normal((30, 4)).astype(np.float32)
    exclude = [(i, (i + 1) % 30) for i in range(30)]
    found = SentenceIndex(sources).nearest(sources, k=3, exclude=exclude)
    for position, own in enumerate(found):
        wanted = brute_force(sources, sources[position], 3, exclude[position])
        assert [n.position for n in own] == wanted


def test_more_neighbors_than_sentences_is_refused():
    with pytest.raises(SettingsError, match=r"retrieval\.neighbors: expected at most 2"):
        SentenceIndex(np.eye(3, dtype=np.float32)).nearest(
            np.eye(3, dtype=np.float32), k=3, exclude=[(0,), (1,), (2,)]
        )


VECTORS = np.array([[1, 0], [0.9, 0.1], [1, 0], [0, 1]], dtype=np.float32)


def tasks(**options):
    return pseudo_tasks(VECTORS, RetrievalSettings(**options))


def test_a_sentence_of_the_index_is_not_its_own_neighbor():
    for task in tasks(neighbors=2):
        assert task.query not in task.support
        assert len(set(task.support)) == 2


def test_every_sentence_is_the_query_of_one_task():
    assert [task.query for task in tasks(neighbors=1)] == [0, 1, 2, 3]


def test_a_copy_of_a_sentence_may_be_its_neighbor():
    assert tasks(neighbors=1)[0].support == (2,)


def clustered(n, width=16, seed=0):
    """Vectors about some centres, as those of sentences are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n // 20, width))
    return (
        centres[rng.integers(len(centres), size=n)] + 0.5 * rng.standard_normal((n, width))
    ).astype(np.float32)


def test_faiss_finds_nearly_all_that_the_exact_search_finds_with_the_same_similarities():
    sources, queries = clustered(3_000), clustered(300, seed=1)
    approximate, exact = ApproximateIndex(sources), SentenceIndex(sources)
    assert approximate.recall >= 0.98
    assert exact.recall is None
    found, wanted = (index.nearest(queries, k=2) for index in (approximate, exact))
    pairs = [
        (a, b)
        for own, other in zip(found, wanted, strict=True)
        for a, b in zip(own, other, strict=True)
    ]
    alike = [(a, b) for a, b in pairs if a.position == b.position]
    assert len(alike) >= 0.8 * len(pairs)  # foreign sentences lie apart from all cells
    assert all(a.similarity == pytest.approx(b.similarity, abs=1e-5) for a, b in alike)


def test_faiss_leaves_out_what_it_is_told_to():
    sources = clustered(500)
    exclude = [(i, (i + 1) % 500) for i in range(500)]
    found = ApproximateIndex(sources).nearest(sources, k=2, exclude=exclude)
    assert all(len(own) == 2 for own in found)
    assert not any(
        n.position in hidden for own, hidden in zip(found, exclude, strict=True) for n in own
    )


def index_of(sources, **options):
    return build_index(sources, RetrievalSettings(**options))


def test_auto_is_exact_up_to_a_set_size_and_where_there_is_no_faiss(monkeypatch):
    sources = clustered(100)
    assert isinstance(index_of(sources), SentenceIndex)
    assert isinstance(index_of(sources, search="faiss"), ApproximateIndex)
    assert isinstance(index_of(sources, faiss_above=100), SentenceIndex)
    assert isinstance(index_of(sources, faiss_above=99), ApproximateIndex)
    assert isinstance(index_of(sources, faiss_above=99, search="exact"), SentenceIndex)
    monkeypatch.setattr(retrieval, "find_spec", lambda _name: None)
    assert isinstance(index_of(sources, faiss_above=99), SentenceIndex)


def test_faiss_that_is_not_installed_is_asked_for_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(
        SettingsError, match=r"faiss is not installed: pip install 'metacross\[faiss\]'"
    ):
        index_of(clustered(100), search="faiss")


def test_the_exact_search_holds_no_copy_of_the_vectors():
    sources = clustered(100)
    assert SentenceIndex(sources)._vectors is sources


AXES = np.concatenate([np.eye(4), -np.eye(4)]).astype(np.float32)  # exact similarities


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 7), min_size=6, max_size=40),
    st.integers(1, 4),
    st.sampled_from([1, 3, 8]),
    st.booleans(),
)
def test_equals_across_blocks_come_in_order_as_in_brute_force(axes, k, block, excludes_itself):
    sources = AXES[axes] * np.float32(2) ** (np.arange(len(axes)) % 3)[:, None].astype(np.float32)
    exclude = [(i,) for i in range(len(axes))] if excludes_itself else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "QUERY_BLOCK", block)
        patch.setattr(retrieval, "_SOURCE_BLOCK", block)
        found = SentenceIndex(sources).nearest(sources, k=k, exclude=exclude)
    for position, matches in enumerate(found):
        wanted = brute_force(sources, sources[position], k, exclude[position] if exclude else ())
        assert [match.position for match in matches] == wanted


def mapped(vectors, folder):
    write_array(folder / "vectors.safetensors", "vectors", vectors)
    return MappedArray(folder / "vectors.safetensors")


@pytest.mark.parametrize("index", [SentenceIndex, ApproximateIndex])
def test_vectors_in_a_file_are_searched_as_those_in_memory(tmp_path, index):
    sources, queries = clustered(3_000), clustered(50, seed=1)
    in_file = index(mapped(sources, tmp_path)).nearest(queries, k=3)
    assert in_file == index(sources).nearest(queries, k=3)


def test_two_joined_indexes_are_searched_as_one():
    sources, queries = clustered(60), clustered(60, seed=1)
    exclude = [(i, 55) for i in range(60)]
    for n_first in (1, 40, 57):
        parts = SentenceIndex(sources[:n_first]), SentenceIndex(sources[n_first:])
        joined = JoinedIndex(parts[0], n_first, parts[1])
        for options in ({"k": 5}, {"k": 2, "exclude": exclude}):
            found = joined.nearest(queries, **options)
            wanted = SentenceIndex(sources).nearest(queries, **options)
            assert [[m.position for m in own] for own in found] == [
                [m.position for m in own] for own in wanted
            ]


MEMORY = """
import subprocess
import sys
from pathlib import Path
import numpy as np
import torch
from metacross.adaptation.retrieval import SentenceIndex
from metacross.model.array_file import ArrayPlan, MappedArray, computed_array

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

n, path = 400_000, Path(sys.argv[1])
def some(start, end):
    return np.random.default_rng(start).standard_normal((end - start, 256), dtype=np.float32)

vectors = computed_array(path, ArrayPlan("vectors", (n, 256), rows_at_once=8_192), some)
if sys.argv[2] == "in memory":
    vectors = vectors[:]
SentenceIndex(np.zeros((2, 256), np.float32)).nearest(some(0, 8), k=1)  # torch is awake
before = peak()
(match,) = SentenceIndex(vectors).nearest(vectors[[n - 1]], k=1)
assert match[0].position == n - 1
print(before, peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_search_does_not_read_the_vectors_into_memory(tmp_path):
    peaks = {}
    for kind in ("in a file", "in memory"):
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "v.safetensors"), kind]
        output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        peaks[kind] = [float(number) for number in output.split()]
    megabytes = 400_000 * 256 * 4 / 2**20
    assert peaks["in memory"][1] - peaks["in a file"][1] > 0.6 * megabytes
    assert peaks["in a file"][1] - peaks["in a file"][0] < 0.3 * megabytes
