"""A model that is carried elsewhere is the same model."""

import pytest

import metacross
from metacross.errors import ModelError
from metacross.model.model_mark import model_files
from metacross.serving import model_copies
from metacross.serving.model_copies import copy_model, packed_model, unpack_model


def contents(folder) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def folder(names_folder, tmp_path):
    """A model folder with a card, a sentence encoder, and things that do not belong to it."""
    folder = tmp_path / "original"
    copy_model(names_folder, folder)
    for name in ("README.md", "sentence_encoder/config.json", "training/log.jsonl", ".hidden"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_copy_has_the_files_of_the_model_and_not_those_of_its_training(folder, tmp_path):
    copy_model(folder, tmp_path / "copy")
    expected = contents(folder)
    del expected["training/log.jsonl"], expected[".hidden"]
    assert contents(tmp_path / "copy") == expected
    assert {"README.md", "source.jsonl", "sentence_encoder/config.json"} <= expected.keys()


def test_a_copy_replaces_an_older_model(folder, names_folder, tmp_path):
    copy_model(folder, tmp_path / "copy")
    copy_model(names_folder, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(names_folder)


def test_a_model_copied_onto_itself_stays(names_folder, folder):
    before = contents(folder)
    copy_model(folder, folder.parent / "." / folder.name)
    assert contents(folder) == before


def test_the_mark_of_a_complete_folder_is_copied_last(folder):
    assert model_files(folder)[-1].name == "metacross.json"


def test_a_copy_that_cannot_be_written_says_where(names_folder, write):
    with pytest.raises(ModelError, match=r"file\.txt: the model cannot be copied"):
        copy_model(names_folder, write("file.txt", ""))


def test_an_unpacked_model_has_the_same_files(names_folder, tmp_path):
    unpack_model(packed_model(names_folder), tmp_path)
    assert contents(tmp_path) == contents(names_folder)
    assert metacross.load(tmp_path).labels == ("LOC", "PER")


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_a_packed_file_cannot_leave_the_folder(name, tmp_path):
    with pytest.raises(ModelError, match="expected the files of a packed model"):
        unpack_model({name: b""}, tmp_path / "model")
    assert not list(tmp_path.rglob("*evil*"))


def test_a_model_that_is_too_large_to_pack_is_refused(names_folder, monkeypatch):
    monkeypatch.setattr(model_copies, "MAX_PACKED_BYTES", 1000)
    with pytest.raises(ModelError, match=r"at most 1,000 bytes to pack, found .* use to_disk"):
        packed_model(names_folder)
