"""A small study for tests."""

import json

import pytest

import tiny
from metacross.text.writing import write_corpus

SHORT = ("meta.steps=4", "meta.tasks_per_step=2", "direct.steps=4", "run.validate_every=2")


@pytest.fixture
def corpora(tmp_path):
    """Files of a source and two targets, of which ``bb`` has no LOC."""
    files = {}
    for name, n, seed in [("train", 30, 1), ("dev", 12, 2), ("aa", 16, 3), ("bb", 16, 4)]:
        corpus = tiny.corpus(n, seed=seed)
        if name == "bb":
            corpus = corpus.relabeled({"LOC": None})
        files[name] = str(tmp_path / f"{name}.conll")
        write_corpus(corpus, files[name])
    return files


@pytest.fixture
def study_file(corpora, encoders, tmp_path):
    """Two systems, two seeds, two targets: eight results."""
    path = tmp_path / "study.yaml"
    values = {
        "title": "A small study",
        "systems": {"base": ["run.method=direct"], "ours": []},
        "encoder": encoders["bert"],
        "seeds": [1, 2],
        "set": [*tiny.FAST, *SHORT],
        "data": {
            "source": corpora["train"],
            "dev": corpora["dev"],
            "targets": {"aa": corpora["aa"], "bb": corpora["bb"]},
        },
    }
    path.write_text(json.dumps(values))  # JSON is YAML
    return path


@pytest.fixture
def small_study_file(study_file):
    """One system, one seed, one target: one result."""
    values = json.loads(study_file.read_text())
    values |= {"systems": {"base": ["run.method=direct"]}, "seeds": [1]}
    values["data"]["targets"].pop("bb")
    study_file.write_text(json.dumps(values))
    return study_file
