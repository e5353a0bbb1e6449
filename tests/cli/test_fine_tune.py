"""``metacross fine-tune``, as a user runs it."""

import pytest

import metacross


@pytest.mark.slow
def test_fine_tuning_is_seeded_and_the_result_does_not_adapt(run, trained_folder, files, tmp_path):
    def tune(name, seed):
        folder = tmp_path / name
        arguments = ["--sentences", "5", "--seed", seed, "--output", folder]
        assert run("fine-tune", trained_folder, files["target"], *arguments).code == 0
        return (folder / "model.safetensors").read_bytes()

    assert tune("a", 1) == tune("b", 1) != tune("c", 2)
    tuned = metacross.load(tmp_path / "a", device="cpu")
    assert not tuned.adapts
    assert tuned.predict_words([["ana", "in", "oslo"]])[0].neighbors == ()
    outcome = run("predict", tmp_path / "a", files["target"], "--adapt")
    assert outcome.code == 1
    assert "use it without adaptation" in outcome.err


def test_fine_tuning_uses_ten_epochs_at_1e_5_unless_set(run, trained_folder, files, tmp_path):
    tuning = metacross.load_settings("paper").fine_tuning
    assert (tuning.epochs, tuning.learning_rate) == (10, 1e-5)
    chosen = ["--set", "fine_tuning.epochs=3", "--set", "fine_tuning.learning_rate=0.002"]
    given = ["--sentences", "5", "--output", tmp_path / "a", *chosen]
    assert run("fine-tune", trained_folder, files["target"], *given).code == 0
    taken = metacross.load(tmp_path / "a", device="cpu").settings.direct
    assert (taken.steps * taken.batch_size, taken.learning_rate) == (3 * 5, 0.002)
