"""``/v1/remember`` and ``/v1/forget``: a served model learns, if that was asked for."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import metacross
import tiny
from live_server import running
from metacross.errors import SettingsError
from metacross.model.remembered import REMEMBERED, read_remembered
from metacross.serving.options import ServerOptions, check_learning_is_guarded
from metacross.serving.served_model import ServedModel
from metacross.text.annotation_formats.annotated_text import sentences_of_text

TOKEN = "a-token-of-enough-letters"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TEXT = "eva went to bern."
ENTITIES = [{"start": 0, "end": 3, "label": "PER"}, {"start": 12, "end": 16, "label": "LOC"}]


@pytest.fixture(scope="module")
def folder(trained_folder, tmp_path_factory):
    copy = tmp_path_factory.mktemp("learning") / "model"
    shutil.copytree(trained_folder, copy)
    return copy


@pytest.fixture(scope="module")
def learning(folder):
    served = ServedModel.at(folder, device="cpu")
    with running(served, ServerOptions(token=TOKEN, any_host=True, learn=True)) as client:
        yield client


def test_a_server_does_not_learn_unless_it_was_started_to(client):
    answer = client.post("/v1/remember", {"texts": [{"text": TEXT, "entities": []}]})
    assert answer.status == 403
    assert answer.json["error"]["code"] == "learning_off"
    assert client.post("/v1/forget", {"ids": ["x"]}).status == 403
    assert client.get("/v1/model").json["learns"] is False


def test_learning_needs_a_token(learning, folder):
    content = {"texts": [{"text": TEXT, "entities": []}]}
    assert learning.post("/v1/remember", content).status == 401
    assert read_remembered(folder) == ()
    with pytest.raises(SettingsError, match=r"--learn: .* give --token-file"):
        check_learning_is_guarded(learn=True, has_token=False)
    check_learning_is_guarded(learn=True, has_token=True)


def test_the_next_similar_text_learns_from_a_remembered_one(learning, folder):
    content = {
        "texts": [{"text": TEXT, "entities": ENTITIES}],
    }
    answer = learning.post("/v1/remember", content, **BEARER)
    assert answer.status == 200, answer.body
    (remembered,) = answer.json["remembered"]
    assert remembered["text"] == TEXT
    assert learning.get("/v1/model", **BEARER).json["remembered_sentences"] == 1

    asked = {"texts": ["eva went to bern ."], "adapt": True, "neighbors": 1}
    (result,) = learning.post("/v1/predict", asked, **BEARER).json["results"]
    (neighbor,) = result["sentences"][0]["neighbors"]
    assert neighbor["remembered"] == remembered["id"]
    assert neighbor["text"] == TEXT
    assert metacross.load(folder, device="cpu").remembered[0].id == remembered["id"]

    answer = learning.post("/v1/forget", {"ids": [remembered["id"], "unknown"]}, **BEARER)
    assert answer.json["forgotten"] == [remembered["id"]]
    assert answer.json["total"] == 0
    assert read_remembered(folder) == ()
    (result,) = learning.post("/v1/predict", asked, **BEARER).json["results"]
    assert "remembered" not in result["sentences"][0]["neighbors"][0]


def test_words_and_documents_are_remembered_sentence_by_sentence(learning, folder):
    content = {
        "texts": [
            {"words": ["tom", "saw", "rome"], "entities": [{"start": 2, "end": 3, "label": "LOC"}]},
            {"text": "Ana slept. Tom ran.", "entities": [{"start": 11, "end": 14, "label": "PER"}]},
        ]
    }
    answer = learning.post("/v1/remember", content, **BEARER)
    assert answer.status == 200, answer.body
    ids = [item["id"] for item in answer.json["remembered"]]
    assert len(ids) == 3
    sentences = [item.sentence for item in read_remembered(folder)]
    assert [len(sentence.spans) for sentence in sentences] == [1, 0, 1]
    learning.post("/v1/forget", {"ids": ids}, **BEARER)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "missing"),
        ({"texts": []}, "at least 1"),
        ({"texts": [{"text": "a"}]}, "missing"),
        ({"texts": [{"entities": []}]}, "expected either text or words, found neither"),
        (
            {"texts": [{"text": TEXT, "entities": [{"start": 0, "end": 3, "label": "DATE"}]}]},
            "expected the labels LOC, PER, found DATE",
        ),
        (
            {"texts": [{"text": TEXT, "entities": [ENTITIES[0], {**ENTITIES[0], "label": "LOC"}]}]},
            "expected entities that do not overlap",
        ),
        (
            {"texts": [{"text": TEXT, "entities": [{"start": 0, "end": 99, "label": "PER"}]}]},
            "within 17 characters",
        ),
        (
            {"texts": [{"words": ["a"], "entities": [{"start": 0, "end": 2, "label": "PER"}]}]},
            "within 1 words",
        ),
        ({"texts": [{"text": "x", "entities": [], "folder": "/tmp"}]}, "unknown field"),
    ],
)
def test_what_cannot_be_remembered_is_refused(learning, folder, content, message):
    answer = learning.post("/v1/remember", content, **BEARER)
    assert answer.status == 422, answer.body
    assert message in answer.json["error"]["message"]
    assert "--lossy" not in answer.json["error"]["message"]
    assert read_remembered(folder) == ()


def test_other_clients_are_answered_while_it_learns(learning):
    """Remembering and predicting take turns in the one model thread."""
    statuses = []

    def teach(seed: int) -> None:
        for sentence in tiny.corpus(5, seed=seed):
            item = {
                "words": list(sentence.words),
                "entities": [
                    {"start": s.start, "end": s.end, "label": s.label} for s in sentence.spans
                ],
            }
            statuses.append(learning.post("/v1/remember", {"texts": [item]}, **BEARER).status)

    def ask() -> None:
        for _ in range(10):
            asked = {"texts": [TEXT], "adapt": True}
            statuses.append(learning.post("/v1/predict", asked, **BEARER).status)

    threads = [threading.Thread(target=teach, args=(seed,)) for seed in (20, 21)]
    threads += [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 30
    listed = [item.id for item in learning.app.state.desk.model.remembered]
    learning.post("/v1/forget", {"ids": listed}, **BEARER)


def test_other_clients_are_answered_while_a_long_text_is_split(learning, monkeypatch):
    is_splitting, released = threading.Event(), threading.Event()

    def held(*arguments):
        is_splitting.set()
        assert released.wait(10)
        return sentences_of_text(*arguments)

    monkeypatch.setattr("metacross.serving.learning.sentences_of_text", held)
    content = {"texts": [{"text": "rain fell. " * 200, "entities": []}]}
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(learning.post, "/v1/remember", content, **BEARER)
        assert is_splitting.wait(60)
        assert learning.get("/healthz").status == 200
        released.set()
        assert answer.result(60).status == 200
    listed = [item.id for item in learning.app.state.desk.model.remembered]
    learning.post("/v1/forget", {"ids": listed}, **BEARER)


def test_a_memory_that_cannot_be_written_is_said_without_naming_the_folder(
    trained_folder, tmp_path
):
    folder = tmp_path / "model"
    shutil.copytree(trained_folder, folder)
    served = ServedModel.at(folder, device="cpu")
    with running(served, ServerOptions(token=TOKEN, any_host=True, learn=True)) as client:
        (folder / REMEMBERED).mkdir()  # in place of the file: neither read nor replaced
        answer = client.post("/v1/remember", {"texts": [{"text": TEXT, "entities": []}]}, **BEARER)
    assert answer.status == 500
    assert answer.json["error"]["code"] == "memory_not_saved"
    assert str(folder) not in answer.json["error"]["message"]
