"""A real Label Studio: predictions, an annotation made in its page, the webhook, the export.

``make test-label-studio`` installs it into an environment of its own and runs this; other test runs
leave it out.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from live_server import running, wait_until
from metacross.model.remembered import read_remembered
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel
from metacross.text.annotation_formats.label_config import config_xml
from metacross.text.reading import read_corpus
from page_browser import CHROMIUM

ENVIRONMENT = os.environ.get("LABEL_STUDIO_ENVIRONMENT")
TOKEN = "a-token-of-enough-letters"
API_KEY = "0123456789abcdef0123456789abcdef01234567"
USER, PASSWORD = "ana@example.org", "a-password-of-ana"
TEXTS = ["💩 the rain went to ana", "ana went to rome. bob saw oslo.", "the old rain"]

pytestmark = [
    pytest.mark.skipif(ENVIRONMENT is None, reason="run make test-label-studio"),
    pytest.mark.timeout(900),
]


@pytest.fixture
def label_studio(tmp_path):
    """The address of a Label Studio that is ready."""
    if CHROMIUM is None:  # said before the minutes that Label Studio takes to start
        pytest.fail("no browser: apt-get install chromium")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = (tmp_path / "label-studio.log").open("w")
    process = subprocess.Popen(
        [
            Path(ENVIRONMENT) / "bin" / "label-studio", "start", "--no-browser",
            "--port", str(port), "--data-dir", tmp_path / "data", "--username", USER,
            "--password", PASSWORD, "--user-token", API_KEY, "--enable-legacy-api-token",
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        env={
            **os.environ,
            "ML_BLOCK_LOCAL_IP": "false",
            "SSRF_PROTECTION_ENABLED": "false",
            "LATEST_VERSION_CHECK": "false",
            "COLLECT_ANALYTICS": "false",
        },
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _is_up(url) or process.poll() is not None, seconds=400)
        assert process.poll() is None, (tmp_path / "label-studio.log").read_text()[-2000:]
        yield url
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        log.close()


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        time.sleep(1)
        return False


def test_label_studio_asks_learns_and_exports(label_studio, names_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(names_folder, folder)
    served = ServedModel.at(folder, device="cpu")
    with running(served, ServerOptions(token=TOKEN, any_host=True, learn=True)) as client:
        plan = {
            "url": label_studio,
            "api_key": API_KEY,
            "user": USER,
            "password": PASSWORD,
            "backend": f"{client.url}/label-studio",
            "token": TOKEN,
            "config": config_xml(["LOC", "PER"]),
            "tasks": [{"text": text} for text in TEXTS],
            "chromium": CHROMIUM,
            "label": "PER",
            "word": "rain",
            "screenshot": str(tmp_path / "label-studio.png"),
        }
        driver = Path(__file__).parents[1] / "label_studio_driver.py"
        ended = subprocess.run(
            [Path(ENVIRONMENT) / "bin" / "python", driver],
            input=json.dumps(plan),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-3000:]
        happened = json.loads(ended.stdout)
        _check_predictions(happened)
        wait_until(lambda: read_remembered(folder), seconds=30)
        (item,) = read_remembered(folder)
        assert ("rain", "PER") in [
            (" ".join(item.sentence.words_of(span)), span.label) for span in item.sentence.spans
        ]
        assert item.source.startswith("Label Studio project ")
        asked = {"texts": [TEXTS[0]], "adapt": True, "neighbors": 1}
        answer = client.post("/v1/predict", asked, Authorization=f"Bearer {TOKEN}").json
        (neighbor,) = answer["results"][0]["sentences"][0]["neighbors"]
        assert neighbor["remembered"] == item.id
    _check_export(happened["export"], item.sentence, tmp_path)


def _check_predictions(happened: dict) -> None:
    assert happened["problems"] == [[], [], []]
    by_task = {p["task"]: p for p in happened["predictions"]}
    assert list(by_task) == happened["tasks"] or set(by_task) == set(happened["tasks"])
    second = by_task[happened["tasks"][1]]
    assert second["version"].startswith("model-")
    assert 0 < float(second["score"]) <= 1
    found = [(r["value"]["text"], r["value"]["labels"][0]) for r in second["result"]]
    assert found == [("ana", "PER"), ("rome", "LOC"), ("bob", "PER"), ("oslo", "LOC")]


def _check_export(exported: list, sentence, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(exported))
    corpus = read_corpus(path)
    assert [s.labeled for s in corpus].count(True) == 1
    (annotated,) = [s for s in corpus if s.labeled]
    assert (annotated.words, annotated.spans) == (sentence.words, sentence.spans)
    assert not corpus.notes.omissions
