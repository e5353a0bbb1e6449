"""The demo, with fewer sentences and steps."""

import re
from dataclasses import replace

import pytest

from metacross.cli import demo
from metacross.text.bundled_corpus import bundled_corpus


@pytest.fixture
def few(monkeypatch):
    """Make the demo small."""

    def first_sentences(language, split):
        corpus = bundled_corpus(language, split)
        return replace(corpus, sentences=corpus.sentences[:12])

    monkeypatch.setattr(demo, "bundled_corpus", first_sentences)
    steps = ("direct.steps=3", "meta.steps=2", "meta.tasks_per_step=2", "run.validate_every=2")
    monkeypatch.setattr(demo, "_STEPS", steps)


def test_the_demo_trains_adapts_and_reports(few, run, tmp_path):
    outcome = run("demo", "--output", tmp_path / "demo")
    assert outcome.code == 0, outcome.err
    for heading in ("The bundled corpus", "base", "meta, not adapted", "meta, adapted", "mean"):
        assert heading in outcome.out
    for language in demo.LANGUAGES.values():
        assert language in outcome.out
    assert "metacross train paper" in outcome.out
    report = (tmp_path / "demo" / "report.html").read_text()
    assert report.count('<th scope="row">') == 6
    assert not re.search(r"(src|href)=|@import|url\(", report)  # nothing is loaded from elsewhere


def test_the_demo_goes_on_after_a_stop(few, run, tmp_path):
    assert run("demo", "--output", tmp_path / "demo").code == 0
    again = run("demo", "--output", tmp_path / "demo")
    assert again.code == 0
    assert "dev F1" not in again.err  # both models are there already
