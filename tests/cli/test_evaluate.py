"""``metacross evaluate``, as a user runs it."""

import json

import metacross


def test_evaluate_shows_both_side_by_side_with_the_significance(run, trained_folder, files):
    outcome = run("evaluate", trained_folder, files["target"])
    assert "F1 plain" in outcome.out
    assert "F1 adapted" in outcome.out
    assert "adapted - plain:" in outcome.out
    assert "p = " in outcome.out


def test_evaluate_without_adaptation(run, trained_folder, files):
    outcome = run("evaluate", trained_folder, files["target"], "--no-adapt")
    assert outcome.code == 0
    assert "adapted" not in outcome.out


def test_adaptation_settings_can_be_overridden(run, trained_folder, files):
    def evaluated(*arguments):
        (result,) = json.loads(run("evaluate", trained_folder, files["target"], *arguments).out)
        return result["plain"]["overall"], result["adapted"]["overall"]

    plain, _ = evaluated("--json")
    unchanged = evaluated("--json", "--set", "adaptation.learning_rate=1e-12")
    assert unchanged == (plain, plain)
    rate = "adaptation.learning_rate=3.0"
    changed = evaluated("--json", "--set", rate)
    assert changed[0] == plain != changed[1]
    model = metacross.load(
        trained_folder,
        device="cpu",
        adaptation={"learning_rate": 3.0},
        retrieval={"neighbors": 5},
    )
    assert len(model.predict_words([["ana", "in", "oslo"]])[0].neighbors) == 5
    for change, says in [
        (
            "encoder.dropout=0.5",
            "encoder.dropout: expected a setting that can change after training",
        ),
        ("adaptation.learning_rat=0.5", "did you mean learning_rate?"),
    ]:
        outcome = run("evaluate", trained_folder, files["target"], "--set", change)
        assert outcome.code == 1
        assert says in outcome.err
