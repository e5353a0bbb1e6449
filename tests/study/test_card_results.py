"""The results of a model's recipe, read out of the files of studies."""

import statistics
from dataclasses import replace

import pytest

from made_up_study import digest_of, made_up_study
from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence
from metacross.metrics.significance import compare
from metacross.model.baseline_record import BaselineFacts
from metacross.model.model_card import ModelDescription
from metacross.model.training_facts import CorpusFacts, facts_of_training
from metacross.settings import load_settings
from metacross.study.card_results import results_of_model
from metacross.study.results import StudyFolder, results_in_file
from metacross.text.sentence import Corpus

PRESENT = {"prediction": {"decoding": "viterbi"}, "encoder": {"words": "auto"}}
OTHER_RECIPES = {
    "base": {"run": {"method": "direct"}},
    "without-masking": {"masking": {"ratio": 0.0}},
}


def corpus_facts(name):
    return CorpusFacts(
        name=name,
        language="en",
        sentences=10,
        words=30,
        entities_by_label={"PER": 10},
        digest=digest_of(name),
    )


def described(overrides=(), **facts):
    settings = load_settings("paper", ["run.seed=7", *overrides])
    encoder = settings.encoder.name
    known = facts_of_training(encoder, source=corpus_facts("source"), dev=corpus_facts("dev"))
    labels = ("LOC", "ORG", "PER")
    return ModelDescription(labels, True, True, settings, known.model_copy(update=facts))


@pytest.fixture
def file(tmp_path):
    """The results of a study whose systems have recipes of their own; ``ours`` is ``paper``."""
    folder = tmp_path / "study"
    made_up_study(folder)
    path = folder / "results.jsonl"
    lines = []
    for result in results_in_file(path):
        recipe = {**result.recipe, **PRESENT, **OTHER_RECIPES.get(result.system, {})}
        lines.append(result.model_copy(update={"recipe": recipe}).model_dump_json())
    path.write_text("\n".join(lines) + "\n")
    return path


def own_results(file, target):
    return [
        result
        for result in results_in_file(file)
        if (result.system, result.target, result.fraction) == ("ours", target, 0.0)
    ]


def test_the_results_of_all_seeds_of_the_recipe_are_averaged(file):
    results = results_of_model(described(), [file])
    assert [result.target for result in results] == ["es", "zh"]
    for result in results:
        own = own_results(file, result.target)
        assert result.seeds == (0, 1)
        for mode, score in (("plain", result.plain), ("adapted", result.adapted)):
            f1s = [one.score(mode).f1 for one in own]
            assert score.mean == pytest.approx(statistics.mean(f1s))
            assert score.deviation == pytest.approx(statistics.stdev(f1s))


def test_significance_is_that_of_adapted_against_plain_over_the_seeds(file):
    study = StudyFolder(file.parent)
    gold = study.corpus(digest_of("es"))
    counts = {"plain": 0, "adapted": 0}
    for result in own_results(file, "es"):
        for mode in counts:
            predicted = [
                sentence.with_spans(stored.spans[mode])
                for sentence, stored in zip(gold, study.sentences(result), strict=True)
            ]
            counts[mode] = counts[mode] + counts_by_sentence(gold, Corpus(tuple(predicted)))
    expected = compare(counts["adapted"], counts["plain"]).p_value
    assert results_of_model(described(), [file])[0].p_value == expected


def test_without_stored_predictions_nothing_was_tested(file):
    for path in (file.parent / "predictions").iterdir():
        path.unlink()
    assert results_of_model(described(), [file])[0].p_value is None


@pytest.mark.parametrize(
    ("overrides", "difference"),
    [
        (["meta.steps=17"], "its meta.steps is 3000, this model's is 17"),
        (["adaptation.learning_rate=0.5"], "its adaptation.learning_rate is 1e-05"),
        (["prediction.decoding=argmax"], "its prediction.decoding is 'viterbi', this model's"),
    ],
)
def test_results_of_another_recipe_are_refused_with_the_difference(file, overrides, difference):
    with pytest.raises(DataError, match=difference) as refusal:
        results_of_model(described(overrides), [file])
    assert str(file) in str(refusal.value)


def test_results_that_do_not_say_how_words_are_read_are_of_words_as_given(file):
    lines = file.read_text()
    assert '"encoder":{"words":"auto"}' in lines
    file.write_text(lines.replace('"encoder":{"words":"auto"}', '"encoder":{}'))
    with pytest.raises(DataError, match=r"its encoder\.words is 'given', this model's is 'auto'"):
        results_of_model(described(), [file])
    results = results_of_model(described(["encoder.words=given"]), [file])
    assert [result.target for result in results] == ["es", "zh"]


def test_results_of_another_source_corpus_are_refused(file):
    with pytest.raises(DataError, match="its source corpus is another one"):
        results_of_model(described(source=corpus_facts("other")), [file])


def with_baseline_results(file):
    """The same file, in which ``without-masking`` is ``baseline:ours-crf`` with the recipe of ours;
    its results come first.
    """
    first, rest = [], []
    for result in results_in_file(file):
        if result.system != "without-masking":
            rest.append(result)
            continue
        recipe = {key: value for key, value in result.recipe.items() if key != "masking"}
        digests = {**result.digests, "baseline": "ours-crf"}
        first.append(result.model_copy(update={"recipe": recipe, "digests": digests}))
    file.write_text("".join(f"{result.model_dump_json()}\n" for result in [*first, *rest]))


def test_results_of_a_baseline_with_the_same_recipe_are_not_the_models(file):
    expected = results_of_model(described(), [file])
    with_baseline_results(file)
    assert results_of_model(described(), [file]) == expected


def test_a_file_with_results_of_a_baseline_only_is_refused(file):
    with_baseline_results(file)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"baseline":' in line))
    with pytest.raises(DataError, match="it is baseline:ours-crf"):
        results_of_model(described(), [file])


def test_the_results_of_a_baseline_are_those_of_its_name_and_target(file):
    with_baseline_results(file)
    baseline = BaselineFacts("ours-crf", "es", "an encoder and a CRF", "-", ("lexicon",))
    (result,) = results_of_model(replace(described(), baseline=baseline), [file])
    f1s = [
        one.score("plain").f1
        for one in results_in_file(file)
        if "baseline" in one.digests and (one.target, one.fraction) == ("es", 0.0)
    ]
    assert result.target == "es"
    assert result.plain.mean == pytest.approx(statistics.mean(f1s))
    other = replace(baseline, name="ours-tsl")
    with pytest.raises(DataError, match="it is baseline:ours-crf"):
        results_of_model(replace(described(), baseline=other), [file])


def test_a_model_that_does_not_say_its_data_has_no_results(file):
    with pytest.raises(DataError, match="earlier version"):
        results_of_model(described(source=None), [file])
    with pytest.raises(DataError, match="found a fine-tuned one"):
        results_of_model(described(fine_tuned_on=corpus_facts("es")), [file])


def test_a_file_that_has_no_results_is_one_clear_line(write):
    with pytest.raises(DataError, match="cannot be read"):
        results_of_model(described(), [write("x", "").with_name("missing.jsonl")])
    with pytest.raises(DataError, match="found an empty file"):
        results_of_model(described(), [write("x.jsonl", "")])
    with pytest.raises(DataError, match=r"x\.jsonl:1: expected a result of a study"):
        results_of_model(described(), [write("x.jsonl", "{}\n")])
