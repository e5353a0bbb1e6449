"""Recipes and settings."""

import pytest

from metacross.errors import SettingsError
from metacross.settings import Settings, load_settings, recipe_names


def test_the_defaults_are_the_paper_s():
    assert load_settings("paper") == Settings()


def test_all_recipes_are_there():
    wanted = {
        "paper",
        "official-code",
        "direct",
        "mini",
        "gemma",
        "without-max-loss",
        "without-masking",
    }
    wanted |= {"without-max-loss-and-masking", "official-code-same-layers"}
    assert wanted == set(recipe_names())


def test_the_paper_s_numbers():
    recipe = load_settings("paper")
    assert (recipe.encoder.frozen_layers, recipe.encoder.dropout) == (3, 0.1)
    assert (recipe.encoder.max_length, recipe.encoder.overlap) == (128, 64)
    assert (recipe.masking.ratio, recipe.loss.max_weight) == (0.2, 2.0)
    assert (recipe.retrieval.neighbors, recipe.retrieval.pooling) == (2, None)
    assert (recipe.meta.steps, recipe.meta.tasks_per_step, recipe.meta.inner_steps) == (
        3_000,
        32,
        2,
    )
    assert (recipe.meta.inner_learning_rate, recipe.meta.outer_learning_rate) == (3e-5, 3e-5)
    assert (recipe.adaptation.steps, recipe.adaptation.learning_rate) == (1, 1e-5)
    assert recipe.adaptation.max_weight == 0.0


@pytest.mark.parametrize(
    ("recipe", "masking", "max_weight", "method"),
    [
        ("without-max-loss", 0.2, 0.0, "meta"),
        ("without-masking", 0.0, 2.0, "meta"),
        ("without-max-loss-and-masking", 0.0, 0.0, "meta"),
        ("direct", 0.0, 0.0, "direct"),
    ],
)
def test_the_ablations_leave_out_what_they_say_and_nothing_else(
    recipe, masking, max_weight, method
):
    values = load_settings(recipe)
    assert (values.masking.ratio, values.loss.max_weight, values.run.method) == (
        masking,
        max_weight,
        method,
    )
    restored = load_settings(recipe, ["masking.ratio=0.2", "loss.max_weight=2", "run.method=meta"])
    assert restored == load_settings("paper")


def test_a_file_says_only_what_differs_from_its_recipe(write):
    path = write("x.yaml", "recipe: official-code\nmeta: {steps: 7}\ndata: {source: a.conll}\n")
    settings = load_settings(path, ["meta.inner_learning_rate=1e-3"])
    assert (settings.meta.steps, settings.meta.inner_learning_rate) == (7, 1e-3)
    assert settings.encoder.frozen_layers == 4
    assert settings.data.source == "a.conll"


def test_a_recipe_reads_back_equal(write):
    settings = load_settings("official-code", ["data.map={person: PER}", "data.drop=[MISC]"])
    assert load_settings(write("x.yaml", settings.as_yaml())) == settings


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("meta.stepps=3", "unknown setting meta.stepps; did you mean steps?"),
        ("mta.steps=3", "unknown setting mta; did you mean meta?"),
        ("meta.steps=0", "meta.steps: .*greater than or equal to 1, found 0"),
        ("meta.steps=many", "meta.steps: .*found 'many'"),
        ("masking.ratio=1.5", "masking.ratio: .*found 1.5"),
        ("run.method=maml", "run.method: .*'meta' or 'direct', found 'maml'"),
        ("steps=3", "--set: expected group.key=value, found 'steps=3'"),
        ("meta.steps", "--set: expected group.key=value"),
        ("meta.steps=[", "expected YAML"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_nearest_name(override, says):
    with pytest.raises(SettingsError, match=says) as error:
        load_settings("paper", [override])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n- b\n", "expected groups of settings"),
        ("meta: 3\n", "meta: .*found 3"),
        ("meta: {steps: 3\n", "x.yaml:2: expected YAML"),
        ("recipe: papr\n", "papr: expected a YAML file or a recipe of .*did you mean paper?"),
        ("recipe: paper\nmeta: 3\n", "expected meta to hold settings, found 3"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(write, text, says):
    with pytest.raises(SettingsError, match=says) as error:
        load_settings(write("x.yaml", text))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_said():
    with pytest.raises(SettingsError, match=r"nowhere\.yaml: cannot be read: No such file"):
        load_settings("nowhere.yaml")
