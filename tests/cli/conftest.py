"""What the tests of model commands share."""

import pytest

import tiny
from metacross.text.writing import write_corpus


@pytest.fixture
def files(tmp_path):
    """Source, dev and target corpora as files."""
    paths = {}
    for name, n_sentences, seed in (("train", 30, 0), ("dev", 12, 1), ("target", 20, 2)):
        paths[name] = tmp_path / f"{name}.conll"
        write_corpus(tiny.corpus(n_sentences, seed), paths[name])
    return paths
