"""The benchmark tables and the ratios in them."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"


def test_results_md_is_rendered_from_results_json(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.tables import as_markdown

    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8") == as_markdown(results)


def test_the_table_of_source_sizes_is_rendered_from_its_results(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import source_size

    table = source_size.as_markdown(json.loads(source_size.RESULTS.read_text(encoding="utf-8")))
    page = source_size.PAGE.read_text(encoding="utf-8")
    assert (
        page.partition(source_size.BEGIN)[2].partition(source_size.END)[0].strip() == table.strip()
    )


def test_varied_sentences_are_labeled_repeatable_and_mostly_different(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.synthetic_source import varied_sentences

    sentences = list(varied_sentences(500, seed=3))
    assert sentences == list(varied_sentences(500, seed=3))
    assert sentences != list(varied_sentences(500, seed=4))
    assert len({sentence.words for sentence in sentences}) > 450
    labels = {span.label for sentence in sentences for span in sentence.spans}
    assert labels == {"LOC", "MISC", "ORG", "PER"}


def test_ratios_are_computed_within_repeats(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.measuring import summary

    times = {"baseline": [1.0, 2.0, 4.0], "other": [3.0, 4.0, 4.0]}
    other = summary(times, "baseline")["other"]
    assert other["milliseconds"] == 4000
    assert other["ratio"] == 2
    assert other["lowest_ratio"] == 1
    assert other["highest_ratio"] == pytest.approx(3)


def test_sentence_splitters_are_compared_on_lines_of_text(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import sentence_splitting

    lines = ["Dr. Ruiz slept.\tnews", "Was it late?\tnews", "no mark\tnews", "Left out.\tchat"]
    (tmp_path / "en.tsv").write_text("\n".join(lines * 5) + "\n", encoding="utf-8")
    options = ["--languages", "en", "--sources", "news"]
    monkeypatch.setattr("sys.argv", ["sentence_splitting", str(tmp_path), *options])
    sentence_splitting.main()
    rows = [row for row in capsys.readouterr().out.splitlines() if row.startswith("| en |")]
    all_lines, ended = ([cell.strip() for cell in row.split("|")] for row in rows)
    assert int(all_lines[3]) > 0
    assert float(all_lines[5]) <= float(all_lines[4]) < 100
    assert ended[3:6] == ["0", "100.0", "100.0"]


@pytest.mark.slow
def test_the_word_benchmark_compares_characters_with_words(
    trained_folder, tmp_path, write, monkeypatch, capsys
):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import word_segmentation

    corpus = write("zh.conll", "李 B-PER\n明 I-PER\n在 O\n柏 B-LOC\n林 I-LOC\n")
    output = tmp_path / "figures.json"
    arguments = [str(trained_folder), str(corpus), "--without", "snownlp", "--output", str(output)]
    monkeypatch.setattr("sys.argv", ["word_segmentation", *arguments])
    word_segmentation.main()
    rows = {row["segmenter"]: row for row in json.loads(output.read_text())}
    assert rows["characters"]["length"] == 1
    assert rows["metacross"]["length"] == 5 / 3
    assert rows["metacross"]["at_edges"] == 1
    assert "| metacross | 100.0 % | 1.67 |" in capsys.readouterr().out


def test_with_a_lower_score_of_o_more_entities_are_found(monkeypatch, capsys, tmp_path, request):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import outside_bias

    model = str(request.path.parent / "fixtures" / "model-0.1")
    corpus = tmp_path / "es.conll"
    corpus.write_text("Ana B-PER\nvive O\nen O\nLisboa B-LOC\n\n", encoding="utf-8")
    arguments = [str(corpus), model, *("--bias", "100", "--bias", "0", "--bias", "-100")]
    monkeypatch.setattr("sys.argv", ["outside_bias", *arguments])
    outside_bias.main()
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines()[3:]]
    n_entities = [int(row[6]) for row in rows]
    assert n_entities[0] == 0
    assert n_entities == sorted(n_entities)
    assert n_entities[2] > 0
