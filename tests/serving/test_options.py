"""Tokens, hosts, headers, and the limits of the command line."""

import socket

import pytest

from live_server import running
from metacross.errors import SettingsError
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions, check_reachable, is_loopback, read_token
from metacross.serving.run_server import listening_socket

ORIGIN = "https://example.org"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_server_for_this_machine_needs_no_token(host):
    assert is_loopback(host)
    check_reachable(host, has_token=False, no_token=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org"])
def test_a_server_for_other_machines_needs_a_token_or_a_clear_word(host):
    check_reachable(host, has_token=True, no_token=False)
    check_reachable(host, has_token=False, no_token=True)
    with pytest.raises(SettingsError) as refused:
        check_reachable(host, has_token=False, no_token=False)
    assert str(refused.value) == (
        f"--host: other machines can reach {host}; give --token-file FILE, "
        "or --no-token to serve everybody"
    )


def test_a_token_is_the_one_word_of_its_file(write):
    assert read_token(write("token", "0123456789abcdef\n")) == "0123456789abcdef"


@pytest.mark.parametrize("content", ["", "short", "two words of enough letters", b"\xff" * 20])
def test_a_file_without_a_token_is_refused(write, content):
    with pytest.raises(SettingsError, match=r"--token-file: .*: expected"):
        read_token(write("token", content))


def test_a_missing_token_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        read_token(tmp_path / "none")


@pytest.mark.parametrize("name", ["max_bytes", "max_texts", "max_characters", "queue_pieces"])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_are_above_zero(name, value):
    with pytest.raises(SettingsError, match=f"--{name.replace('_', '-')}: expected more than 0"):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_the_time_limit_is_a_number_above_zero(value):
    with pytest.raises(SettingsError, match="--seconds: expected more than 0"):
        Limits(seconds=value)


def test_the_token_is_not_printed():
    assert "secret" not in repr(ServerOptions(token="secret"))


def test_every_answer_forbids_scripts_of_others(client):
    for path in ("/", "/healthz", "/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_page_may_load_nothing_from_elsewhere(client):
    policy = client.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert {rules[f"{kind}-src"] for kind in ("script", "style", "img", "connect")} == {"'self'"}


def test_only_a_named_origin_may_use_the_server_from_its_pages(served):
    with running(served, ServerOptions(cors=(ORIGIN,))) as client:
        asked = {"Access-Control-Request-Method": "POST"}
        allowed = client.send("OPTIONS", "/v1/predict", headers={**asked, "Origin": ORIGIN})
        other = client.send(
            "OPTIONS", "/v1/predict", headers={**asked, "Origin": "https://other.org"}
        )
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-origin" not in other.headers


def test_the_default_language_and_adaptation_are_those_of_the_options(served, model):
    options = ServerOptions(language="fr", adapt=False)
    with running(served, options) as client:
        (result,) = client.post("/v1/predict", {"texts": ["l'ana saw l'rome"]}).json["results"]
        described = client.get("/v1/model").json
    assert (described["default_language"], described["adapts"]) == ("fr", False)
    assert result["sentences"][0]["adapted"] is False
    expected = model.predict("l'ana saw l'rome", language="fr", adapt=False)
    assert [(e["start"], e["end"]) for e in result["entities"]] == [
        (e.start, e.end) for e in expected.entities
    ]


def test_the_description_names_no_file_of_the_machine(client, trained_folder):
    described = client.get("/v1/model")
    assert described.json["labels"] == ["LOC", "PER"]
    assert str(trained_folder.parent) not in described.body.decode()
    assert "/" not in described.json["encoder"]


def test_answers_are_sent_at_once():
    """A connection that gathers small parts sends the body of an answer 40 ms after its head."""
    with (
        listening_socket("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
