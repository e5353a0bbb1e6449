"""The model card: what every training writes, and what is read back from it."""

import re
import shutil
from dataclasses import replace

import pytest
from huggingface_hub import ModelCard

import metacross
import tiny
from metacross.model.card_reading import content_of_card, front_matter_of
from metacross.model.model_card import CARD, CardContent, LanguageResult, MeanScore, card_text
from metacross.model.model_mark import describe_model
from metacross.text.writing import write_corpus
from metacross.training.run_folder import corpus_digest
from tools.docs.printed_output import code_blocks, page_folder

RESULTS = (
    LanguageResult("es", "ab" * 32, (1, 2), MeanScore(0.5, 0.01), MeanScore(0.52, 0.02), 0.0004),
    LanguageResult("zh", "cd" * 32, (1,), MeanScore(0.05, None), MeanScore(0.06, None), None),
)


@pytest.fixture
def model(trained_folder):
    return describe_model(trained_folder)


def table_rows(text, heading):
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ")]


def test_the_hub_s_library_reads_a_card_as_it_was_written(model, tmp_path):
    content = CardContent("apache-2.0", "cc-by-4.0", ("conll2003",), RESULTS, notes="Mine.")
    text = card_text(model, content, location="tiny")
    (tmp_path / CARD).write_text(text)
    card = ModelCard.load(tmp_path / CARD)
    assert card.content == text
    assert card.data.to_dict() == front_matter_of(text)
    assert [(r.dataset_name, r.metric_name, r.metric_value) for r in card.data.eval_results] == [
        ("es", "F1, plain", 0.5),
        ("es", "F1, adapted", 0.52),
        ("zh", "F1, plain", 0.05),
        ("zh", "F1, adapted", 0.06),
        ("tiny-1 (dev)", "F1, plain", round(model.facts.dev_f1, 6)),
    ]


def test_the_front_matter_has_what_the_hub_shows(model):
    values = front_matter_of(card_text(model, CardContent(results=RESULTS), location="tiny"))
    assert values["language"] == ["en", "es", "zh"]
    assert values["license"] == "unknown"
    assert values["library_name"] == "metacross"
    assert values["pipeline_tag"] == "token-classification"
    assert "base_model" not in values  # the encoder is a folder of this machine


def test_an_encoder_and_a_corpus_of_the_hub_are_named_in_the_front_matter(model):
    source = model.facts.source.model_copy(update={"name": "hub:conll2003@train", "language": "en"})
    facts = model.facts.model_copy(
        update={"encoder": "ana/base", "encoder_origin": "hub", "source": source}
    )
    values = front_matter_of(
        card_text(replace(model, facts=facts), CardContent(), location="hub:ana/tiny")
    )
    assert values["base_model"] == "ana/base"
    assert values["datasets"] == ["conll2003"]
    assert values["language"] == ["en"]


def test_what_a_card_says_is_read_back_equal(model):
    content = CardContent("mit", "cc-by-4.0", ("x/y",), RESULTS, notes="By <Ana>\n\n---\nand Tom.")
    assert content_of_card(card_text(model, content, location="tiny")) == content
    assert content_of_card(card_text(model, CardContent(), location="tiny")) == CardContent()


def test_a_training_writes_what_it_measured_and_no_more(trained_folder):
    text = (trained_folder / CARD).read_text()
    card = ModelCard(text)
    assert [result.dataset_args["role"] for result in card.data.eval_results] == ["dev"]
    (dev,) = card.data.eval_results
    evaluation = metacross.load(trained_folder, device="cpu").evaluate(tiny.corpus(20, seed=1))
    assert dev.metric_value == pytest.approx(evaluation.plain.overall.f1, abs=1e-6)
    assert f"the F1 is {100 * evaluation.plain.overall.f1:.1f}." in text
    assert "**No target language was measured.**" in text
    assert "not given: do not share them" in text


def test_a_card_has_the_sizes_and_digests_of_the_data(trained_folder):
    source, dev = tiny.corpus(40), tiny.corpus(20, seed=1)
    rows = table_rows((trained_folder / CARD).read_text(), "Training data")[1:]
    for row, role, corpus in zip(rows, ("source", "dev"), (source, dev), strict=True):
        cells = [cell.strip() for cell in row]
        assert cells[0] == role
        assert cells[3:6] == [str(len(corpus)), f"{corpus.n_words:,}", str(corpus.n_entities)]
        assert cells[6] == f"`{corpus_digest(corpus)[:16]}`"


def test_results_are_in_the_table_with_seeds_and_significance(model):
    text = card_text(model, CardContent(results=RESULTS), location="tiny")
    rows = [[cell.strip() for cell in row] for row in table_rows(text, "Results")[1:]]
    assert rows == [
        ["es", "50.0 ± 1.0", "52.0 ± 2.0", "< 0.001", "2"],
        ["zh", "5.0", "6.0", "not tested", "1"],
    ]
    assert "No target language was measured" not in text


def test_a_name_with_marks_of_markdown_stays_in_its_cell(model):
    labels = {"PER": ("a|b", "<script>", "two\nlines")}
    text = card_text(model, CardContent(examples=labels), location="tiny")
    assert "| a\\|b, &lt;script&gt;, two lines |" in text


def test_a_card_without_results_is_written_when_a_model_is_saved_elsewhere(
    trained_folder, tmp_path
):
    metacross.load(trained_folder, device="cpu").save(tmp_path / "copy")
    before, after = ((folder / CARD).read_text() for folder in (trained_folder, tmp_path / "copy"))
    assert after == re.sub(r"\btiny\b(?!-)", "copy", before)


def test_saving_again_keeps_licenses_and_notes_but_no_results(trained_folder, tmp_path):
    folder = tmp_path / "tiny"
    shutil.copytree(trained_folder, folder)
    content = CardContent("mit", "cc-by-4.0", (), RESULTS, notes="Written by Ana.")
    (folder / CARD).write_text(card_text(describe_model(folder), content, location="tiny"))
    metacross.load(folder, device="cpu").save(folder)
    kept = content_of_card((folder / CARD).read_text())
    assert kept == replace(content, results=())


def test_a_readme_of_somebody_else_is_left_alone(trained_folder, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / CARD).write_text("# My own")
    metacross.load(trained_folder, device="cpu").save(tmp_path / "copy")
    assert (tmp_path / "copy" / CARD).read_text() == "# My own"
    with pytest.raises(metacross.ModelError, match="expected a card by metacross"):
        metacross.write_card(tmp_path / "copy")


def test_a_card_that_cannot_be_read_does_not_stop_saving(trained_folder, tmp_path):
    folder = tmp_path / "tiny"
    model = metacross.load(trained_folder, device="cpu")
    model.save(folder)
    broken = (folder / CARD).read_text().replace("language:", "language: [")
    (folder / CARD).write_text(broken)
    model.save(folder)
    assert (folder / CARD).read_text() == broken


def test_the_card_of_a_fine_tuned_model_names_the_target_text(trained_folder, tmp_path):
    model = metacross.load(trained_folder, device="cpu", fine_tuning={"epochs": 1})
    model.fine_tune(tiny.corpus(8, seed=3), output=tmp_path / "tuned")
    text = (tmp_path / "tuned" / CARD).read_text()
    assert "fine-tuned on 8 labeled sentences" in text
    assert [row[0].strip() for row in table_rows(text, "Training data")[1:]] == [
        "source",
        "dev",
        "target",
    ]
    assert "F1 is" not in text
    assert "source.jsonl" not in text


def test_a_card_names_no_folder_of_the_machine(encoders, tmp_path):
    paths = {}
    for name, corpus in (("train", tiny.corpus(20)), ("dev", tiny.corpus(8, seed=1))):
        paths[name] = tmp_path / "secret" / f"{name}.conll"
        paths[name].parent.mkdir(exist_ok=True)
        write_corpus(corpus, paths[name])
    recipe = metacross.load_settings("paper", tiny.FAST)
    folder = tmp_path / "model"
    metacross.train(
        paths["train"], dev=paths["dev"], encoder=encoders["bert"], recipe=recipe, output=folder
    )
    text = (folder / CARD).read_text()
    assert "train.conll" in text
    assert "secret" not in text
    assert str(encoders["bert"]) not in text


def test_broken_results_in_a_card_are_one_clear_line(model):
    text = card_text(model, CardContent(results=RESULTS), location="tiny")
    with pytest.raises(metacross.ModelError, match="remove model-index"):
        content_of_card(text.replace("mode: plain", "mood: plain"))
    with pytest.raises(metacross.ModelError, match="cannot be parsed"):
        content_of_card(text.replace("language:", "language: ["))
    assert content_of_card("---\nlanguage: [\n---\n") == CardContent()  # somebody else's


def test_a_folder_of_an_earlier_version_has_a_card_too(tmp_path, request):
    folder = tmp_path / "old"
    shutil.copytree(request.path.parents[1] / "fixtures" / "model-0.1", folder)
    text = metacross.write_card(folder).read_text()
    assert "The folder does not say it" in text
    assert ModelCard(text).data.library_name == "metacross"


@pytest.mark.slow
def test_the_code_of_a_card_runs(trained_folder):
    blocks = code_blocks((trained_folder / CARD).read_text())
    assert [block.language for block in blocks] == ["python", "sh", "python"]
    with page_folder() as run:
        shutil.copytree(trained_folder, "tiny")
        _, shell, _ = (run(block) for block in blocks)
    assert '"tokens": ["Ana", "Ruiz", "habló", "ayer", "en", "Lima", "."]' in shell
