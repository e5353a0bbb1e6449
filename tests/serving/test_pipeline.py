"""The Hugging Face pipeline, against transformers' own ``token-classification`` pipeline."""

import json
from pathlib import Path

import pytest
import transformers
from transformers.pipelines.pt_utils import KeyDataset

import metacross
import metacross.serving.pipeline as pipeline_module
from metacross.errors import DataError, ModelError, SettingsError

SENTENCES = [
    "ana saw rome .",
    "the old rain in york and bern",
    "tom went to oslo and lima and kiev .",
    "new rain .",
    "evanna saw ana tom",
]


@pytest.fixture(scope="module")
def entities_of(names_folder) -> metacross.EntityPipeline:
    return metacross.pipeline(names_folder)


@pytest.fixture
def registered() -> None:
    metacross.register_pipelines()


def assert_same_entities(found: list[dict], expected: list[dict], score_difference=1e-5) -> None:
    """Words are not compared: transformers glues word pieces together: ``eva ##n ##n ##a``."""
    keys = ["entity_group", "start", "end"]
    assert [[f[key] for key in keys] for f in found] == [[e[key] for key in keys] for e in expected]
    scores = [float(entity["score"]) for entity in expected]
    assert [entity["score"] for entity in found] == pytest.approx(scores, abs=score_difference)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_without_adaptation_it_gives_what_transformers_gives(entities_of, names_folder, sentence):
    oracle = transformers.pipeline(
        "token-classification", model=str(names_folder), aggregation_strategy="first"
    )
    found = entities_of(sentence, adapt=False)
    assert_same_entities(found, oracle(sentence))
    assert all(list(entity) == [*oracle("ana")[0]] for entity in found)


def test_the_sentences_of_these_tests_have_entities(entities_of):
    assert [len(entities) for entities in entities_of(SENTENCES)] == [2, 2, 4, 0, 3]


def test_by_default_it_gives_what_the_adapted_model_gives(entities_of, names_folder):
    model = metacross.load(names_folder)
    text = "ana saw rome. Then tom went to york."
    adapted = [(e.label, e.score, e.text, e.start, e.end) for e in model.predict(text).entities]
    assert [tuple(entity.values()) for entity in entities_of(text)] == adapted
    plain = [entity.score for entity in model.predict(text, adapt=False).entities]
    assert [score for _, score, *_ in adapted] != pytest.approx(plain, abs=1e-4)


def test_the_word_is_the_text_between_start_and_end(entities_of):
    text = "  Ana\tsaw ROME ."
    found = entities_of(text)
    assert [entity["word"] for entity in found] == ["Ana", "ROME"]
    assert [text[entity["start"] : entity["end"]] for entity in found] == ["Ana", "ROME"]


def test_the_output_can_be_written_as_json(entities_of):
    found = entities_of(SENTENCES[0])
    assert json.loads(json.dumps(found)) == found


def test_a_list_gives_a_list_and_an_iterator_an_iterator(entities_of):
    alone = [entities_of(sentence) for sentence in SENTENCES]
    rows = KeyDataset([{"text": sentence} for sentence in SENTENCES], "text")
    in_rows = list(entities_of(rows, batch_size=2))
    for found in (entities_of(SENTENCES), entities_of(tuple(SENTENCES)), in_rows):
        assert isinstance(found, list)
        for entities, expected in zip(found, alone, strict=True):
            # a step of Adam on a gradient near zero depends on rounding, and so on the batch
            assert_same_entities(entities, expected, score_difference=1e-3)
    stream = entities_of((sentence for sentence in SENTENCES), batch_size=2)
    assert iter(stream) is stream
    assert [len(entities) for entities in stream] == [len(entities) for entities in alone]


def test_a_stream_reads_no_more_than_a_batch_ahead(entities_of):
    read = []

    def texts():
        for sentence in SENTENCES:
            read.append(sentence)
            yield sentence

    next(entities_of(texts(), batch_size=2))
    assert len(read) == 2


def test_nothing_and_blanks_have_no_entities(entities_of):
    assert entities_of([]) == []
    assert entities_of("") == []
    assert entities_of(["", " \n "]) == [[], []]


def test_a_long_text_is_read_to_its_end(entities_of):
    text = "the old rain " * 300 + "ana saw rome"
    assert [text[e["start"] : e["end"]] for e in entities_of(text)] == ["ana", "rome"]


def test_labels_can_be_left_out_in_all_calls_or_in_one(names_folder, entities_of):
    assert [e["word"] for e in entities_of("ana saw rome", ignore_labels=["LOC"])] == ["ana"]
    assert len(entities_of("ana saw rome")) == 2


def test_parameters_of_the_pipeline_are_those_of_its_calls(names_folder):
    model = metacross.load(names_folder)
    plain = metacross.pipeline(model, adapt=False)
    expected = [entity.score for entity in model.predict("ana saw rome", adapt=False).entities]
    assert [entity["score"] for entity in plain("ana saw rome")] == expected
    adapted = [entity.score for entity in model.predict("ana saw rome").entities]
    assert [entity["score"] for entity in plain("ana saw rome", adapt=True)] == adapted


@pytest.mark.parametrize("strategy", ["simple", "first", "average", "max"])
def test_every_aggregation_strategy_gives_whole_entities(entities_of, strategy):
    assert entities_of("ana saw", aggregation_strategy=strategy) == entities_of("ana saw")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda p: p(7), DataError, "expected a text or texts, found int"),
        (lambda p: p(["ana", None]), DataError, "expected texts, found NoneType"),
        (lambda p: list(p(iter([{"text": "ana"}]))), DataError, "KeyDataset"),
        (lambda p: p("ana", stride=5), SettingsError, "unknown parameter stride"),
        (lambda p: p("ana", aggregation_strategy="none"), SettingsError, "aggregation_strategy"),
        (lambda p: p.push_to_hub("owner/name"), ModelError, "labeled source sentences"),
    ],
)
def test_a_wrong_call_says_what_was_expected(entities_of, call, error, message):
    with pytest.raises(error, match=message):
        call(entities_of)


def test_transformers_makes_it_for_the_task(registered, names_folder, entities_of):
    made = transformers.pipeline("metacross", model=str(names_folder), language="en", device=-1)
    assert isinstance(made, metacross.EntityPipeline)
    assert made(SENTENCES) == entities_of(SENTENCES)


def test_transformers_loads_the_network_once(registered, names_folder, monkeypatch):
    folders = []

    def counted(folder, **options):
        folders.append(folder)
        return metacross.load(folder, **options)

    monkeypatch.setattr(pipeline_module, "load", counted)
    monkeypatch.setattr(
        transformers.AutoModelForTokenClassification,
        "from_pretrained",
        _counting(transformers.AutoModelForTokenClassification.from_pretrained, folders),
    )
    transformers.pipeline("metacross", model=str(names_folder))
    assert folders == [str(names_folder)] * 2  # by metacross.load, and inside it


def _counting(function, folders):
    def counted(folder, *arguments, **options):
        folders.append(str(folder))
        return function(folder, *arguments, **options)

    return counted


def test_a_name_of_the_hub_keeps_its_revision():
    reference = pipeline_module._ModelReference.from_pretrained("owner/name", revision="abc")
    assert reference.location == "hub:owner/name@abc"


def test_a_network_without_its_folder_is_refused(registered, names_folder):
    network = transformers.AutoModelForTokenClassification.from_pretrained(names_folder)
    with pytest.raises(ModelError, match="expected a model folder, found BertForTokenClassif"):
        transformers.pipeline("metacross", model=network)


def test_registering_twice_is_silent(registered, caplog):
    metacross.register_pipelines()
    assert not caplog.records


def test_a_saved_pipeline_has_the_files_of_the_model_and_no_code(
    registered, names_folder, tmp_path
):
    made = transformers.pipeline("metacross", model=str(names_folder))
    made.save_pretrained(tmp_path)
    assert contents(tmp_path) == contents(names_folder)
    assert "custom_pipelines" not in (tmp_path / "config.json").read_text()
    opened = transformers.pipeline("metacross", model=str(tmp_path), trust_remote_code=False)
    assert opened(SENTENCES) == made(SENTENCES)


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the recipe, in which the device of a loaded model is ``auto``, and the card,
    which names its folder.
    """
    files = [path for path in folder.iterdir() if path.name not in ("recipe.yaml", "README.md")]
    return {path.name: path.read_bytes() for path in files}


def test_transformers_own_way_of_saving_would_write_code(registered, names_folder, tmp_path):
    """If this fails, ``save_pretrained`` no longer needs to be overridden."""
    made = transformers.pipeline("metacross", model=str(names_folder))
    transformers.Pipeline.save_pretrained(made, tmp_path)
    assert "custom_pipelines" in json.loads((tmp_path / "config.json").read_text())
    assert list(tmp_path.glob("*.py"))
