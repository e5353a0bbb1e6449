"""``metacross neighbors``, as a user runs it."""

import json

import metacross


def test_neighbors_are_shown_with_their_entities(run, trained_folder):
    outcome = run("neighbors", trained_folder, "ana went to york .", "-k", "3")
    assert [line[:2] for line in outcome.out.splitlines() if line[:1].isdigit()] == [
        "1.",
        "2.",
        "3.",
    ]
    as_json = json.loads(run("neighbors", trained_folder, "ana went", "--json").out)
    model = metacross.load(trained_folder, device="cpu")
    assert len(as_json) == model.settings.retrieval.neighbors
