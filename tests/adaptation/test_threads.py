"""Threads side by side give what one after another would, and leave torch as it was."""

import threading

import pytest
import torch

from metacross.adaptation.threads import worker_threads

CPU = torch.device("cpu")


@pytest.fixture
def two_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_parts(two_cores):
    with worker_threads(CPU, 9) as workers:
        assert list(workers.each(lambda part: part * part, range(9))) == [n * n for n in range(9)]


def test_parts_are_done_at_the_same_time(two_cores):
    both = threading.Barrier(2, timeout=20)
    with worker_threads(CPU, 2) as workers:
        assert workers.n == 2
        assert sorted(workers.each(lambda _part: both.wait(), range(2))) == [0, 1]


def test_each_thread_has_its_share_of_the_cores_and_the_caller_keeps_its_own(two_cores):
    with worker_threads(CPU, 5) as workers:
        assert set(workers.each(lambda _part: torch.get_num_threads(), range(8))) == {1}
        assert torch.get_num_threads() == 2
    seen = []
    later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    later.start()
    later.join()
    assert seen == [2]


@pytest.mark.parametrize("enabled", [True, False])
def test_gradients_are_asked_for_as_by_the_caller(two_cores, enabled):
    with worker_threads(CPU, 4) as workers, torch.set_grad_enabled(enabled):
        assert set(workers.each(lambda _part: torch.is_grad_enabled(), range(4))) == {enabled}


def test_one_part_is_done_by_the_caller_with_all_cores(two_cores):
    with worker_threads(CPU, 1) as workers:
        assert list(workers.each(lambda _part: threading.current_thread(), [0])) == [
            threading.main_thread()
        ]


def test_a_failure_reaches_the_caller_and_the_threads_end(two_cores):
    n_before = threading.active_count()
    with pytest.raises(ZeroDivisionError), worker_threads(CPU, 4) as workers:
        list(workers.each(lambda part: 1 // part, [2, 1, 0, 3]))
    assert threading.active_count() == n_before
