"""A tiny model that knows some names, programs that have metacross installed,
a server, and a stand-in hub.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from huggingface_hub import constants

import metacross
import tiny
from live_server import Client, HeldModel, running
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel
from stand_in_hub import TOKEN, StandInHub

ROOT = Path(__file__).parents[2]
CHINESE = {
    "PER": ["安娜", "王明", "李华"],
    "LOC": ["北京", "罗马", "东京"],
    "O": list("去在看和了。"),
}
TRAINING = (
    "direct.steps=40",
    "direct.learning_rate=5e-3",
    "direct.batch_size=16",
    "run.validate_every=40",
    "encoder.frozen_layers=null",
)


@pytest.fixture(scope="session")
def names_folder(tmp_path_factory) -> Path:
    """A model that adapts and labels the names of ``tiny`` and some Chinese ones, in every text;
    not to be changed.
    """
    chinese = _chinese_sentences(30)
    tokenizer = tiny.wordpiece_tokenizer()
    tokenizer.add_tokens(sorted({character for s in chinese for character in s.words}))
    encoder = tmp_path_factory.mktemp("encoder")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = transformers.AutoModel.from_config(tiny.config("bert", len(tokenizer)))
    network.save_pretrained(encoder)
    tokenizer.save_pretrained(encoder)
    model = metacross.train(
        metacross.Corpus((*tiny.corpus(60), *chinese)),
        dev=tiny.corpus(10, seed=1),
        encoder=str(encoder),
        recipe=metacross.load_settings(["paper", "direct"], [*tiny.FAST, *TRAINING]),
    )
    folder = tmp_path_factory.mktemp("models") / "names"
    metacross.NerModel(replace(model.parts, adapts=True)).save(folder)
    return folder


def _chinese_sentences(n: int) -> list[metacross.Sentence]:
    rng = random.Random(5)
    sentences = []
    for _ in range(n):
        words, spans = [], []
        for label in rng.choices(["PER", "LOC", "O"], [1, 1, 3], k=rng.randint(2, 6)):
            name = rng.choice(CHINESE[label])
            if label != "O":
                spans.append(metacross.Span(len(words), len(words) + len(name), label))
            words.extend(name)
        sentences.append(metacross.Sentence(tuple(words), tuple(spans), "zh"))
    return sentences


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Path:
    """What installing writes, so that the tests do not depend on when that was done."""
    project = ProjectMetadata(str(ROOT), PluginManager())
    folder = tmp_path_factory.mktemp("installed")
    information = folder / f"metacross-{project.version}.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: metacross\nVersion: {project.version}\n"
    )
    (information / "entry_points.txt").write_text(
        "\n".join(
            line
            for group, entries in project.core.entry_points.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        )
    )
    return folder


@pytest.fixture
def run_python(installed, tmp_path) -> Callable[..., str]:
    """Run a program in a process of its own, in an empty folder; gives what it prints."""

    def run(code: str, *arguments: str | Path, threads: int = 1) -> str:
        path = os.pathsep.join([str(installed), str(ROOT / "src")])
        program = tmp_path / "program.py"
        program.write_text(code, "utf-8")
        ended = subprocess.run(
            [sys.executable, str(program), *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": path,
                "OMP_NUM_THREADS": str(threads),
                "OMP_WAIT_POLICY": "passive",  # threads that spin slow each other down
            },
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


@pytest.fixture(scope="session")
def served(trained_folder) -> ServedModel:
    return ServedModel.at(trained_folder, device="cpu")


@pytest.fixture(scope="session")
def client(served) -> Iterator[Client]:
    """A client of a server with the usual options."""
    with running(served, ServerOptions()) as client:
        yield client


@pytest.fixture(scope="session")
def model(trained_folder):
    """The same model, loaded apart from the server."""
    return metacross.load(trained_folder, device="cpu")


@pytest.fixture
def held_model(model) -> HeldModel:
    return HeldModel(model.parts)


@pytest.fixture
def held_served(held_model) -> ServedModel:
    return ServedModel("held", "0", lambda: held_model)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A stand-in hub that ``huggingface_hub`` talks to instead of the real one."""
    with StandInHub() as stand_in:
        template = f"{stand_in.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "ENDPOINT", stand_in.endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield stand_in
