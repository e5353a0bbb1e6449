"""The queue between clients and the model."""

import threading

import pytest

from metacross.serving.batching_queue import BatchingQueue, QueueClosed, QueueFull, Work
from metacross.text.sentence import Sentence


def work(name: str, n: int = 1, *, lane="adapted", pieces: int = 5) -> Work:
    sentences = [Sentence((f"{name}{i}",)) for i in range(n)]
    return Work(lane, sentences, [pieces] * n)


def words(parts) -> list[str]:
    return [sentence.words[0] for part in parts for sentence in part.sentences]


def full_batches(queue: BatchingQueue) -> list[list[str]]:
    """Everything in the queue, batch by batch."""
    queue.close()
    batches = []
    while parts := queue.take():
        batches.append(words(parts))
    return batches


def test_sentences_of_several_clients_are_in_one_batch():
    queue = BatchingQueue(max_pieces=1_000)
    for name in "abc":
        queue.put(work(name, 2))
    assert full_batches(queue) == [["a0", "a1", "b0", "b1", "c0", "c1"]]


def test_a_long_document_does_not_keep_others_waiting():
    queue = BatchingQueue(max_pieces=10_000)
    queue.put(work("long", 500))
    queue.put(work("short", 3))
    first, *rest = full_batches(queue)
    assert {"short0", "short1", "short2"} < {*first}
    assert len(first) == 64
    assert [word for batch in [first, *rest] for word in batch if word.startswith("long")] == [
        f"long{i}" for i in range(500)
    ]


def test_a_batch_is_bounded_in_pieces_but_never_empty():
    queue = BatchingQueue(max_pieces=100_000)
    queue.put(work("a", 3, pieces=5_000))
    queue.put(work("huge", 1, pieces=50_000))
    assert full_batches(queue) == [["a0"], ["huge0"], ["a1"], ["a2"]]


def test_lanes_are_apart_and_take_turns():
    queue = BatchingQueue(max_pieces=10_000)
    queue.put(work("a", 100), work("p", 100, lane="plain"))
    batches = full_batches(queue)
    assert [{word[0] for word in batch} for batch in batches] == [{"a"}, {"p"}, {"a"}, {"p"}]


def test_the_works_of_a_request_fit_all_or_none():
    queue = BatchingQueue(max_pieces=12)
    queue.put(work("a"))
    with pytest.raises(QueueFull) as full:
        queue.put(work("b"), work("c", lane="plain"))
    assert full.value.n_queued == 5
    assert queue.n_pieces == 5
    queue.put(work("d"))
    assert full_batches(queue) == [["a0", "d0"]]


def test_room_is_made_when_work_is_done_not_when_it_is_taken():
    queue = BatchingQueue(max_pieces=10)
    first = work("a", 2)
    queue.put(first)
    queue.take()
    assert queue.n_pieces == 10
    first.done.set_result([])
    assert queue.n_pieces == 0


def test_cancelled_work_leaves_the_queue_at_once():
    queue = BatchingQueue(max_pieces=1_000)
    gone, stays = work("gone", 3), work("stays")
    queue.put(gone)
    queue.put(stays)
    gone.done.cancel()
    assert queue.n_pieces == 5
    assert full_batches(queue) == [["stays0"]]


def test_a_closed_queue_hands_out_what_it_has_and_takes_nothing():
    queue = BatchingQueue(max_pieces=1_000)
    queue.put(work("a"))
    queue.close()
    with pytest.raises(QueueClosed):
        queue.put(work("b"))
    assert words(queue.take()) == ["a0"]
    assert queue.take() is None


def test_taking_waits_for_work():
    queue = BatchingQueue(max_pieces=1_000)
    taken: list[list[str]] = []
    taker = threading.Thread(target=lambda: taken.append(words(queue.take())))
    taker.start()
    queue.put(work("late"))
    taker.join(60)
    assert taken == [["late0"]]
