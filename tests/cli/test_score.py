"""The command ``score``, as a user runs it."""

import json

GOLD = "Ginebra B-LOC\n, O\n23 O\nmay O\n\nAna B-PER\nRuiz I-PER\nhabló O\n\n"
RIGHT = GOLD
WRONG = GOLD.replace("I-PER", "O")
ILL_FORMED = GOLD.replace("B-PER", "I-PER")


def test_score_prints_the_table_and_the_interval(run, write):
    outcome = run("score", write("gold.conll", GOLD), write("wrong.conll", WRONG))
    assert outcome.code == 0
    assert "all (micro)" in outcome.out
    assert "50.00" in outcome.out
    assert "95% confidence" in outcome.out


def test_score_against_another_system_tests_the_difference(run, write):
    gold, right, wrong = write("g", GOLD), write("r", RIGHT), write("w", WRONG)
    result = json.loads(run("score", gold, right, "--against", wrong, "--json").out)
    assert result["systems"][str(right)]["overall"]["f1"] == 1.0
    assert result["comparison"]["difference"] == 0.5
    assert result["comparison"]["significant"] is False
    text = run("score", gold, right, "--against", wrong).out
    assert f"{right} - {wrong}: +50.00 F1" in text
    assert "not significant" in text


def test_score_prints_the_format_of_conlleval(run, write):
    outcome = run("score", write("g", GOLD), write("w", WRONG), "--conlleval")
    assert outcome.out.startswith(
        "processed 7 tokens with 2 phrases; found: 2 phrases; correct: 1."
    )


def test_the_accuracy_is_that_of_the_tags_in_the_files(run, write):
    gold, predicted = write("g", GOLD), write("p", ILL_FORMED)
    lines = run("score", gold, predicted, "--conlleval").out.splitlines()
    assert lines[1] == "accuracy:  85.71%; precision: 100.00%; recall: 100.00%; FB1: 100.00"
    result = json.loads(run("score", gold, predicted, "--json").out)
    assert result["systems"][str(predicted)]["accuracy"] == 6 / 7


def test_score_rejects_files_with_different_sentences(run, write):
    other = write("other.conll", GOLD.replace("habló", "calló"))
    outcome = run("score", write("gold.conll", GOLD), other)
    assert outcome.code == 1
    assert "other.conll:6: sentence 2 differs from" in outcome.err
    assert "expected word 3 to be 'habló', found 'calló'" in outcome.err


def test_wrong_options_of_score_are_refused(run, write):
    gold = write("gold.conll", GOLD)
    both = run("score", gold, gold, "--conlleval", "--json")
    assert both.code == 1
    assert both.err == "metacross: expected --conlleval or --json, found both\n"
    assert run("score", gold, gold, "--seed", "-1").code == 2
