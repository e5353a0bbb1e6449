"""The backend of Label Studio, with requests as its version 1.23 sends them."""

import base64
import http.client
import json
import logging
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tiny
from live_server import running, wait_until
from metacross.model.remembered import read_remembered
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel
from metacross.text.annotation_formats.annotated_text import sentences_of_text

TOKEN = "a-token-of-enough-letters"
CONFIG = """<View>
  <Labels name="ner" toName="doc"><Label value="PER"/><Label value="Place" alias="LOC"/></Labels>
  <Text name="doc" value="$body"/>
</View>"""


def basic(token: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"metacross:{token}".encode()).decode()}


def tasks(*texts: object) -> list[dict]:
    return [{"id": number, "data": {"body": text}} for number, text in enumerate(texts)]


def predict(client, *texts: object, config: str = CONFIG, **headers: str):
    content = {"tasks": tasks(*texts), "project": "1.2", "label_config": config, "params": {}}
    return client.post("/label-studio/predict", content, **headers)


@pytest.fixture(scope="module")
def names(names_folder):
    """A server whose model labels names."""
    served = ServedModel.at(names_folder, device="cpu")
    with running(served, ServerOptions()) as client:
        yield client


def test_label_studio_can_connect(names):
    assert names.get("/label-studio/health").json == {"status": "UP", "model_class": "metacross"}
    body = {"project": "2.1", "schema": CONFIG, "hostname": "x", "access_token": "secret-of-a-user"}
    answer = names.post("/label-studio/setup", body)
    assert answer.status == 200
    version = answer.json["model_version"]
    assert version.startswith("names-")
    assert names.get("/label-studio/versions").json == {"versions": [version]}


def test_the_token_of_a_user_is_not_logged(names, caplog):
    body = {"project": "2.1", "schema": "<View/>", "access_token": "secret-of-a-user"}
    with caplog.at_level(logging.DEBUG):
        assert names.post("/label-studio/setup", body).status == 200
    assert "expected <Labels> for a <Text>" in caplog.text
    assert "secret" not in caplog.text


def test_each_task_gets_one_result_in_the_words_of_the_project(names):
    texts = ["💩 ana went to rome. bob saw oslo.", "", "rain", None, 7, "eva"]
    answer = predict(names, *texts)
    assert answer.status == 200, answer.body
    results = answer.json["results"]
    assert len(results) == len(texts)
    first = results[0]["result"]
    assert [
        (r["value"]["text"], r["value"]["labels"], r["value"]["start"], r["value"]["end"])
        for r in first
    ] == [
        ("ana", ["PER"], 2, 5),
        ("rome", ["LOC"], 14, 18),
        ("bob", ["PER"], 20, 23),
        ("oslo", ["LOC"], 28, 32),
    ]
    for region in first:
        start, end = region["value"]["start"], region["value"]["end"]
        assert texts[0][start:end] == region["value"]["text"]
        assert (region["from_name"], region["to_name"], region["type"]) == ("ner", "doc", "labels")
        assert 0 <= region["score"] <= 1
        assert region["meta"]["text"][0].startswith("learned from: ")
    assert len({region["id"] for region in first}) == 4
    assert [result["result"] for result in results[1:5]] == [[], [], [], []]
    assert all(0 <= result["score"] <= 1 for result in results)


def test_the_score_of_a_task_is_its_least_certain_word(names, names_folder):
    import metacross

    text = "ana went to rome. bob saw oslo."
    model = metacross.load(names_folder, device="cpu")
    expected = min(
        float(sentence.probabilities.max(axis=1).min())
        for sentence in model.predict(text).sentences
    )
    (result,) = predict(names, text).json["results"]
    assert result["score"] == pytest.approx(expected, abs=1e-3)


def test_hints_are_the_same_whatever_the_project_calls_the_labels(names):
    texts = [" ".join(sentence.words) for sentence in tiny.corpus(30, seed=8)]
    own_names = CONFIG.replace('"Place" alias="LOC"', '"LOC"')
    other_names = CONFIG.replace('"PER"', '"PER" alias="persona"').replace(
        '"Place" alias="LOC"', '"LOC" alias="lugar"'
    )
    own = predict(names, *texts, config=own_names).json["results"]
    other = predict(names, *texts, config=other_names).json["results"]
    assert {region["value"]["labels"][0] for r in other for region in r["result"]} == {
        "persona",
        "lugar",
    }
    assert [region["meta"] for r in other for region in r["result"]] == [
        region["meta"] for r in own for region in r["result"]
    ]


def test_labels_that_the_project_lacks_are_left_out(names):
    config = CONFIG.replace('<Label value="Place" alias="LOC"/>', "")
    (result,) = predict(names, "ana went to rome", config=config).json["results"]
    assert [region["value"]["labels"] for region in result["result"]] == [["PER"]]


@pytest.mark.parametrize("config", ["<View>", "<View/>"])
def test_a_project_without_text_labels_is_an_error_that_says_so(names, config):
    answer = predict(names, "ana", config=config)
    assert answer.status == 422
    assert "label_config: expected" in answer.json["error"]["message"]


def test_many_tasks_in_one_request_are_all_answered(names):
    texts = [f"ana went to rome number {number}" for number in range(150)]
    results = predict(names, *texts).json["results"]
    assert len(results) == 150
    assert all(result["result"][0]["value"]["text"] == "ana" for result in results)


def test_a_source_that_is_hidden_is_not_shown_in_hints(names_folder):
    served = ServedModel.at(names_folder, device="cpu")
    with running(served, ServerOptions(hide_source=True)) as client:
        (result,) = predict(client, "ana went to rome").json["results"]
    assert result["result"]
    assert all("meta" not in region for region in result["result"])


def test_what_is_left_when_the_time_is_over_is_labeled_plain(names_folder):
    served = ServedModel.at(names_folder, device="cpu")
    with running(served, ServerOptions(label_studio_seconds=1e-9)) as client:
        results = predict(client, "ana went to rome", "bob").json["results"]
    assert [result["model_version"].endswith("/plain") for result in results] == [True, True]
    assert results[0]["result"][0]["value"]["text"] == "ana"
    assert "meta" not in results[0]["result"][0]


def test_tasks_of_a_client_that_left_are_dropped(held_served, held_model):
    with running(held_served, ServerOptions()) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        first = threads.submit(client.post, "/v1/predict", {"texts": ["ana"]})
        assert held_model.is_waiting.wait(60)
        leaving = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        body = json.dumps({"tasks": tasks(*["bob"] * 100), "label_config": CONFIG})
        leaving.request("POST", "/label-studio/predict", body)
        wait_until(lambda: client.app.state.desk.n_accepted == 33)  # the first group of tasks
        leaving.close()
        wait_until(lambda: b"metacross_queue_pieces 3.0" in client.get("/metrics").body)
        held_model.released.set()
        assert first.result(60).status == 200
        assert client.post("/v1/predict", {"texts": ["eva"]}).status == 200
        assert client.app.state.desk.n_accepted == 34
    assert "bob" not in held_model.predicted


def test_label_studio_has_its_own_time(held_served, held_model):
    options = ServerOptions(limits=Limits(seconds=0.2), label_studio_seconds=60)
    with running(held_served, options) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        answer = threads.submit(predict, client, "ana")
        assert held_model.is_waiting.wait(60)
        late = client.post("/v1/predict", {"texts": ["bob"]})  # takes those seconds
        held_model.released.set()
        assert (late.status, answer.result(60).status) == (504, 200)


def test_a_webhook_without_learn_is_taken_and_does_nothing(names):
    answer = names.post("/label-studio/webhook", {"action": "ANNOTATION_CREATED"})
    assert (answer.status, answer.json) == (201, {"status": "ok"})


@pytest.fixture
def folder(names_folder, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(names_folder, copy)
    return copy


@pytest.fixture
def learning(folder):
    served = ServedModel.at(folder, device="cpu")
    with running(served, ServerOptions(token=TOKEN, any_host=True, learn=True)) as client:
        yield client


def webhook(client, action: str, text: str, *regions: tuple[int, int, str], **fields):
    result = [
        {
            "id": "r",
            "type": "labels",
            "value": {"start": s, "end": e, "text": text[s:e], "labels": [label]},
        }
        for s, e, label in regions
    ]
    content = {
        "action": action,
        "project": {"id": 2, "label_config": CONFIG},
        "task": {"id": 17, "data": {"body": text}},
        "annotation": {"id": 5, "completed_by": 1, "result": result, **fields},
    }
    return client.post("/label-studio/webhook", content, **basic(TOKEN))


def test_an_annotation_teaches_the_model_at_once(learning, folder):
    text = "rain saw the old lima"
    answer = webhook(learning, "ANNOTATION_CREATED", text, (0, 4, "PER"), (17, 21, "LOC"))
    assert (answer.status, answer.json["remembered"]) == (201, 1), answer.body
    (item,) = read_remembered(folder)
    assert [(" ".join(item.sentence.words_of(s)), s.label) for s in item.sentence.spans] == [
        ("rain", "PER"),
        ("lima", "LOC"),
    ]
    assert item.source == "Label Studio project 2, annotation 5: task 17"
    (result,) = predict(learning, text, **basic(TOKEN)).json["results"]
    assert "[rain PER] saw" in json.dumps(result["result"])


def test_others_are_answered_while_an_annotated_text_is_split(learning, monkeypatch):
    is_splitting, released = threading.Event(), threading.Event()

    def held(*arguments):
        is_splitting.set()
        assert released.wait(10)
        return sentences_of_text(*arguments)

    monkeypatch.setattr("metacross.serving.label_studio_learning.sentences_of_text", held)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(webhook, learning, "ANNOTATION_CREATED", "rain fell. " * 200)
        assert is_splitting.wait(60)
        assert learning.get("/healthz").status == 200
        released.set()
        assert answer.result(60).status == 201


def test_a_changed_annotation_replaces_and_a_deleted_one_is_forgotten(learning, folder):
    webhook(learning, "ANNOTATION_CREATED", "rain saw lima", (0, 4, "PER"))
    webhook(learning, "ANNOTATION_UPDATED", "rain saw lima", (9, 13, "LOC"))
    (item,) = read_remembered(folder)
    assert [span.label for span in item.sentence.spans] == ["LOC"]
    content = {"action": "ANNOTATIONS_DELETED", "project": {"id": 2}, "annotations": [{"id": 5}]}
    answer = learning.post("/label-studio/webhook", content, **basic(TOKEN))
    assert answer.json == {"status": "ok", "forgotten": 1}
    assert read_remembered(folder) == ()


def test_an_annotation_that_cannot_be_learned_from_says_why(learning, folder):
    answer = webhook(learning, "ANNOTATION_CREATED", "rain", (0, 4, "DATE"))
    assert answer.status == 201
    assert "expected the labels LOC, PER, found DATE" in answer.json["reason"]
    answer = webhook(learning, "ANNOTATION_CREATED", "rain", (0, 4, "PER"), (0, 2, "LOC"))
    assert "do not overlap" in answer.json["reason"]
    answer = webhook(learning, "ANNOTATION_CREATED", "rain", (0, 4, "PER"), was_cancelled=True)
    assert answer.json["remembered"] == 0
    assert read_remembered(folder) == ()


def test_an_annotation_teaches_the_field_that_the_project_labels(learning, folder):
    content = {
        "action": "ANNOTATION_CREATED",
        "project": {"id": 2, "label_config": CONFIG},
        "task": {"id": 17, "data": {"text": "https://example.org/77", "body": "rain saw lima"}},
        "annotation": {"id": 5, "completed_by": 1, "result": []},
    }
    answer = learning.post("/label-studio/webhook", content, **basic(TOKEN))
    assert answer.json["remembered"] == 1, answer.body
    assert [item.sentence.words for item in read_remembered(folder)] == [("rain", "saw", "lima")]


def test_an_annotation_of_a_task_without_the_labeled_field_says_so(learning, folder):
    content = {
        "action": "ANNOTATION_CREATED",
        "project": {"id": 2, "label_config": CONFIG},
        "task": {"id": 17, "data": {"text": "rain saw lima"}},
        "annotation": {"id": 5, "completed_by": 1, "result": []},
    }
    answer = learning.post("/label-studio/webhook", content, **basic(TOKEN))
    assert "task 17: expected the text in the field 'body', found 'text'" in answer.json["reason"]
    assert read_remembered(folder) == ()


def test_a_broken_list_of_deleted_annotations_says_why(learning):
    content = {"action": "ANNOTATIONS_DELETED", "project": {"id": 2}, "annotations": 5}
    answer = learning.post("/label-studio/webhook", content, **basic(TOKEN))
    assert answer.status == 201
    assert "expected a list of objects as 'annotations', found 5" in answer.json["reason"]


def test_label_studio_sends_the_token_as_a_password(learning):
    assert predict(learning, "ana").status == 401
    assert predict(learning, "ana", **basic("wrong")).status == 401
    assert predict(learning, "ana", Authorization="Basic %%%").status == 401
    assert predict(learning, "ana", **basic(TOKEN)).status == 200
    assert learning.get("/label-studio/health").status == 200


@pytest.mark.parametrize("body", [b"[]", b"x", b'{"tasks": {}}'])
def test_a_broken_request_is_an_error_and_not_a_crash(names, body):
    answer = names.send("POST", "/label-studio/predict", body, {"Content-Type": "application/json"})
    assert answer.status in (400, 422)
    assert "expected" in answer.json["error"]["message"]
