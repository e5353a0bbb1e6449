"""A file is written completely or not at all."""

import os

import pytest

from metacross.text.atomic_files import atomic_path


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "x.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert names_in(tmp_path) == ["x.txt"]


def test_an_existing_file_is_replaced_only_on_success(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_file_and_no_temporary_file(tmp_path, error):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def write_half():
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["x.txt"]


def test_the_temporary_file_is_in_the_folder_of_the_file(tmp_path):
    with atomic_path(str(tmp_path / "x.txt")) as temporary:
        temporary.write_text("")
        assert temporary.parent == tmp_path


def test_a_block_that_writes_nothing_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "x.txt"):
        pass
    assert names_in(tmp_path) == []


def test_of_a_link_the_file_that_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to("real.txt")
    with atomic_path(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
    assert names_in(tmp_path) == ["link.txt", "real.txt"]


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_path(pipe) as temporary:
        temporary.write_text("new")
    assert os.read(reading, 10) == b"new"
    os.close(reading)
    assert pipe.is_fifo()
