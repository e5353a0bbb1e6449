"""What the commands print."""

from metacross.cli.output import (
    comparison_line,
    conlleval_text,
    marked_entities,
    report_json,
    report_table,
    show_error,
)
from metacross.errors import DataError
from metacross.metrics.scoring import Score, ScoreReport
from metacross.metrics.significance import Comparison, Interval
from metacross.text.sentence import Sentence, Span

REPORT = ScoreReport({"LOC": Score(0, 0, 1), "PER": Score(1, 2, 1)}, n_words=4, n_correct_tags=3)


def test_the_report_in_conlleval_s_format():
    assert conlleval_text(REPORT).splitlines() == [
        "processed 4 tokens with 2 phrases; found: 2 phrases; correct: 1.",
        "accuracy:  75.00%; precision:  50.00%; recall:  50.00%; FB1:  50.00",
        "              LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
        "              PER: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
    ]


def test_the_report_as_json_and_table_contains_every_label():
    assert list(report_json(REPORT)["by_label"]) == ["LOC", "PER"]
    table = report_table(REPORT, "x")
    assert list(table.columns[0].cells) == ["LOC", "PER", "all (micro)", "macro"]


def test_a_difference_of_zero_has_no_minus_sign():
    comparison = Comparison(-1e-9, 1.0, Interval(-0.01, 0.01, 0.95), shuffles=100)
    line = comparison_line(comparison, "a", "b")
    assert line.startswith("a - b: +0.00 F1 (-1.00 to +1.00), p = 1.0000: not significant")


def test_entities_are_marked_without_spaces_in_chinese():
    sentence = Sentence(("李", "明", "在", "柏", "林"), language="zh")
    spans = (Span(0, 2, "PER"), Span(3, 5, "LOC"))
    assert marked_entities(sentence, spans).plain == "[李明 PER]在[柏林 LOC]"


def test_an_error_is_one_line_on_stderr(capsys):
    show_error(DataError("x.conll:1: first\nsecond [bold]"))
    out, err = capsys.readouterr()
    assert (out, err) == ("", "metacross: x.conll:1: first second [bold]\n")
