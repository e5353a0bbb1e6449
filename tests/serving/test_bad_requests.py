"""Wrong requests: each gets its status code and a message that says what to do."""

import http.client
import json
import re
import socket

import pytest

from live_server import running, wait_until
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions

JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/jsonl"}
TOKEN = "a-token-of-enough-letters"


@pytest.fixture(scope="module")
def small(served):
    """A server with small limits."""
    limits = Limits(max_bytes=2_000, max_texts=3, max_characters=500, queue_pieces=400)
    with running(served, ServerOptions(limits=limits)) as client:
        yield client


def problem(code: str, message: str, where: str) -> dict:
    return {"error": {"code": code, "message": message, "where": where}}


def body(**fields) -> bytes:
    return json.dumps(fields).encode()


NOT_JSON = "expected JSON, found something else at line 1, column {}: {}"
FIELDS = (
    "unknown field; expected only texts, words, language, adapt, compare, neighbors, word_offsets"
)
OTHER_PATH = problem(
    "unknown_path", "expected a path of this server; GET /openapi.json lists them", "path"
)
OTHER_METHOD = problem(
    "wrong_method", "expected another method; GET /openapi.json lists them", "method"
)

PREDICT = {
    "not JSON": (b"hello", 400, "not_json", NOT_JSON.format(1, "expecting value"), "body"),
    "cut JSON": (
        b'{"texts": ["a"',
        400,
        "not_json",
        NOT_JSON.format(15, "expecting ',' delimiter"),
        "body",
    ),
    "two JSON values": (
        b'{"texts": []} {}',
        400,
        "not_json",
        NOT_JSON.format(15, "extra data"),
        "body",
    ),
    "a byte-order mark": (
        b'\xef\xbb\xbf{"texts": []}',
        400,
        "not_json",
        NOT_JSON.format(1, "unexpected UTF-8 BOM (decode using utf-8-sig)"),
        "body",
    ),
    "latin-1": (
        '{"texts": ["España"]}'.encode("latin-1"),
        400,
        "not_utf8",
        "expected UTF-8, found the byte 0xF1 at position 16; encode the request as UTF-8",
        "body",
    ),
    "UTF-16": (
        '{"texts": ["Ana"]}'.encode("utf-16"),
        400,
        "not_utf8",
        "expected UTF-8, found the byte 0xFF at position 0; encode the request as UTF-8",
        "body",
    ),
    "NaN": (
        b'{"neighbors": NaN}',
        400,
        "not_json",
        "expected JSON, found NaN, which JSON does not have",
        "body",
    ),
    "a control character": (
        b'{"texts": ["a\x00b"]}',
        400,
        "not_json",
        NOT_JSON.format(14, "invalid control character at"),
        "body",
    ),
    "deep nesting": (
        b"[" * 1_900,
        400,
        "not_json",
        "expected JSON of a few levels, found far too many brackets",
        "body",
    ),
    "no body": (b"", 422, "missing_field", "expected a JSON object, found no body", "body"),
    "a list": (b"[]", 422, "invalid_value", "expected a JSON object, found a list", "body"),
    "null": (b"null", 422, "invalid_value", "expected a JSON object, found null", "body"),
    "a string": (b'"ana"', 422, "invalid_value", "expected a JSON object, found 'ana'", "body"),
    "no field": (
        b"{}",
        422,
        "invalid_value",
        "expected either texts or words, found neither",
        "body",
    ),
    "both fields": (
        body(texts=[], words=[]),
        422,
        "invalid_value",
        "expected either texts or words, found both",
        "body",
    ),
    "a text, no list": (
        body(texts="ana"),
        422,
        "invalid_value",
        "expected a list, found 'ana'",
        "texts",
    ),
    "a number as text": (
        body(texts=["ana", 7]),
        422,
        "invalid_value",
        "expected a string, found 7",
        "texts.1",
    ),
    "null as text": (
        body(texts=[None]),
        422,
        "invalid_value",
        "expected a string, found null",
        "texts.0",
    ),
    "half a surrogate pair": (
        b'{"texts": ["ana \\ud83d"]}',
        422,
        "invalid_value",
        "expected Unicode text, found half of a surrogate pair (U+D83D) at character 4; "
        "send the text as UTF-8",
        "texts.0",
    ),
    "words, not split": (
        body(words=["ana saw rome"]),
        422,
        "invalid_value",
        "expected a list, found 'ana saw rome'",
        "words.0",
    ),
    "an empty word": (
        body(words=[["ana", ""]]),
        422,
        "invalid_value",
        "expected at least one character, found ''",
        "words.0.1",
    ),
    "a blank word": (
        body(words=[["ana", " "]]),
        422,
        "invalid_value",
        "expected a word, found ' '",
        "words.0.1",
    ),
    "adapt as a string": (
        body(texts=[], adapt="yes"),
        422,
        "invalid_value",
        "expected true or false, found 'yes'",
        "adapt",
    ),
    "a negative number": (
        body(texts=[], neighbors=-1),
        422,
        "invalid_value",
        "expected at least 0, found -1",
        "neighbors",
    ),
    "a huge number": (
        body(texts=[], neighbors=10**30),
        422,
        "invalid_value",
        "expected at most 16, found a huge number",
        "neighbors",
    ),
    "a number of thousands of digits": (
        b'{"texts": [], "neighbors": 1' + b"0" * 1_900 + b"}",
        422,
        "invalid_value",
        "expected at most 16, found a huge number",
        "neighbors",
    ),
    "a fraction": (
        body(texts=[], neighbors=1.5),
        422,
        "invalid_value",
        "expected a whole number, found 1.5",
        "neighbors",
    ),
    "true as a number": (
        body(texts=[], neighbors=True),
        422,
        "invalid_value",
        "expected a whole number, found true",
        "neighbors",
    ),
    "an unknown field": (body(texts=[], top_k=3), 422, "unknown_field", FIELDS, "top_k"),
    "a model name": (body(texts=[], model="/etc"), 422, "unknown_field", FIELDS, "model"),
    "a setting": (
        body(texts=[], adaptation={"learning_rate": 1}),
        422,
        "unknown_field",
        FIELDS,
        "adaptation",
    ),
    "an unknown language": (
        body(texts=[], language="../es"),
        422,
        "invalid_value",
        "expected a language code such as es, found '../es'",
        "language",
    ),
    "compare without adaptation": (
        body(texts=[], compare=True, adapt=False),
        422,
        "invalid_value",
        "expected adapt to be true or left out with compare, found false",
        "body",
    ),
    "too many texts": (
        body(texts=["a"] * 4),
        413,
        "too_many_texts",
        "expected at most 3 texts, found 4; send them in several requests, or use /v1/stream",
        "texts",
    ),
    "too many characters": (
        body(texts=["a" * 501]),
        413,
        "too_many_characters",
        "expected at most 500 characters, found 501; send the text in parts",
        "texts",
    ),
    "too many bytes": (
        body(texts=["a" * 2_000]),
        413,
        "too_many_bytes",
        "expected at most 2,000 bytes, found 2,015; send fewer texts",
        "body",
    ),
    "too many pieces": (
        body(texts=["a " * 240], compare=True),
        413,
        "too_many_pieces",
        "expected at most 400 word pieces, found 748; send fewer texts",
        "texts",
    ),
}


@pytest.mark.parametrize("name", PREDICT)
def test_a_wrong_request_to_predict_is_told_what_is_wrong(small, name):
    content, status, code, message, where = PREDICT[name]
    answer = small.send("POST", "/v1/predict", content, JSON)
    assert answer.json == problem(code, message, where)
    assert answer.status == status


OTHERS = {
    "another path": ("GET", "/v2/predict", b"", {}, 404, OTHER_PATH),
    "a file": ("GET", "/page/../app.py", b"", {}, 404, OTHER_PATH),
    "an encoded file": ("GET", "/page/%2e%2e%2fapp.py", b"", {}, 404, OTHER_PATH),
    "documentation": ("GET", "/docs", b"", {}, 404, OTHER_PATH),
    "a slash too many": ("GET", "/healthz/", b"", {}, 404, OTHER_PATH),
    "another method": ("GET", "/v1/predict", b"", {}, 405, OTHER_METHOD),
    "a deletion": ("DELETE", "/v1/model", b"", {}, 405, OTHER_METHOD),
    "a post to health": ("POST", "/healthz", b"{}", JSON, 405, OTHER_METHOD),
    "no content type": (
        "POST",
        "/v1/predict",
        body(texts=[]),
        {},
        415,
        problem(
            "wrong_content_type",
            "expected the header Content-Type: application/json, found none",
            "Content-Type",
        ),
    ),
    "a form": (
        "POST",
        "/v1/why",
        b"text=ana",
        {"Content-Type": "application/x-www-form-urlencoded"},
        415,
        problem(
            "wrong_content_type",
            "expected the header Content-Type: application/json, "
            "found 'application/x-www-form-urlencoded'",
            "Content-Type",
        ),
    ),
    "JSON for a stream": (
        "POST",
        "/v1/stream",
        b"{}",
        JSON,
        415,
        problem(
            "wrong_content_type",
            "expected the header Content-Type: application/jsonl or application/x-ndjson or "
            "application/x-jsonlines, found 'application/json'",
            "Content-Type",
        ),
    ),
    "an unknown parameter of a stream": (
        "POST",
        "/v1/stream?top_k=1",
        b"",
        LINES,
        422,
        problem(
            "unknown_field",
            "unknown field; expected only language, adapt, compare, neighbors",
            "top_k",
        ),
    ),
    "a negative parameter of a stream": (
        "POST",
        "/v1/stream?neighbors=-3",
        b"",
        LINES,
        422,
        problem("invalid_value", "expected at least 0, found -3", "neighbors"),
    ),
    "no word to explain": (
        "POST",
        "/v1/why",
        body(text=" "),
        JSON,
        422,
        problem("invalid_value", "expected a sentence with words, found none", "text"),
    ),
    "texts to explain": (
        "POST",
        "/v1/why",
        body(texts=["ana"]),
        JSON,
        422,
        problem("unknown_field", "unknown field; expected only text, words, language", "texts"),
    ),
    "a name of another site": (
        "GET",
        "/v1/model",
        b"",
        {"Host": "example.org"},
        403,
        problem(
            "wrong_host",
            "expected a Host header that names this machine, such as localhost; "
            "start the server with a token to use other names",
            "Host",
        ),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_wrong_request_elsewhere_is_told_what_is_wrong(small, name):
    method, path, content, headers, status, expected = OTHERS[name]
    answer = small.send(method, path, content or None, headers)
    assert answer.json == expected
    assert answer.status == status


def test_the_methods_of_a_path_are_listed(small):
    assert small.get("/v1/predict").headers["allow"] == "POST"


def test_ten_megabytes_are_refused_and_the_client_can_read_why(client):
    answer = client.send("POST", "/v1/predict", body(texts=["a" * 10_000_000]), JSON)
    assert answer.status == 413
    assert answer.json == problem(
        "too_many_bytes",
        "expected at most 1,048,576 bytes, found 10,000,015; send fewer texts",
        "body",
    )


def test_a_chunked_body_has_the_same_limit(small):
    connection = http.client.HTTPConnection("127.0.0.1", small.port, timeout=60)
    chunks = iter([b'{"texts": ["', b"a" * 3_000, b'"]}'])
    connection.request("POST", "/v1/predict", chunks, JSON, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read()) == problem(
        "too_many_bytes", "expected at most 2,000 bytes, found 3,015; send fewer texts", "body"
    )
    connection.close()


def test_many_wrong_items_are_refused_at_the_first(client):
    answer = client.post("/v1/predict", b'{"texts": [' + b"1," * 500_000 + b"1]}")
    assert answer.json == problem("invalid_value", "expected a string, found 1", "texts.0")


@pytest.mark.parametrize(
    "content", [b"\x00\xff\x13\x37\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100_000]
)
def test_what_is_not_http_does_not_stop_the_server(small, content):
    with socket.create_connection(("127.0.0.1", small.port), timeout=60) as connection:
        connection.sendall(content)
        assert b"200" not in connection.recv(1_000)[:20]
    assert small.get("/healthz").status == 200


SLOW = [
    ("/v1/predict", "application/json"),
    ("/v1/stream", "application/jsonl"),
    ("/label-studio/predict", "application/json"),
]


def unfinished(path: str, content_type: str) -> bytes:
    """A request whose body lacks 99 bytes."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: 100\r\n\r\n{{"
    ).encode()


@pytest.mark.parametrize(("path", "content_type"), SLOW)
def test_a_body_that_never_comes_is_not_waited_for(served, path, content_type):
    with (
        running(served, ServerOptions(limits=Limits(seconds=0.2))) as client,
        socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection,
    ):
        connection.sendall(unfinished(path, content_type))
        answer = connection.recv(4_096)
    assert b" 408 " in answer.partition(b"\r\n")[0]


@pytest.mark.parametrize(("path", "content_type"), SLOW)
def test_a_client_that_leaves_while_it_sends_is_no_error(client, path, content_type):
    n_before, n_errors = n_answered(client, path), n_answered(client, path, code="500")
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
        connection.sendall(unfinished(path, content_type))
    wait_until(lambda: n_answered(client, path) > n_before)
    assert n_answered(client, path, code="500") == n_errors


def n_answered(client, path: str, *, code: str = "[0-9]+") -> int:
    metrics = client.get("/metrics").body.decode()
    counts = re.findall(rf'requests_total{{code="{code}",path="{path}"}} (\d+)', metrics)
    return sum(map(int, counts))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (None, "none"),
        ("Bearer", "a wrong token"),
        ("Bearer wrong", "a wrong token"),
        (f"Basic {TOKEN}", "a wrong token"),
        (f"Bearer {TOKEN}x", "a wrong token"),
        ("Bearer \xe9", "a wrong token"),
    ],
)
def test_a_wrong_token_is_refused(guarded, header, found):
    answer = guarded.send(
        "POST", "/v1/predict", body(texts=[]), JSON | ({"Authorization": header} if header else {})
    )
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json == problem(
        "wrong_token",
        f"expected the header Authorization: Bearer TOKEN, found {found}",
        "Authorization",
    )


@pytest.fixture(scope="module")
def guarded(served):
    with running(served, ServerOptions(token=TOKEN, any_host=True)) as client:
        yield client


def test_the_right_token_opens_every_path(guarded):
    for path in ("/v1/model", "/metrics", "/openapi.json"):
        assert guarded.get(path).status == 401
        assert guarded.get(path, Authorization=f"bearer {TOKEN}", Host="example.org").status == 200


def test_health_and_the_page_need_no_token(guarded):
    for path in ("/", "/healthz", "/readyz"):
        assert guarded.get(path).status == 200
