"""Sources that are read from files as they are needed give what those in memory give."""

import shutil
from pathlib import Path

import pytest

import metacross
import tiny
from metacross.adaptation import approximate_retrieval
from metacross.errors import DataError, ModelError
from metacross.model.array_file import MappedArray
from metacross.settings import load_settings
from metacross.text.stored_sentences import StoredSentences
from metacross.text.writing import write_corpus
from metacross.training.callbacks import Callback

FIXTURES = Path(__file__).parent.parent / "fixtures"
FILES = (
    "model.safetensors",
    "source.jsonl",
    "source_vectors.safetensors",
    "pretrained.safetensors",
)
TESTS = tiny.corpus(12, seed=6)
ALL_IN_FILES = {"run": {"mmap_above": 0}}


class Preparations(Callback):
    def __init__(self):
        self.done = {}

    def on_prepare(self, what, n_done, n_total):
        self.done[what] = n_done, n_total


@pytest.mark.parametrize("overrides", [["data.map={PER: NAME}"], ["data.casing=nouns"]])
def test_a_training_on_a_stored_source_gives_the_same_model(encoders, tmp_path, overrides):
    write_corpus(tiny.corpus(30), tmp_path / "source.conll")
    write_corpus(tiny.corpus(15, seed=1), tmp_path / "dev.conll")
    models, preparations = {}, {}
    for limit in (0, 30):
        recipe = load_settings("paper", [*tiny.FAST, *overrides, f"run.mmap_above={limit}"])
        preparations[limit] = Preparations()
        models[limit] = metacross.train(
            tmp_path / "source.conll",
            dev=tmp_path / "dev.conll",
            encoder=encoders["bert"],
            recipe=recipe,
            output=tmp_path / f"model-{limit}",
            callbacks=[preparations[limit]],
        )
    datastore = models[0].parts.datastore
    assert type(datastore.source.sentences) is StoredSentences
    assert type(datastore.vectors) is MappedArray
    assert type(models[30].parts.datastore.source.sentences) is tuple
    for name in FILES:
        contents = [(tmp_path / f"model-{limit}" / name).read_bytes() for limit in models]
        assert contents[0] == contents[1], name
    predictions = [list(model.predict_stream(TESTS)) for model in models.values()]
    assert predictions[0] == predictions[1]
    assert preparations[0].done["tasks"] == (16, 16)  # 4 steps of 4 tasks, of 30 sentences


@pytest.mark.parametrize("folder", ["trained", "model-0.1"])
def test_a_model_read_from_its_files_predicts_the_same(trained_folder, folder):
    folder = trained_folder if folder == "trained" else FIXTURES / folder
    in_memory = metacross.load(folder, device="cpu")
    in_files = metacross.load(folder, device="cpu", **ALL_IN_FILES)
    assert type(in_files.parts.datastore.source.sentences) is StoredSentences
    assert type(in_files.parts.datastore.vectors) is MappedArray
    predictions = [list(model.predict_stream(TESTS)) for model in (in_memory, in_files)]
    assert predictions[0] == predictions[1]
    assert predictions[0][0].neighbors


def test_a_model_read_from_its_files_is_saved_to_the_same_files(trained_folder, tmp_path):
    for limit in (0, 1_000):
        model = metacross.load(trained_folder, device="cpu", run={"mmap_above": limit})
        model.save(tmp_path / str(limit))
    for name in FILES:
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1000" / name).read_bytes()


def test_it_can_be_saved_over_the_folder_that_it_reads(trained_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained_folder, folder)
    model = metacross.load(folder, device="cpu", **ALL_IN_FILES)
    before = list(model.predict_stream(TESTS))
    model.save(folder)
    assert list(model.predict_stream(TESTS)) == before
    assert list(metacross.load(folder, device="cpu").predict_stream(TESTS)) == before


@pytest.mark.parametrize("search", ["exact", "faiss"])
def test_it_remembers_and_forgets_as_one_in_memory(trained_folder, tmp_path, monkeypatch, search):
    built = []
    original = approximate_retrieval.ApproximateIndex.__init__
    monkeypatch.setattr(
        approximate_retrieval.ApproximateIndex,
        "__init__",
        lambda self, vectors: built.append(len(vectors)) or original(self, vectors),
    )
    neighbors = {}
    for limit in (0, 1_000):
        folder = tmp_path / str(limit)
        shutil.copytree(trained_folder, folder)
        options = {"run": {"mmap_above": limit}, "retrieval": {"search": search}}
        model = metacross.load(folder, device="cpu", **options)
        model.neighbors(TESTS.sentences)
        (remembered,) = model.remember(TESTS.sentences[:1], save=True)
        with_it = model.neighbors(TESTS.sentences)
        assert with_it[0][0].remembered == remembered.id
        again = metacross.load(folder, device="cpu", **options)
        assert again.neighbors(TESTS.sentences) == with_it
        model.forget([remembered.id], save=True)
        neighbors[limit] = with_it, model.neighbors(TESTS.sentences)
    assert neighbors[0] == neighbors[1_000]
    assert built == ([40] * 4 if search == "faiss" else [])  # once for each loaded model


def test_a_cache_that_cannot_be_written_is_said(encoders, tmp_path, monkeypatch):
    write_corpus(tiny.corpus(30), tmp_path / "source.conll")
    (tmp_path / "file").write_text("")
    recipe = load_settings("paper", [*tiny.FAST, "run.mmap_above=0"])

    def train(source):
        metacross.train(source, dev=tiny.corpus(9), encoder=encoders["bert"], recipe=recipe)

    monkeypatch.setenv("METACROSS_CACHE", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"corpora: cannot be written: .*METACROSS_CACHE"):
        train(tmp_path / "source.conll")
    with pytest.raises(ModelError, match="expected room for 30 sentence vectors"):
        train(tiny.corpus(30))
