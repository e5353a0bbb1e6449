"""What every test can use."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"  # many threads only wait for each other on tiny models
os.environ["COLUMNS"] = "120"

collect_ignore = ["label_studio_driver.py"]  # runs in the environment of Label Studio


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_main(capsys) -> Callable[..., Callable[..., Outcome]]:
    """Makes a function that runs a command line in this process."""

    def runner(main: Callable[[list[str]], None]) -> Callable[..., Outcome]:
        def run_command(*arguments: str | Path) -> Outcome:
            code = 0
            try:
                main([str(argument) for argument in arguments])
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
            out, err = capsys.readouterr()
            return Outcome(code, out, err)

        return run_command

    return runner


@pytest.fixture
def run(run_main) -> Callable[..., Outcome]:
    """Run ``metacross`` in this process."""
    from metacross.cli.main import main

    return run_main(main)


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    """Write a file in a folder of the test's own."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory) -> None:
    os.environ["METACROSS_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def encoders(tmp_path_factory):
    """Folders of tiny encoders by family, made when first asked for."""
    import tiny

    class Encoders(dict):
        def __missing__(self, family: str) -> str:
            self[family] = tiny.make_encoder(family, tmp_path_factory.mktemp(family))
            return self[family]

    return Encoders()


@pytest.fixture(scope="session")
def trained_folder(encoders, tmp_path_factory) -> Path:
    """A model folder, meta-trained for a few steps; not to be changed."""
    import metacross
    import tiny

    folder = tmp_path_factory.mktemp("models") / "tiny"
    recipe = metacross.load_settings("paper", tiny.FAST)
    metacross.train(
        tiny.corpus(40),
        dev=tiny.corpus(20, seed=1),
        encoder=encoders["bert"],
        recipe=recipe,
        output=folder,
    )
    return folder
