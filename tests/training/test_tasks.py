"""Tasks of the sentences that a training draws, found in blocks."""

import numpy as np
import pytest

from metacross.adaptation import retrieval
from metacross.settings import RetrievalSettings
from metacross.training import tasks as tasks_module
from metacross.training.sampling import Sampler, drawn_positions
from metacross.training.tasks import pseudo_tasks

VECTORS = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
SETTINGS = RetrievalSettings(neighbors=3)


@pytest.mark.parametrize(("n_items", "steps"), [(100, 7), (100, 25), (100, 26), (3, 2)])
def test_the_drawn_positions_are_those_that_the_sampler_draws(n_items, steps):
    sampler = Sampler(n_items, 4, seed=5)
    drawn = {draw.position for step in range(steps) for draw in sampler.draws(step)}
    assert drawn_positions(n_items, 4, 5, steps=steps).tolist() == sorted(drawn)


def test_tasks_of_drawn_sentences_are_those_among_all():
    queries = drawn_positions(300, 4, 1, steps=20)
    every, drawn = pseudo_tasks(VECTORS, SETTINGS), pseudo_tasks(VECTORS, SETTINGS, queries=queries)
    assert len(every) == len(drawn) == 300
    assert len(queries) == 80
    assert [drawn[int(query)] for query in queries] == [every[int(query)] for query in queries]
    missing = next(position for position in range(300) if position not in set(queries.tolist()))
    with pytest.raises(IndexError, match="no task was made"):
        drawn[missing]


@pytest.fixture
def cached(monkeypatch, tmp_path):
    """Tasks are found in blocks of 16 and kept in a file."""
    monkeypatch.setenv("METACROSS_CACHE", str(tmp_path))
    monkeypatch.setattr(tasks_module, "_QUICK", 0)
    monkeypatch.setattr(tasks_module, "QUERY_BLOCK", 16)
    return tmp_path / "tasks"


class KilledError(Exception):
    """Stands for a kill."""


def stop_at(n_tasks):
    def progress(n_done, n_total):
        assert n_total == 300
        if n_done >= n_tasks:
            raise KilledError

    return progress


@pytest.mark.parametrize("search", ["exact", "faiss"])
def test_finding_that_was_killed_goes_on_and_gives_the_same_bytes(cached, monkeypatch, search):
    settings = RetrievalSettings(neighbors=3, search=search)
    wanted = list(pseudo_tasks(VECTORS, settings))
    (file,) = cached.iterdir()
    content = file.read_bytes()
    file.unlink()
    with pytest.raises(KilledError):
        pseudo_tasks(VECTORS, settings, progress=stop_at(100))
    assert not file.exists()
    done = []
    tasks = pseudo_tasks(VECTORS, settings, progress=lambda n_done, _n_total: done.append(n_done))
    assert done[:2] == [112, 128]
    assert done[-1] == 300
    assert list(tasks) == wanted
    assert file.read_bytes() == content
    monkeypatch.setattr(tasks_module, "build_index", None)  # would raise if it were called
    assert list(pseudo_tasks(VECTORS, settings)) == wanted


def test_the_file_of_tasks_is_keyed_by_all_that_they_depend_on(cached):
    pseudo_tasks(VECTORS, SETTINGS)
    pseudo_tasks(VECTORS[:-1], SETTINGS)
    pseudo_tasks(VECTORS, RetrievalSettings(neighbors=2))
    pseudo_tasks(VECTORS, RetrievalSettings(neighbors=3, search="faiss"))
    pseudo_tasks(VECTORS, SETTINGS, queries=np.array([1, 2]))
    assert len(list(cached.glob("*.safetensors"))) == 5
    pseudo_tasks(VECTORS, RetrievalSettings(neighbors=3, search="exact"))
    assert len(list(cached.glob("*.safetensors"))) == 5


def test_without_a_cache_they_are_found_all_the_same(cached, monkeypatch):
    wanted = list(pseudo_tasks(VECTORS, SETTINGS))
    cached.parent.joinpath("file").write_text("")
    monkeypatch.setenv("METACROSS_CACHE", str(cached.parent / "file"))
    assert list(pseudo_tasks(VECTORS, SETTINGS)) == wanted


def test_above_the_threshold_faiss_finds_them(monkeypatch):
    built = []
    index = retrieval.SentenceIndex(VECTORS)
    monkeypatch.setattr(
        "metacross.adaptation.approximate_retrieval.ApproximateIndex",
        lambda vectors: built.append(len(vectors)) or index,
    )
    pseudo_tasks(VECTORS, RetrievalSettings(faiss_above=300))
    assert built == []
    pseudo_tasks(VECTORS, RetrievalSettings(faiss_above=299))
    assert built == [300]
