"""SIGTERM: accepted work is finished, the rest is refused."""

import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from live_server import Client, running, wait_until
from metacross.serving.options import ServerOptions


def test_a_stopping_server_refuses_new_work_and_finishes_the_old(held_served, held_model):
    with running(held_served, ServerOptions()) as client, ThreadPoolExecutor(1) as threads:
        held_model.hold()
        accepted = threads.submit(client.post, "/v1/predict", {"texts": ["ana"]})
        assert held_model.is_waiting.wait(60)
        client.app.state.desk.stop()
        refused = client.post("/v1/predict", {"texts": ["bob"]})
        assert refused.status == 503
        assert refused.json["error"] == {
            "code": "stopping",
            "message": "the server is stopping; send the request to another one, or again later",
            "where": "server",
        }
        assert client.get("/readyz").status == 503
        assert client.get("/healthz").status == 200
        held_model.released.set()
        assert accepted.result(60).status == 200


@pytest.mark.slow
def test_a_signal_under_load_loses_no_accepted_request(trained_folder):
    """The server counts what it accepted; the clients count what they got."""
    command = [sys.executable, "-m", "metacross", "serve", str(trained_folder), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        client = Client(int(re.search(r":(\d+) ", process.stdout.readline())[1]))
        wait_until(lambda: client.get("/readyz").status == 200)
        statuses: list[int] = []

        def send_until_refused(number: int) -> None:
            while True:
                try:
                    texts = [f"ana saw rome {i}" for i in range(1 + number)]
                    answer = client.post("/v1/predict", {"texts": texts})
                except OSError:  # the server is gone
                    return
                statuses.append(answer.status)
                if answer.status != 200:
                    return
                assert len(answer.json["results"]) == len(texts)

        with ThreadPoolExecutor(8) as threads:
            senders = [threads.submit(send_until_refused, number) for number in range(8)]
            wait_until(lambda: len(statuses) > 20)
            process.send_signal(signal.SIGTERM)
            for sender in senders:
                sender.result(60)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert err == ""
    n_answered = statuses.count(200)
    assert out == f"Stopped. Finished all {n_answered} accepted requests.\n"
    assert {*statuses} <= {200, 503}


def test_a_server_that_is_told_to_stop_while_it_loads_ends(trained_folder):
    command = [sys.executable, "-m", "metacross", "serve", str(trained_folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "Stopped. Finished all 0 accepted requests.\n"
    assert process.returncode == 0
