"""A spaCy pipeline with its model goes to other folders, processes and machines."""

import json
import multiprocessing.context
import pickle
import shutil

import pytest
import spacy

import metacross
from metacross.errors import ModelError
from metacross.serving import spacy_component as _registers_the_factory  # noqa: F401

TEXTS = ["ana saw rome . tom went to york .", "", " \n ", "eva in lima and bern", "old rain"] * 3

LOADS_A_PIPELINE = """
import json, sys
import spacy

nlp = spacy.load(sys.argv[1])
docs = [nlp(text) for text in json.loads(sys.argv[2])]
found = [[(ent.text, ent.label_, ent._.metacross_score) for ent in doc.ents] for doc in docs]
print(json.dumps(found))
"""

USES_TWO_PROCESSES = """
import json, multiprocessing, sys
import spacy, torch

@spacy.Language.component("threads")
def note_threads(doc):
    doc.user_data["threads"] = torch.get_num_threads()
    return doc

multiprocessing.set_start_method("fork")
nlp = spacy.load(sys.argv[1])
nlp.add_pipe("threads")
texts = json.loads(sys.argv[2])
alone = [nlp(text) for text in texts]
assert {doc.user_data["threads"] for doc in alone} == {2}
docs = list(nlp.pipe(texts, n_process=2, batch_size=5))
# A forked process that waits for the threads of its parent would wait forever.
assert {doc.user_data["threads"] for doc in docs} == {1}
assert [doc.text for doc in docs] == texts
for doc, expected in zip(docs, alone, strict=True):
    assert [(e.text, e.label_) for e in doc.ents] == [(e.text, e.label_) for e in expected.ents]
    for ent, other in zip(doc.ents, expected.ents, strict=True):
        assert abs(ent._.metacross_score - other._.metacross_score) < 1e-5
        assert ent._.metacross_neighbors[0]["text"] == other._.metacross_neighbors[0]["text"]
    assert len(doc.spans["metacross"].attrs["scores"]) == len(expected.ents)
print(sum(len(doc.ents) for doc in docs))
"""


@pytest.fixture
def nlp(names_folder) -> spacy.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", config={"model": str(names_folder), "keep_neighbors": True})
    return nlp


@pytest.fixture
def expected(names_folder) -> list[list[tuple[str, str, float]]]:
    model = metacross.load(names_folder)
    return [[(e.text, e.label, e.score) for e in p.entities] for p in model.predict(TEXTS)]


def entities(docs) -> list[list[tuple[str, str, float]]]:
    return [[(e.text, e.label_, e._.metacross_score) for e in doc.ents] for doc in docs]


def assert_same(found, expected) -> None:
    assert sum(map(len, expected)) == 21
    for entities, expected_entities in zip(found, expected, strict=True):
        assert [(text, label) for text, label, _ in entities] == [
            (text, label) for text, label, _ in expected_entities
        ]
        scores = [score for *_, score in expected_entities]
        assert [score for *_, score in entities] == pytest.approx(scores, abs=1e-5)


@pytest.mark.slow
def test_a_saved_pipeline_works_without_the_original_and_without_importing_metacross(
    names_folder, tmp_path, run_python, expected
):
    original = tmp_path / "original"
    shutil.copytree(names_folder, original)
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", config={"model": str(original)})
    nlp.to_disk(tmp_path / "pipeline")
    shutil.rmtree(original)
    printed = run_python(LOADS_A_PIPELINE, tmp_path / "pipeline", json.dumps(TEXTS))
    assert_same(json.loads(printed), expected)


@pytest.mark.slow
def test_two_processes_give_what_one_gives(nlp, tmp_path, run_python):
    nlp.to_disk(tmp_path / "pipeline")
    printed = run_python(USES_TWO_PROCESSES, tmp_path / "pipeline", json.dumps(TEXTS), threads=2)
    assert int(printed) == 21


@pytest.mark.slow
def test_spacy_finds_the_component_without_loading_transformers(run_python):
    code = (
        "import sys, spacy\n"
        "spacy.blank('es').add_pipe('metacross')\n"
        "print(*[name in sys.modules for name in ('metacross', 'transformers')])"
    )
    assert run_python(code).split() == ["True", "False"]


def test_the_folder_of_a_saved_component_is_a_model_folder(nlp, tmp_path, names_folder):
    nlp.to_disk(tmp_path / "pipeline")
    assert nlp.get_pipe("metacross")._model is None  # it is copied, not loaded
    saved = metacross.load(tmp_path / "pipeline" / "metacross")
    before = metacross.load(names_folder)
    assert saved.predict(TEXTS[0]) == before.predict(TEXTS[0])


def test_a_pipeline_can_be_saved_where_it_was_loaded(nlp, tmp_path, expected):
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    loaded.to_disk(tmp_path)
    assert_same(entities(spacy.load(tmp_path).pipe(TEXTS)), expected)


def test_a_pipeline_keeps_its_settings(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path).get_pipe("metacross").options
    assert loaded == nlp.get_pipe("metacross").options


def test_a_pipeline_whose_model_was_removed_is_refused_when_it_is_loaded(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    (tmp_path / "metacross" / "metacross.json").unlink()
    with pytest.raises(ModelError, match=r"expected metacross\.json in the model folder"):
        spacy.load(tmp_path)


def test_a_pipeline_as_bytes_works_without_the_original(names_folder, tmp_path, expected):
    original = tmp_path / "original"
    shutil.copytree(names_folder, original)
    nlp = spacy.blank("en")
    nlp.add_pipe("metacross", config={"model": str(original)})
    data = nlp.to_bytes()
    shutil.rmtree(original)
    loaded = spacy.blank("en")
    loaded.add_pipe("metacross")
    loaded.from_bytes(data)
    assert_same(entities(loaded.pipe(TEXTS)), expected)
    loaded.to_disk(tmp_path / "pipeline")  # from memory: it has no folder
    assert_same(entities(spacy.load(tmp_path / "pipeline").pipe(TEXTS)), expected)


def test_a_pipeline_from_bytes_whose_source_stays_in_files_can_be_saved(nlp, tmp_path, expected):
    loaded = spacy.blank("en")
    loaded.add_pipe("metacross", config={"settings": {"run": {"mmap_above": 0}}})
    loaded.from_bytes(nlp.to_bytes())
    loaded.to_disk(tmp_path)
    assert_same(entities(spacy.load(tmp_path).pipe(TEXTS)), expected)
    component = pickle.loads(pickle.dumps(loaded.get_pipe("metacross")))
    assert_same(entities(component(nlp.make_doc(text)) for text in TEXTS), expected)


def test_bytes_that_are_no_model_are_refused(nlp):
    with pytest.raises(ModelError):
        nlp.get_pipe("metacross").from_bytes(spacy.util.to_bytes({"a": lambda: b"b"}, ()))


def test_a_pickled_component_carries_its_model(nlp, expected):
    component = pickle.loads(pickle.dumps(nlp.get_pipe("metacross")))
    assert component._source is None
    docs = [component(nlp.make_doc(text)) for text in TEXTS]
    assert_same(entities(docs), expected)


def test_a_started_process_reads_the_folder_instead(nlp, names_folder, expected):
    multiprocessing.context.set_spawning_popen(object())
    try:
        pickled = pickle.dumps(nlp.get_pipe("metacross"))
    finally:
        multiprocessing.context.set_spawning_popen(None)
    assert len(pickled) < 2000
    component = pickle.loads(pickled)
    assert_same(entities(component(nlp.make_doc(text)) for text in TEXTS), expected)
