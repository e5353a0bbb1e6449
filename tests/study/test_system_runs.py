"""The keys of results."""

import pytest

from metacross.study.plan import load_study
from metacross.study.system_runs import plan_results, plan_system_runs


def planned_results(study_file, changes=None, settings=(), **data):
    study = load_study(study_file, changes or {}, data=data, settings=settings)
    return plan_results(plan_system_runs(study))


@pytest.mark.slow
def test_a_key_depends_on_system_settings_corpora_and_seed_and_on_nothing_else(study_file, corpora):
    def keys(*settings, **changes):
        return [planned.key for planned in planned_results(study_file, changes, settings)]

    assert len({*keys()}) == 8
    assert keys() == keys()
    assert keys(title="Another") == keys()
    assert keys("run.checkpoint_every=77") == keys()
    assert not {*keys("meta.inner_learning_rate=0.5")} & {*keys()}
    assert not {*keys(seeds=[3])} & {*keys()}
    assert len({*keys(systems={"base": [], "twin": []})}) == 8
    other_dev = planned_results(study_file, dev=corpora["train"])
    assert not {planned.key for planned in other_dev} & {*keys()}


def test_a_key_depends_on_the_encoder_files(study_file, encoders):
    before = {planned.key for planned in planned_results(study_file)}
    after = {planned.key for planned in planned_results(study_file, {"encoder": encoders["xlm-r"]})}
    assert not before & after


def test_the_key_of_a_fraction_depends_on_labeled_target_text(study_file, corpora):
    def keys(**files):
        target_train = {"aa": corpora["aa"], "bb": corpora["bb"], **files}
        results = planned_results(study_file, {"fractions": [0, 0.5]}, target_train=target_train)
        return {(p.system_run.folder, p.target.name, p.fraction): p.key for p in results}

    before, after = keys(), keys(aa=corpora["train"])
    changed = {place for place in before if before[place] != after[place]}
    assert {(target, fraction) for _, target, fraction in changed} == {("aa", 0.5)}


@pytest.mark.parametrize(
    ("change", "fraction"),
    [("fine_tuning.learning_rate=0.5", 0.5), ("adaptation.learning_rate=0.5", 0.0)],
)
def test_settings_after_training_change_only_the_keys_that_use_them(
    study_file, corpora, change, fraction
):
    def keys(*settings):
        target_train = {"aa": corpora["aa"], "bb": corpora["bb"]}
        changes = {"fractions": [0, 0.5]}
        results = planned_results(study_file, changes, settings, target_train=target_train)
        return [(planned.key, planned.fraction) for planned in results]

    changed = {*keys(change)} - {*keys()}
    assert {fraction_of_key for _, fraction_of_key in changed} == {fraction}
    assert len(changed) == len(keys()) / 2
