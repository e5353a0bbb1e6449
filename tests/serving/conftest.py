"""A served model, and a server that all tests may ask."""

from collections.abc import Iterator

import pytest

import metacross
from live_server import Client, HeldModel, running
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel


@pytest.fixture(scope="session")
def served(trained_folder) -> ServedModel:
    return ServedModel.in_folder(trained_folder, device="cpu")


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
