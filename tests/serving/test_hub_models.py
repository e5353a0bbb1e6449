"""Models on the hub: found by commit, with clear errors."""

import pytest
from huggingface_hub import constants

import metacross
from live_server import running
from metacross.model.hub_models import find_model
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel


@pytest.fixture
def pushed(hub, trained_folder):
    return metacross.push(trained_folder, "ana/tiny", source="drop")


def refusal(location):
    with pytest.raises(metacross.ModelError) as caught:
        metacross.load(location)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_model_without_commit_says_which_one_it_is(pushed):
    model = metacross.load("hub:ana/tiny", device="cpu")
    assert model.location == pushed.location


def test_a_commit_names_the_same_model_after_a_later_push(hub, pushed, trained_folder):
    again = metacross.push(trained_folder, "ana/tiny", source="keep", source_license="cc0-1.0")
    assert again.location != pushed.location
    assert not metacross.load(pushed.location, device="cpu").adapts
    assert metacross.load("hub:ana/tiny", device="cpu").adapts


def test_a_downloaded_model_is_loaded_again_without_the_hub(hub, pushed, monkeypatch):
    metacross.load("hub:ana/tiny", device="cpu")
    n_downloads = len(hub.downloaded)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert metacross.load(pushed.location, device="cpu").location == pushed.location
    assert metacross.load("hub:ana/tiny", device="cpu").location == pushed.location
    assert len(hub.downloaded) == n_downloads


def test_a_model_of_the_hub_is_served_under_its_name(pushed):
    with running(ServedModel.at(pushed.location, device="cpu"), ServerOptions()) as client:
        assert client.get("/v1/model").json["name"] == "ana/tiny"
        assert client.post("/v1/predict", {"texts": ["ana saw rome"]}).status == 200


def test_only_the_files_of_a_model_are_downloaded(hub, pushed):
    repository = hub.repositories["ana/tiny"]
    files = {**hub.files("ana/tiny"), "code.py": b"", "pytorch_model.bin": b"a pickle"}
    repository.commit("main", files)
    found = find_model("hub:ana/tiny")
    assert not {"code.py", "pytorch_model.bin"} & {*hub.downloaded}
    assert not (found.folder / "pytorch_model.bin").exists()
    assert (found.folder / "model.safetensors").exists()


@pytest.mark.usefixtures("hub")
def test_a_repository_that_does_not_exist_is_one_clear_line():
    assert refusal("hub:ana/nothing") == (
        "hub:ana/nothing: expected a repository on the hub, found none; check the name, or run "
        "hf auth login if it is private"
    )


@pytest.mark.usefixtures("pushed")
@pytest.mark.parametrize("revision", ["nope", "0" * 40])
def test_a_commit_that_does_not_exist_is_one_clear_line(revision):
    assert refusal(f"hub:ana/tiny@{revision}") == (
        f"hub:ana/tiny@{revision}: expected a commit, branch or tag of ana/tiny, found no "
        f"{revision}; hub:ana/tiny takes the newest"
    )


def test_a_repository_without_a_model_is_one_clear_line(hub):
    hub.add("ana/encoder", {"config.json": b"{}"})
    assert refusal("hub:ana/encoder").startswith("hub:ana/encoder: expected a metacross model")


def test_an_unreachable_hub_is_one_clear_line(hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert "check the connection" in refusal("hub:ana/tiny")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "unset HF_HUB_OFFLINE" in refusal("hub:ana/tiny")


@pytest.mark.parametrize("name", ["ana", "ana/b/c", "../etc", "", "ana/ b"])
def test_a_name_that_is_no_repository_is_refused(name):
    assert "expected OWNER/NAME" in refusal(f"hub:{name}")
