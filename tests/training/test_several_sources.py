"""Training on several source languages at once."""

import pytest

import metacross
import tiny
from metacross.errors import SettingsError
from metacross.settings import load_settings
from metacross.text.source_corpora import parsed_sources, read_sources
from metacross.text.writing import write_corpus


@pytest.fixture
def sources(tmp_path):
    files = {}
    for language, seed in (("en", 1), ("de", 2)):
        files[language] = str(tmp_path / f"{language}.conll")
        write_corpus(tiny.corpus(15, seed=seed), files[language])
    return files


def test_every_sentence_knows_its_language(sources):
    corpus = read_sources(sources)
    assert [sentence.language for sentence in corpus] == ["en"] * 15 + ["de"] * 15
    assert len(read_sources(sources["en"], language="en")) == 15


def test_neighbors_come_from_any_language_and_say_which(sources, encoders):
    recipe = load_settings("paper", [*tiny.FAST, "meta.steps=1", "retrieval.neighbors=6"])
    model = metacross.train(
        sources, dev={"de": sources["de"]}, encoder=encoders["bert"], recipe=recipe
    )
    predictions = list(model.predict_stream(tiny.corpus(10, seed=4)))
    languages = [p.source_languages for p in predictions]
    assert all(len(of_sentence) == 6 for of_sentence in languages)
    assert {language for of_sentence in languages for language in of_sentence} == {"en", "de"}


def test_a_split_datastore_gives_the_nearest_of_every_language(sources, encoders, tmp_path):
    recipe = load_settings("paper", [*tiny.FAST, "meta.steps=1", "retrieval.neighbors=2"])
    metacross.train(
        sources,
        dev={"de": sources["de"]},
        encoder=encoders["bert"],
        recipe=recipe,
        output=tmp_path / "m",
    )
    foreign = tiny.corpus(10, seed=4).sentences
    split = metacross.load(tmp_path / "m", retrieval={"split_languages": True})
    everything = metacross.load(tmp_path / "m").neighbors(foreign, k=30)
    for found, ranked in zip(split.neighbors(foreign), everything, strict=True):
        expected = [
            neighbor.position
            for language in ("en", "de")
            for neighbor in [n for n in ranked if n.sentence.language == language][:2]
        ]
        assert sorted(n.position for n in found) == sorted(expected)
        assert [n.similarity for n in found] == sorted((n.similarity for n in found), reverse=True)
    prediction = next(split.predict_stream(foreign))
    assert sorted(prediction.source_languages) == ["de", "de", "en", "en"]


@pytest.mark.slow
def test_the_command_takes_a_file_for_each_language(run, sources, encoders, tmp_path):
    outcome = run(
        "train", "--source", f"en={sources['en']}", "--source", f"de={sources['de']}",
        "--dev", f"en={sources['en']}", "--encoder", encoders["bert"],
        "--output", tmp_path / "m", *(w for o in tiny.FAST for w in ("--set", o)),
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert {s.language for s in metacross.load(tmp_path / "m").parts.datastore.source} == {
        "en",
        "de",
    }


def test_files_without_a_language_or_with_one_twice_are_refused():
    with pytest.raises(SettingsError, match=r"--source: expected LANG=FILE .* found 'b.conll'"):
        parsed_sources("--source", ["en=a.conll", "b.conll"])
    with pytest.raises(SettingsError, match="expected every language once"):
        parsed_sources("--source", ["en=a.conll", "en=b.conll"])
