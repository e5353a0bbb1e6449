"""The corpora of a study and their labels."""

import pytest

import tiny
from metacross.errors import DataError, SettingsError
from metacross.study.plan import load_study
from metacross.study.study_corpora import StudyCorpora
from metacross.study.system_runs import plan_system_runs
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.writing import write_corpus


def planned(study_file, *settings, **data):
    return plan_system_runs(load_study(study_file, data=data, settings=settings))


def labels_of(system_run):
    corpora = system_run.corpora
    return [
        tuple(corpus.entities_by_label)
        for corpus in (corpora.source, corpora.dev, *(target.corpus for target in corpora.targets))
    ]


def test_a_target_without_a_label_gets_a_model_that_does_not_know_it(study_file):
    runs = planned(study_file)
    assert [
        (run.system, run.seed, run.labels, [target.name for target in run.corpora.targets])
        for run in runs[:4]
    ] == [
        ("base", 1, ("LOC", "PER"), ["aa"]),
        ("ours", 1, ("LOC", "PER"), ["aa"]),
        ("base", 1, ("PER",), ["bb"]),
        ("ours", 1, ("PER",), ["bb"]),
    ]
    assert len(runs) == 8
    for run in runs:
        assert labels_of(run) == [run.labels] * 3


def corpora_with(*labels):
    spans = tuple(Span(position, position + 1, label) for position, label in enumerate(labels))
    corpus = Corpus((Sentence(("word",) * len(labels), spans),))
    return StudyCorpora(corpus, corpus, ())


def test_labels_are_a_name_as_they_are_where_a_folder_can_have_it():
    assert corpora_with("LOC", "MISC", "ORG", "PER").labels_name == "LOC-MISC-ORG-PER"
    assert corpora_with("B.1", "WORK_OF_ART", "Straße").labels_name == "B.1-Straße-WORK_OF_ART"


def test_labels_that_no_folder_can_be_called_get_a_name_of_their_own():
    names = [
        corpora_with("LOC", "Medication/Vaccine").labels_name,
        corpora_with("LOC", "Medication:Vaccine").labels_name,
        corpora_with("LOC", "Medication_Vaccine").labels_name,
    ]
    assert len({*names}) == 3
    assert not any({*name} & {*"/:"} for name in names)


@pytest.mark.parametrize("letter", ["a", "字"])
def test_very_many_labels_have_a_short_name_of_their_own(letter):
    labels = [f"{letter * 5}{number}" for number in range(60)]
    names = [corpora_with(*labels).labels_name, corpora_with(*labels[:-1]).labels_name]
    assert names[0] != names[1]
    assert all(len(name.encode()) <= 120 for name in names)


def test_a_training_run_is_a_folder_whatever_its_labels(study_file):
    for run in planned(study_file, "data.map={PER: Person/Group}"):
        assert "/" not in run.folder
        assert run.folder.endswith(f"_seed-{run.seed}")


def test_one_model_for_all_targets_knows_the_labels_of_the_source(study_file):
    runs = plan_system_runs(load_study(study_file, {"one_model": True}))
    assert len(runs) == 4
    for run in runs:
        assert labels_of(run) == [("LOC", "PER")] * 3 + [("PER",)]
        assert run.labels == ("LOC", "PER")


def test_dropped_labels_are_dropped_in_source_dev_and_targets(study_file, corpora):
    runs = planned(study_file, "data.drop=[LOC]", target_train={"aa": corpora["train"]})
    assert len(runs) == 4  # both targets now have the same labels
    for run in runs:
        assert labels_of(run) == [("PER",)] * 4
        assert tuple(run.corpora.targets[0].train.entities_by_label) == ("PER",)


def test_renamed_labels_are_renamed_in_source_dev_and_targets(study_file):
    runs = planned(study_file, "data.map={LOC: GPE}")
    assert {run.labels for run in runs} == {("GPE", "PER"), ("PER",)}
    for run in runs:
        assert labels_of(run) == [run.labels] * 3


def test_the_language_setting_is_that_of_source_and_dev(study_file):
    (run, *_) = planned(study_file, "data.language=sv")
    languages = [run.corpora.source[0].language, run.corpora.dev[0].language]
    assert languages == ["sv", "sv"]
    assert run.corpora.targets[0].corpus[0].language == "aa"


def test_systems_cannot_differ_in_their_data(study_file):
    study = load_study(study_file, {"systems": {"one": [], "other": ["data.drop=[LOC]"]}})
    with pytest.raises(
        SettingsError, match=r"systems\.other: expected the same data settings as one"
    ):
        plan_system_runs(study)


def test_labels_that_the_source_does_not_have_are_refused(study_file, corpora):
    write_corpus(tiny.corpus(5).relabeled({"LOC": "GPE"}), corpora["aa"])
    with pytest.raises(DataError, match=r"found GPE; rename or drop labels with --set data\.map"):
        planned(study_file)
    assert planned(study_file, "data.map={GPE: LOC}")


def test_target_text_with_more_labels_than_the_target_is_refused(study_file, corpora):
    with pytest.raises(DataError, match=r"train\.conll: expected the labels PER .* found LOC too"):
        planned(study_file, target_train={"bb": corpora["train"]})


def test_target_text_of_no_target_is_refused(study_file, corpora):
    with pytest.raises(SettingsError, match="expected languages of the targets aa, bb, found cc"):
        planned(study_file, target_train={"cc": corpora["train"]})
