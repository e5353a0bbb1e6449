"""``metacross baselines``, ``translate``, ``project`` and ``train baseline:NAME``."""

import json

import pytest

import metacross
import tiny

WORDS = sorted({word for sentence in tiny.corpus(60) for word in sentence.words})


@pytest.fixture
def resources(write):
    texts = [" ".join(sentence.words) for sentence in tiny.corpus(30, seed=7)]
    return {
        "lexicon": write("en-es.tsv", "".join(f"{word}\t{word}o\n" for word in WORDS)),
        "raw-text": write("es.txt", "".join(f"{text}\n" for text in texts)),
        "parallel": write("en-es.parallel", "".join(f"{text}\t{text}\n" for text in texts)),
    }


def train_crf(run, files, folder, name="crf", *options):
    return run(
        "train", f"baseline:{name},mini", "--source", files["train"], "--dev", files["dev"],
        "--target", "es", "--output", folder, "--set", "crf.iterations=20", *options,
    )  # fmt: skip


def test_the_list_says_what_each_system_needs(run):
    listed = run("baselines")
    assert "mayhew" in listed.out
    assert "also uses --raw-text" in listed.out
    systems = {system["name"]: system for system in json.loads(run("baselines", "--json").out)}
    assert systems["mayhew"]["needs"] == ["lexicon"]
    assert systems["tsl"]["needs"] == ["raw_text"]
    assert systems["tsl"]["settings"] == ["distillation"]
    assert systems["ni"]["cites"] == "Ni et al. 2017"
    assert systems["tackstrom"]["made_of"].startswith("after Täckström 2012")


def test_a_baseline_is_trained_scored_and_used_like_any_model(run, files, resources, tmp_path):
    folder = tmp_path / "mayhew"
    trained = train_crf(run, files, folder, "mayhew", "--lexicon", resources["lexicon"])
    assert trained.code == 0, trained.err
    assert f"Saved model to {folder} (labels: LOC, PER)" in trained.out
    evaluated = run("evaluate", folder, files["target"], "--json")
    assert "plain" in json.loads(evaluated.out)[0]
    predicted = run("predict", folder, files["target"], "--to", "jsonl")
    assert len(predicted.out.splitlines()) == 20
    again = train_crf(run, files, folder, "mayhew", "--lexicon", resources["lexicon"])
    assert again.code == 0, again.err
    other = train_crf(run, files, folder, "crf")
    assert other.code == 1
    assert "holds the baseline mayhew; choose another folder" in other.err


@pytest.mark.slow
def test_labeled_target_text_is_learned_by_systems_that_use_it(run, files, tmp_path):
    little = ["--target-train", files["target"]]
    small = ["--set", "two_languages.steps=3", "--set", "bilstm_crf.states=4"]
    folder = tmp_path / "yang"
    outcome = train_crf(run, files, folder, "yang", *little, *small)
    assert outcome.code == 0, outcome.err
    evaluated = run("evaluate", folder, files["target"], "--json")
    assert "plain" in json.loads(evaluated.out)[0]
    record = json.loads((folder / "baseline.json").read_text())
    assert record["target_train"]
    with_target = train_crf(run, files, tmp_path / "crf", "crf", *little)
    assert with_target.code == 0, with_target.err


def test_a_corpus_is_translated(run, files, resources, tmp_path):
    out = tmp_path / "es.conll"
    outcome = run(
        "translate", files["train"], out, "--target", "es", "--language", "en",
        "--lexicon", resources["lexicon"], "--set", "translation.copied_labels=[]",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "100.0 % of the words were translated" in outcome.out
    source, target = metacross.read_corpus(files["train"]), metacross.read_corpus(out)
    assert [s.spans for s in target] == [s.spans for s in source]
    assert target[0].words == tuple(f"{word}o" for word in source[0].words)


def test_entities_are_projected(run, files, resources, tmp_path):
    folder, out = tmp_path / "crf", tmp_path / "es.jsonl"
    train_crf(run, files, folder)
    outcome = run("project", folder, resources["parallel"], out, "--target", "es", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["pairs"] == 30
    corpus = metacross.read_corpus(out)
    assert corpus.n_entities > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["baseline:mayhew", "--target", "es"], "give --lexicon FILE"),
        (["baseline:mayhew"], "--target: expected the code of a language"),
        (["baseline:foo", "--target", "es"], "expected a baseline of crf,"),
        (["baseline:mahew", "--target", "es"], "found 'mahew'; did you mean mayhew?"),
        (["baseline:crf,baseline:ni", "--target", "es"], "expected one baseline, found crf, ni"),
        (["mini", "--target", "es"], "expected a baseline to use them"),
        (["mini", "--target-train", "es.conll"], "expected a baseline to use them"),
        (["baseline:yang", "--target", "es"], "give --target-train FILE"),
        (["baseline:lin-mlmt", "--target", "es", "--target-train", "x"], "give --pos FILE"),
        (["baseline:yang", "--target", "es", "--target-train", "no.conll"], "no.conll"),
        (["baseline:tsl", "--target", "es", "--target-train", "x"], "uses it, found tsl; train"),
        (["baseline:crf", "--target", "es", "--set", "crf.l3=1"], "crf.l3"),
    ],
)
def test_a_baseline_that_cannot_be_trained_is_one_line(run, files, tmp_path, arguments, message):
    outcome = run(
        "train", *arguments, "--source", files["train"], "--dev", files["dev"],
        "--output", tmp_path / "model",
    )  # fmt: skip
    assert outcome.code == 1
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("house\tcasa\n", "found 0 % of its words in it"),
        ("only-one-column\n", ":1: expected source word, TAB, target word"),
    ],
)
def test_an_unfit_lexicon_is_one_line(run, files, write, tmp_path, content, message):
    lexicon = write("bad.tsv", content)
    outcome = run(
        "translate", files["train"], tmp_path / "x.conll", "--target", "es", "--lexicon", lexicon
    )
    assert outcome.code == 1
    assert message in outcome.err
