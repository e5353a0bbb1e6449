"""``/v1/predict``: what the model gives in Python, for many clients at once."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import metacross
import tiny
from live_server import running, wait_until
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel

TEXTS = [" ".join(sentence.words) for sentence in tiny.corpus(64, seed=5)]


def of_python(prediction) -> list[tuple]:
    return [(e.start, e.end, e.label, e.text) for e in prediction.entities]


def of_server(entities: list[dict]) -> list[tuple]:
    return [(e["start"], e["end"], e["label"], e["text"]) for e in entities]


def scores(entities: list[dict]) -> list[float]:
    return [entity["score"] for entity in entities]


@pytest.mark.parametrize("adapt", [True, False])
def test_64_clients_at_once_get_what_the_model_predicts(client, model, adapt):
    """Each client sends texts of other lengths; the server batches them together."""
    requests = [[*TEXTS[i : i + 1 + i % 5], ". ".join(TEXTS[: i % 7])] for i in range(64)]
    start = threading.Barrier(64)

    def answer(texts):
        start.wait(60)
        return client.post("/v1/predict", {"texts": texts, "adapt": adapt})

    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(answer, requests))
    n_entities = 0
    for texts, got in zip(requests, answers, strict=True):
        assert got.status == 200
        expected = model.predict(texts, adapt=adapt)
        for prediction, result in zip(expected, got.json["results"], strict=True):
            assert result["text"] == prediction.text
            assert of_server(result["entities"]) == of_python(prediction)
            assert scores(result["entities"]) == pytest.approx(
                [entity.score for entity in prediction.entities], abs=1e-4
            )
            n_entities += len(result["entities"])
    assert n_entities > 100


def test_a_document_is_split_and_keeps_its_offsets(client, model):
    text = "Ana saw Rome.  Tom went to Oslo 💩.\n\nEva in York!"
    (result,) = client.post("/v1/predict", {"texts": [text], "language": "en"}).json["results"]
    assert [text[s["start"] : s["end"]].strip() for s in result["sentences"]] == [
        "Ana saw Rome.",
        "Tom went to Oslo 💩.",
        "Eva in York!",
    ]
    assert of_server(result["entities"]) == of_python(model.predict(text, language="en"))
    assert result["entities"]
    for entity in result["entities"]:
        sentence = result["sentences"][entity["sentence"]]
        assert sentence["start"] <= entity["start"] < entity["end"] <= sentence["end"]
        assert text[entity["start"] : entity["end"]] == entity["text"]


def test_words_are_given_on_request_as_ranges_of_the_text(client, model):
    text = "Ana saw 💩 Rome.  Tom went to Oslo."
    request = {"texts": [text], "language": "en"}
    (result,) = client.post("/v1/predict", {**request, "word_offsets": True}).json["results"]
    words = [[text[start:end] for start, end in s["words"]] for s in result["sentences"]]
    expected = model.predict(text, language="en").sentences
    assert words == [list(prediction.sentence.words) for prediction in expected]
    (result,) = client.post("/v1/predict", request).json["results"]
    assert all("words" not in sentence for sentence in result["sentences"])


def test_compare_gives_the_plain_entities_beside_the_adapted_ones(client, model):
    answer = client.post("/v1/predict", {"texts": TEXTS, "compare": True})
    n_only_plain = n_both = 0
    adapted, plain = model.predict(TEXTS, adapt=True), model.predict(TEXTS, adapt=False)
    for result, with_, without in zip(answer.json["results"], adapted, plain, strict=True):
        assert of_server(result["entities"]) == of_python(with_)
        assert of_server(result["plain_entities"]) == of_python(without)
        plain_labels = {(e.start, e.end): e.label for e in without.entities}
        for entity in result["entities"]:
            expected = plain_labels.pop((entity["start"], entity["end"]), None)
            assert (entity["plain"] and entity["plain"]["label"]) == expected
            n_both += expected is not None
        n_only_plain += len(plain_labels)
    assert n_both
    assert n_only_plain


def test_without_compare_nothing_is_said_about_plain(client):
    (result,) = client.post("/v1/predict", {"texts": ["ana saw rome"]}).json["results"]
    assert "plain_entities" not in result
    assert all("plain" not in entity for entity in result["entities"])


def test_neighbors_are_those_the_sentence_learned_from(client, model):
    answer = client.post("/v1/predict", {"texts": TEXTS[:3], "neighbors": 1})
    predictions = model.predict(TEXTS[:3])
    for result, prediction in zip(answer.json["results"], predictions, strict=True):
        (sentence,) = result["sentences"]
        (neighbor,) = sentence["neighbors"]
        expected = prediction.sentences[0].neighbors[0]
        assert neighbor["position"] == expected.position
        assert neighbor["text"] == " ".join(expected.sentence.words)
        shown = [neighbor["text"][s["start_char"] : s["end_char"]] for s in neighbor["spans"]]
        words = expected.sentence.words
        assert shown == [" ".join(words[s.start : s.end]) for s in expected.sentence.spans]


def test_words_are_kept_as_they_are_given(client, model):
    words = [["ana", "went", "to", "new york", "."], ["tom"]]
    results = client.post("/v1/predict", {"words": words}).json["results"]
    predictions = model.predict_words(words)
    assert [result["text"] for result in results] == ["ana went to new york .", "tom"]
    assert [of_server(result["entities"]) for result in results] == [
        of_python(prediction) for prediction in predictions
    ]


@pytest.mark.parametrize("text", ["", "  \n", "ana\x00rome", "💩", "\ufeffana", "a" * 3000])
def test_unusual_text_is_answered(client, model, text):
    answer = client.post("/v1/predict", {"texts": [text]})
    assert answer.status == 200
    (result,) = answer.json["results"]
    assert result["text"] == text
    assert of_server(result["entities"]) == of_python(model.predict(text))


def test_a_long_sentence_is_not_cut(client, model):
    text = " ".join(word for text in TEXTS for word in text.split() if word != ".")
    (result,) = client.post("/v1/predict", {"texts": [text]}).json["results"]
    assert result["sentences"][0]["windows"] > 1
    assert of_server(result["entities"]) == of_python(model.predict(text))
    assert max(entity["end"] for entity in result["entities"]) > len(text) - 100


def test_a_model_without_source_sentences_refuses_to_adapt_and_labels_plain(model, tmp_path):
    tuned = model.fine_tune(tiny.corpus(4, seed=3))
    with running(ServedModel("tuned", "0", lambda: tuned), ServerOptions()) as client:
        assert client.get("/v1/model").json["can_adapt"] is False
        refused = client.post("/v1/predict", {"texts": ["ana"], "adapt": True})
        assert (refused.status, refused.json["error"]["code"]) == (422, "cannot_adapt")
        plain = client.post("/v1/predict", {"texts": ["ana"]}).json
        assert plain["results"][0]["sentences"][0]["adapted"] is False


def test_hidden_source_sentences_have_only_position_and_similarity(served):
    with running(served, ServerOptions(hide_source=True)) as client:
        answer = client.post("/v1/predict", {"texts": ["ana saw rome"], "neighbors": 2})
        why = client.post("/v1/why", {"text": "ana saw rome"})
    (sentence,) = answer.json["results"][0]["sentences"]
    assert len(sentence["neighbors"]) == 2
    for neighbor in [*sentence["neighbors"], *why.json["neighbors"]]:
        assert neighbor.keys() == {"position", "similarity"}
    assert "“" not in why.body.decode()


def test_health_answers_while_the_model_works(held_served, held_model):
    with running(held_served, ServerOptions()) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        answer = threads.submit(client.post, "/v1/predict", {"texts": ["ana"]})
        assert held_model.is_waiting.wait(60)
        assert client.get("/healthz").status == 200
        assert client.get("/readyz").json == {"status": "ready"}
        assert "metacross_queue_pieces 0.0" not in client.get("/metrics").body.decode()
        assert not answer.done()
        held_model.released.set()
        assert answer.result(60).status == 200
        assert "metacross_queue_pieces 0.0" in client.get("/metrics").body.decode()


def test_work_that_is_not_done_in_time_is_dropped(held_served, held_model):
    options = ServerOptions(limits=Limits(seconds=0.2))
    with running(held_served, options) as client:
        held_model.hold()
        late = client.post("/v1/predict", {"texts": ["ana"]})  # the model holds it
        dropped = client.post("/v1/predict", {"texts": ["bob"] * 50})  # it waits in the queue
        held_model.released.set()
        assert (late.status, dropped.status) == (504, 504)
        assert late.json["error"] == {
            "code": "out_of_time",
            "message": "expected an answer within 0.2 seconds; send fewer texts in a request, "
            'or turn adaptation off with "adapt": false',
            "where": "server",
        }
        wait_until(lambda: client.post("/v1/predict", {"texts": ["eva"]}).status == 200)
        assert "ana" in held_model.predicted
        assert "bob" not in held_model.predicted


def test_work_of_clients_that_left_is_dropped(held_served, held_model):
    with running(held_served, ServerOptions()) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        first = threads.submit(client.post, "/v1/predict", {"texts": ["ana"]})
        assert held_model.is_waiting.wait(60)
        leaving = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        body = json.dumps({"texts": ["bob"] * 50})
        leaving.request("POST", "/v1/predict", body, {"Content-Type": "application/json"})
        wait_until(lambda: b"metacross_queue_pieces 153.0" in client.get("/metrics").body)
        leaving.close()
        wait_until(lambda: b"metacross_queue_pieces 3.0" in client.get("/metrics").body)
        held_model.released.set()
        assert first.result(60).status == 200
        assert client.post("/v1/predict", {"texts": ["eva"]}).status == 200
        assert "bob" not in held_model.predicted
        assert b"metacross_dropped_requests_total 1.0" in client.get("/metrics").body


def test_a_full_queue_says_when_to_come_back(held_served, held_model):
    options = ServerOptions(limits=Limits(queue_pieces=10))
    with running(held_served, options) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        first = threads.submit(client.post, "/v1/predict", {"texts": ["ana saw rome"]})
        assert held_model.is_waiting.wait(60)
        refused = client.post("/v1/predict", {"texts": ["ana saw rome in the rain"]})
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert refused.json["error"] == {
            "code": "queue_full",
            "message": "expected room for 8 pieces in the queue, found 5 of 10 taken; "
            "send the request again later",
            "where": "server",
        }
        held_model.released.set()
        assert first.result(60).status == 200
        assert client.post("/v1/predict", {"texts": ["ana saw rome in the rain"]}).status == 200


def test_a_request_larger_than_the_queue_is_told_so(served):
    with running(served, ServerOptions(limits=Limits(queue_pieces=10))) as client:
        refused = client.post("/v1/predict", {"texts": ["ana saw rome"] * 3})
    assert (refused.status, refused.json["error"]["message"]) == (
        413,
        "expected at most 10 word pieces, found 15; send fewer texts",
    )


def test_a_failing_batch_is_an_internal_error_and_the_server_lives_on(model):
    class Failing(metacross.NerModel):
        def predict_stream(self, sentences, **options):
            sentences = list(sentences)
            if any(sentence.words == ("fail",) for sentence in sentences):
                raise RuntimeError("a secret")
            return super().predict_stream(sentences, **options)

    failing = Failing(model.parts)
    texts = ["ana", "fail", "bob", "eva", "tom", "fail", "lea", "ivo"]
    served = ServedModel("failing", "0", lambda: failing)
    with running(served, ServerOptions()) as client, ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda text: client.post("/v1/predict", {"texts": [text]}), texts)
        )
    assert [answer.status for answer in answers] == [
        500 if text == "fail" else 200 for text in texts
    ]
    assert b"secret" not in answers[1].body
