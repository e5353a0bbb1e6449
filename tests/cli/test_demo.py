"""The demo, with fewer sentences and steps."""

import re
from dataclasses import replace

import pytest

from metacross.cli import demo
from metacross.study import plan, study_corpora
from metacross.study.results import StoredSentence
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.sentence import Corpus, Sentence, Span


@pytest.fixture
def few(monkeypatch):
    """Make the demo small."""

    def few_sentences(language, split):
        corpus = bundled_corpus(language, split)
        most_labels = sorted(corpus, key=lambda s: -len({span.label for span in s.spans}))
        return replace(corpus, sentences=tuple(most_labels[:12]))

    steps = ["direct.steps=3", "meta.steps=2", "meta.tasks_per_step=2", "run.validate_every=2"]
    demo_study = plan.load_study("demo", settings=steps)
    monkeypatch.setattr(study_corpora, "bundled_corpus", few_sentences)
    monkeypatch.setattr(plan, "_study_text", lambda _name: demo_study.as_yaml())


@pytest.mark.slow
def test_the_demo_trains_adapts_and_reports(few, run, tmp_path):
    outcome = run("demo", "--output", tmp_path / "demo")
    assert outcome.code == 0, outcome.err
    for heading in ("base", "ours, not adapted", "ours, adapted", "adapted - base", "mean"):
        assert heading in outcome.out
    for language in demo.LANGUAGES.values():
        assert language in outcome.out
    report = tmp_path / "demo" / "report.html"
    assert str(report) in outcome.out
    assert not re.search(r"src=|@import|url\(", report.read_text())  # nothing else is loaded
    (model,) = (tmp_path / "demo" / "runs").glob("ours_*")
    assert f"metacross predict {model}" in outcome.out
    assert "metacross train paper" in outcome.out


@pytest.mark.slow
def test_the_demo_resumes(few, run, tmp_path):
    assert run("demo", "--output", tmp_path / "demo").code == 0
    weights = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}
    assert len(weights) > 0
    assert run("demo", "--output", tmp_path / "demo").code == 0
    assert weights == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.safetensors")}


def test_examples_show_what_adaptation_changed(capsys):
    gold = Corpus(
        (
            Sentence(("Ana", "vino"), (Span(0, 1, "PER"),), "es"),
            Sentence(("Lima", "es", "grande"), (Span(0, 1, "LOC"),), "es"),
        )
    )
    source = Corpus((Sentence(("Bob", "came"), (Span(0, 1, "PER"),), "en"),))
    predictions = [
        StoredSentence({"plain": (), "adapted": (Span(0, 1, "PER"),)}, ((0, 0.9),)),
        StoredSentence({"plain": (), "adapted": ()}, ((0, 0.5),)),
    ]
    (example,) = demo._most_changed(gold, source, predictions)
    assert example.gold is gold[0]
    assert example.gain == 1
    demo._show_example(example)
    shown = capsys.readouterr().out
    assert "Spanish: changed by adaptation (+1 correct)" in shown
    assert re.search(r"not adapted +Ana vino", shown)
    assert re.search(r"adapted +\[Ana PER\] vino", shown)
    assert re.search(r"neighbor \(0\.90\) +\[Bob PER\] came", shown)
