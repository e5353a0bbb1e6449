"""Studies and the settings of their systems."""

import pytest

import tiny
from metacross.errors import SettingsError
from metacross.settings import load_settings
from metacross.study.plan import load_study, quick_study, study_names, with_changes
from metacross.study.system_runs import plan_system_runs, result_key

DIRECT = ["run.method=direct", "masking.ratio=0", "loss.max_weight=0"]
OFFICIAL_CODE = [
    "masking.in_support=false",
    "retrieval.skip_nearest=1",
    "optimizer.bias_correction=false",
    "optimizer.epsilon=1e-6",
    "optimizer.weight_decay=0.01",
    "optimizer.clip_norm=1.0",
    "schedule.decay=linear",
    "schedule.warmup_ratio=0.1",
    "adaptation.dropout=true",
    "prediction.decoding=argmax",
]
OVERRIDES = {
    ("zero-shot", "base"): DIRECT,
    ("zero-shot", "ours"): [],
    ("zero-shot", "without-max-loss"): ["loss.max_weight=0"],
    ("zero-shot", "without-masking"): ["masking.ratio=0"],
    ("zero-shot", "without-max-loss-and-masking"): ["loss.max_weight=0", "masking.ratio=0"],
    ("low-resource", "base"): DIRECT,
    ("low-resource", "ours"): [],
    ("released-code", "paper"): ["schedule.decay=constant", "schedule.warmup_ratio=0"],
    ("released-code", "official-code"): OFFICIAL_CODE,
}


@pytest.mark.parametrize("recipe", ["paper", "mini"])
@pytest.mark.parametrize(("study", "system"), OVERRIDES)
def test_systems_that_name_recipes_have_the_settings_of_the_paper_s_systems(study, system, recipe):
    settings = load_study(study, {"recipe": recipe}).settings(system, seed=7)
    overrides = [*OVERRIDES[study, system], "run.seed=7"]
    assert settings == load_settings(recipe, overrides)


@pytest.mark.slow
def test_the_built_in_studies_can_be_planned():
    names = ["demo", "k", "lambda", "low-resource", "mask", "released-code", "zero-shot"]
    need_resources = {"baselines", "beyond", "low-resource-baselines"}
    assert study_names() == sorted([*names, *need_resources])
    for name in names:
        changes = {"fractions": [0]} if name == "low-resource" else {"encoder": "mini"}
        assert plan_system_runs(load_study(name, changes))


def test_a_system_wins_over_the_settings_of_all_systems():
    study = load_study("zero-shot", settings=["loss.max_weight=0.7", "masking.ratio=0.3"])
    assert study.settings("base", 1).loss.max_weight == 0
    assert study.settings("ours", 1).loss.max_weight == 0.7


def test_changes_are_applied_in_order():
    settings = load_settings("mini")
    after = with_changes(settings, ["direct", "loss.max_weight=3"], "set")
    before = with_changes(settings, ["loss.max_weight=3", "direct"], "set")
    assert (after.loss.max_weight, before.loss.max_weight) == (3, 0)
    assert after.encoder == settings.encoder  # a recipe changes only the values it holds


def test_a_study_can_have_several_recipes():
    study = load_study("zero-shot", {"recipe": ["mini", "direct"]})
    assert study.settings("ours", 0) == load_settings(["mini", "direct"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("dirct", "set: expected group.key=value, a YAML file or a recipe of direct, .*'dirct'"),
        ("masking.ratio 0.1", "set: expected group.key=value"),
        ("none.yaml", "set: none.yaml: cannot be read"),
        ("masking.rate=0.1", "set: unknown setting masking.rate"),
    ],
)
def test_a_wrong_change_is_an_error_that_names_its_list(change, message):
    with pytest.raises(SettingsError, match=message):
        load_study("zero-shot", settings=[change]).settings("ours", 1)


def test_quick_is_one_seed_and_few_steps_unless_the_study_sets_them():
    study = quick_study(load_study("zero-shot", {"encoder": "mini", "set": ["meta.steps=7"]}))
    settings = study.settings("ours", 1)
    assert study.seeds == [1]
    assert settings.meta.steps == 7
    assert settings.direct.steps == 120


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"systems": {}}, "systems"),
        ({"seed": 3}, "seed"),
        ({"data": {"dev": "x"}}, "data.source: expected a corpus"),
        ({"fractions": "much"}, "fractions"),
        ({"fractions": [-0.5]}, "zero-shot: fractions.0: .*greater than or equal to 0"),
        ({"fractions": [1.5]}, "fractions.0"),
        ({"seeds": [1, 1]}, "seeds: .*expected different values"),
        ({"systems": {"a/../b": []}}, "systems.a/../b"),
    ],
)
def test_a_wrong_study_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        plan_system_runs(load_study("zero-shot", changes))


def test_arguments_replace_data_and_are_added_to_set(study_file, corpora):
    study = load_study(study_file, data={"dev": "d"}, settings=["direct.learning_rate=0.5"])
    assert study.set[: len(tiny.FAST)] == [*tiny.FAST]
    assert study.set[-1] == "direct.learning_rate=0.5"
    assert (study.data.dev, study.data.source) == ("d", corpora["train"])


def test_results_of_earlier_versions_are_of_argmax():
    """A result of a version that knew nothing else keeps its key."""
    settings = load_settings("mini", ["prediction.decoding=argmax"])
    digests = {"source corpus": "s", "target corpus": "t", "encoder": "e"}
    keys = [
        result_key("ours", each, ("LOC", "PER"), 1, digests, 0.0)
        for each in (settings, load_settings("mini"))
    ]
    assert keys[0] == "0170ad6d7e383b1c"
    assert keys[1] != keys[0]
