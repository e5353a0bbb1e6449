"""Every system trains on a toy, saves, loads, resumes, and refuses what it cannot use."""

import json
import signal
import time

import numpy as np
import pytest

import metacross
import tiny
from metacross.adaptation.sentence_adapter import SentenceAdapter
from metacross.baselines import workshop
from metacross.baselines.catalog import BASELINES
from metacross.baselines.clustering import (
    centered,
    encoder_vectors,
    k_means,
    mapped,
    orthogonal_map,
    unit_length,
)
from metacross.baselines.pseudo_labels import agreed_tags, pseudo_label
from metacross.baselines.resources import ResourceFiles, Resources
from metacross.baselines.shared_work import SharedWork
from metacross.baselines.systems import FITS
from metacross.baselines.train_baseline import train_baseline, training_seconds
from metacross.baselines.translation import Translator
from metacross.baselines.workshop import Workshop
from metacross.errors import DataError, RunError, SettingsError
from metacross.model.baseline_record import baseline_facts
from metacross.model.linear_crf import train_linear_crf
from metacross.settings import EncoderSettings, load_settings, settings_with
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.word_vectors import WordVectors
from metacross.training.callbacks import Callback

SOURCE, DEV = tiny.corpus(40), tiny.corpus(15, seed=1)
WORDS = sorted({word for sentence in SOURCE for word in sentence.words})
CRFS = ["crf", "tackstrom", "tsai", "ni-projection", "mayhew"]
SMALL = [
    *tiny.FAST,
    "direct.steps=6",
    "meta.steps=2",
    "distillation.epochs=1",
    "distillation.batch_size=8",
    "crf.iterations=20",
    "bilstm_crf.epochs=1",
    "bilstm_crf.states=8",
    "bilstm_crf.character_states=4",
    "projection.min_quality=0.1",
    "fine_tuning.epochs=1",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Resources of a language in which every word is spelled as in the source."""
    folder = tmp_path_factory.mktemp("resources")
    texts = [" ".join(sentence.words) for sentence in tiny.corpus(30, seed=7)]
    contents = {
        "lexicon": "".join(f"{word}\t{word}\n" for word in WORDS),
        "raw_text": "".join(f"{text}\n" for text in texts),
        "parallel": "".join(f"{text}\t{text}\n" for text in texts),
        "gazetteer": "".join(f"{name}\tPER\n" for name in tiny.NAMES),
        "clusters": "".join(f"{len(word) % 3}\t{word}\n" for word in WORDS),
    }
    for name, content in contents.items():
        (folder / f"{name}.tsv").write_text(content)
    return {name: str(folder / f"{name}.tsv") for name in contents}


def trained(name, files, encoders, **options):
    settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
    return train_baseline(
        name, SOURCE, dev=DEV, target="es", resources=files, recipe=settings, **options
    )


@pytest.mark.parametrize("name", CRFS)
def test_a_crf_system_learns_the_toy_and_loads_again(name, files, encoders, tmp_path, groups_read):
    model = trained(name, files, encoders, output=tmp_path)
    assert groups_read == {*BASELINES[name].reads}
    assert model.evaluate(DEV).f1 > 0.7
    loaded = metacross.load(tmp_path)
    assert list(loaded.predict_stream(DEV)) == list(model.predict_stream(DEV))
    assert training_seconds(tmp_path) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, baseline in BASELINES.items()
        if name not in CRFS and not baseline.needs_target_train and name != "tsl-multi"
    ),
)
def test_every_other_system_trains_saves_and_loads(name, files, encoders, tmp_path, groups_read):
    model = trained(name, files, encoders, output=tmp_path)
    without_vectors = {"bilstm_crf"} if name == "ni" else set()
    assert groups_read == {*BASELINES[name].reads} - without_vectors
    loaded = metacross.load(tmp_path)
    assert loaded.labels == ("LOC", "PER")
    assert [p.spans for p in loaded.predict_stream(DEV)] == [
        p.spans for p in model.predict_stream(DEV)
    ]


def test_every_system_of_the_catalog_can_be_trained():
    assert FITS.keys() == BASELINES.keys()


def test_ours_on_translated_text_adapts_to_both_languages(files, encoders):
    model = trained("ours-translated", files, encoders)
    assert model.adapts
    assert {s.language for s in model.parts.datastore.source} == {"en", "es"}
    assert len(model.parts.datastore.source) == 2 * len(SOURCE)


def test_a_stopped_system_resumes_with_the_stages_it_has(files, encoders, tmp_path):
    class Stop(Callback):
        def on_train_begin(self, steps_done, steps):
            if (tmp_path / "stages" / "direct" / "metacross.json").exists():
                raise RunError("stopped")

    with pytest.raises(RunError, match="stopped"):
        trained("tsl", files, encoders, output=tmp_path, callbacks=[Stop()])
    assert not (tmp_path / "metacross.json").exists()
    resumed = trained("tsl", files, encoders, output=tmp_path)
    whole = trained("tsl", files, encoders)
    for before, after in zip(whole.predict_stream(DEV), resumed.predict_stream(DEV), strict=True):
        np.testing.assert_allclose(before.probabilities, after.probabilities, atol=1e-6)


def test_of_a_long_raw_text_sentences_are_drawn_from_all_of_it(encoders, tmp_path):
    lines = [f"word{i} in oslo\n" for i in range(200)]
    (tmp_path / "raw.txt").write_text("".join(lines))
    settings = load_settings("paper", [*SMALL, "distillation.sentences=40"])
    files = ResourceFiles(raw_text=str(tmp_path / "raw.txt"))
    resources = Resources(files, source_language="en", target_language="es")
    shop = Workshop(SOURCE, SOURCE, DEV, resources, settings, tmp_path / "model")
    numbers = [int(sentence.words[0].removeprefix("word")) for sentence in shop.raw_text]
    assert len(numbers) == 40
    assert numbers == sorted(numbers)
    assert min(numbers) < 50
    assert max(numbers) > 150


def test_the_time_of_a_shared_model_counts_once_for_all_that_use_it(files, encoders, tmp_path):
    wall = {}
    for name in ("tsl", "knn"):
        began = time.monotonic()
        trained(name, files, encoders, output=tmp_path / name, shared=tmp_path / "shared")
        wall[name] = time.monotonic() - began
    (model,) = (tmp_path / "shared").glob("direct_*/")
    took = metacross.load(model).parts.facts.seconds
    records = {
        name: json.loads((tmp_path / name / "baseline.json").read_text()) for name in ("tsl", "knn")
    }
    for name, record in records.items():
        assert record["shared_seconds"] == {model.name: took}
        assert training_seconds(tmp_path / name) == record["seconds"] + took
    assert training_seconds(tmp_path / "tsl") <= wall["tsl"] + 0.1  # rounded
    assert 0 < records["knn"]["seconds"] <= wall["knn"]


def test_the_time_of_a_shared_translation_counts_for_all_that_use_it(files, encoders, tmp_path):
    for name in ("mayhew", "data-transfer"):
        trained(name, files, encoders, output=tmp_path / name, shared=tmp_path / "shared")
    records = [
        json.loads((tmp_path / name / "baseline.json").read_text())["shared_seconds"]
        for name in ("mayhew", "data-transfer")
    ]
    (of_source,) = (name for name in records[0] if name.startswith("translated_"))
    expected = float((tmp_path / "shared" / f"{of_source}.seconds").read_text())
    assert expected > 0
    assert [record[of_source] for record in records] == [expected] * 2


def test_the_time_of_a_shared_model_that_was_stopped_is_of_all_sessions(files, encoders, tmp_path):
    class SlowAndStopped(Callback):
        def on_step_end(self, step, result):
            if step == 2:
                time.sleep(3)
                signal.raise_signal(signal.SIGINT)

    output, shared = tmp_path / "tsl", tmp_path / "shared"
    with pytest.raises(RunError, match="Stopped after step 2"):
        trained("tsl", files, encoders, output=output, shared=shared, callbacks=[SlowAndStopped()])
    trained("tsl", files, encoders, output=output, shared=shared)
    (model,) = shared.glob("direct_*/")
    record = json.loads((output / "baseline.json").read_text())
    took = metacross.load(model).parts.facts.seconds
    assert took > 3
    assert record["shared_seconds"] == {model.name: took}


def test_after_an_error_in_a_resource_the_same_folder_can_be_used(files, encoders, tmp_path):
    bad = tmp_path / "lexicon.tsv"
    bad.write_text("one column\n")
    with pytest.raises(DataError, match=r"lexicon\.tsv:1"):
        trained("mayhew", {**files, "lexicon": str(bad)}, encoders, output=tmp_path / "model")
    assert not (tmp_path / "model").exists()
    trained("mayhew", files, encoders, output=tmp_path / "model")


def test_a_mistake_in_a_resource_is_found_before_anything_is_trained(files, encoders, tmp_path):
    """The projection of ``ni`` begins with a CRF on the source, which needs no parallel text."""
    bad = tmp_path / "parallel.tsv"
    bad.write_text("one column\n")
    for name in ("ni", "ni-projection"):
        with pytest.raises(DataError, match=r"parallel\.tsv:1"):
            trained(name, {**files, "parallel": str(bad)}, encoders, output=tmp_path / "model")
        assert not (tmp_path / "model").exists()


def test_a_folder_of_another_baseline_is_refused(files, encoders, tmp_path):
    trained("crf", files, encoders, output=tmp_path)
    with pytest.raises(RunError, match="holds the baseline crf; choose"):
        trained("mayhew", files, encoders, output=tmp_path)
    fewer = {"lexicon": files["lexicon"]}
    with pytest.raises(RunError, match="another raw_text"):
        trained("crf", fewer, encoders, output=tmp_path)


def test_only_the_settings_that_a_baseline_reads_make_it_another(files, encoders, tmp_path):
    def again(*changes):
        settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}", *changes])
        return train_baseline(
            "crf", SOURCE, dev=DEV, target="es", resources=files, recipe=settings, output=tmp_path
        )

    again()
    written = (tmp_path / "metacross.json").stat().st_mtime_ns
    again("knn.neighbors=3", "bilstm_crf.states=9")
    assert (tmp_path / "metacross.json").stat().st_mtime_ns == written
    with pytest.raises(RunError, match=r"another crf\.l1"):
        again("crf.l1=0.5")


@pytest.mark.parametrize(
    ("name", "missing", "message"),
    [
        ("mayhew", "lexicon", "baseline:mayhew: expected lexicon for es; give --lexicon FILE"),
        ("tsl", "raw_text", "expected raw text for es; give --raw-text FILE"),
        ("ni", "parallel", "give --parallel FILE"),
        ("tsai", "gazetteer", "give --gazetteer FILE"),
    ],
)
def test_a_missing_resource_is_named_with_its_option(files, encoders, name, missing, message):
    given = {resource: file for resource, file in files.items() if resource != missing}
    with pytest.raises(SettingsError, match=message):
        trained(name, given, encoders)


def test_clusters_can_be_given_or_made_of_raw_text(files, encoders):
    for resource in ("clusters", "raw_text"):
        trained("tackstrom", {resource: files[resource]}, encoders)
    with pytest.raises(SettingsError, match="--clusters FILE or --raw-text FILE"):
        trained("tackstrom", {}, encoders)


def test_unknown_names_are_refused(files, encoders):
    with pytest.raises(SettingsError, match=r"expected a baseline of crf, .*, found 'foo'"):
        trained("foo", files, encoders)
    with pytest.raises(SettingsError, match="unknown setting dictionary"):
        trained("crf", {"dictionary": "x"}, encoders)


def test_a_source_without_entities_is_refused(encoders):
    empty = Corpus(tuple(sentence.with_spans(()) for sentence in SOURCE))
    with pytest.raises(DataError, match="expected labeled entities"):
        train_baseline("crf", empty, dev=DEV, target="es")


def test_the_record_says_what_went_in(files, encoders, tmp_path):
    trained("crf", files, encoders, output=tmp_path)
    record = json.loads((tmp_path / "baseline.json").read_text())
    assert record["baseline"] == "crf"
    assert record["target"] == "es"
    assert set(record["resources"]) == set(files)
    assert record["settings"]["crf"]["iterations"] == 20


def test_another_model_saved_over_a_baseline_is_not_taken_for_it(files, encoders, tmp_path):
    folder = tmp_path / "mayhew"
    trained("mayhew", files, encoders, output=folder)
    assert baseline_facts(folder).name == "mayhew"
    trained("crf", files, encoders).save(folder)
    assert baseline_facts(folder) is None


def test_procrustes_recovers_a_rotation():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(50, 6)).astype(np.float32)
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    target = (source @ rotation).astype(np.float32)
    np.testing.assert_allclose(orthogonal_map(source, target), rotation.T, atol=1e-5)


def test_target_vectors_are_mapped_to_their_translations():
    rng = np.random.default_rng(1)
    matrix = unit_length(rng.normal(size=(20, 4)).astype(np.float32))
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    words = tuple(f"w{i}" for i in range(20))
    source = WordVectors(words, matrix)
    target = WordVectors(tuple(f"{w}o" for w in words), (matrix @ rotation).astype(np.float32))
    result = mapped(target, source, [(w, f"{w}o") for w in words[:10]])
    np.testing.assert_allclose(result.matrix, matrix, atol=1e-5)


def test_vectors_of_two_widths_are_refused():
    one, two = (WordVectors(("a",), np.ones((1, width), np.float32)) for width in (3, 4))
    with pytest.raises(DataError, match=r"same width in both languages, found 3 .* and 4"):
        mapped(two, one, [("a", "a")])


def test_k_means_finds_groups_that_lie_apart():
    rng = np.random.default_rng(2)
    centers = np.eye(3)[[0] * 10 + [1] * 10 + [2] * 10]
    matrix = unit_length((centers + 0.05 * rng.normal(size=(30, 3))).astype(np.float32))
    clusters = k_means(WordVectors(tuple(f"w{i}" for i in range(30)), matrix), 3, seed=0)
    groups = [{clusters.cluster(f"w{i}") for i in range(s, s + 10)} for s in (0, 10, 20)]
    assert all(len(group) == 1 for group in groups)
    assert len(set.union(*groups)) == 3


def test_centering_removes_what_all_vectors_have_in_common():
    matrix = np.array([[5, 1], [5, -1]], np.float32)
    vectors = centered(WordVectors(("a", "b"), matrix))
    np.testing.assert_allclose(vectors.matrix, [[0, 1], [0, -1]])


def test_the_vector_of_a_word_is_the_mean_of_its_pieces(encoders):
    from metacross.model.encoder import load_encoder

    vectors = encoder_vectors(["ana", "zzz", "ana"], EncoderSettings(name=encoders["bert"]))
    encoder = load_encoder(encoders["bert"])
    ids = encoder.tokenizer.fast("zzz", add_special_tokens=False)["input_ids"]
    table = encoder.network.get_input_embeddings().weight.detach()
    np.testing.assert_allclose(vectors.matrix[1], table[ids].mean(0), atol=1e-6)
    np.testing.assert_allclose(vectors.matrix[0], vectors.matrix[2])


def test_agreement_is_counted_word_by_word(trained_folder):
    model = metacross.load(trained_folder)
    first = pseudo_label(model, DEV, adapt=False)
    assert agreed_tags([first, first]) == [
        p.probabilities.argmax(1).tolist() for p in first.predictions
    ]
    second = pseudo_label(model, DEV, adapt=False)
    second.predictions[0].probabilities[0] = np.eye(5)[
        (first.predictions[0].probabilities[0].argmax() + 1) % 5
    ]
    assert agreed_tags([first, second])[0][0] is None
    assert agreed_tags([first, second])[1] == agreed_tags([first, first])[1]
    assert 0 <= first.entity_rate <= 1


def test_co_decoding_learns_labeled_target_text_too(files, encoders, tmp_path):
    target = Corpus((Sentence(("zork", "saw", "rain"), (Span(0, 1, "PER"),)),) * 9)
    trained("ni", files, encoders, output=tmp_path / "a")
    trained("ni", files, encoders, output=tmp_path / "b", target_train=target)
    attributes = [
        json.loads((tmp_path / name / "0" / "crf.json").read_text())["attributes"] for name in "ab"
    ]
    assert "word[0]=zork" not in attributes[0]
    assert "word[0]=zork" in attributes[1]


def test_vectors_of_one_language_make_no_lexicon_and_this_is_told_at_once(encoders, tmp_path):
    (tmp_path / "es.vec").write_text("casa 1 2\n")
    with pytest.raises(SettingsError, match=r"give --lexicon FILE or --source-vectors FILE"):
        trained("data-transfer", {"vectors": str(tmp_path / "es.vec")}, encoders)


def test_labels_of_target_text_that_the_source_does_not_have_are_refused(encoders):
    other = DEV.relabeled({"LOC": "GPE"})
    with pytest.raises(DataError, match=r"source's labels LOC, PER, found GPE too"):
        trained("crf", {}, encoders, target_train=other)


def test_a_translation_is_made_once_for_all_that_share_it(files, encoders, tmp_path, monkeypatch):
    translated = []
    original = Translator.translated

    def counted(self, corpus):
        translated.append(corpus.name)
        return original(self, corpus)

    monkeypatch.setattr(Translator, "translated", counted)
    shops = []
    for name, shared in [("a", SharedWork(tmp_path)), ("b", SharedWork(tmp_path)), ("c", None)]:
        resources = Resources(ResourceFiles(**files), source_language="en", target_language="es")
        settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
        shop = Workshop(SOURCE, SOURCE, DEV, resources, settings, tmp_path / name, shared=shared)
        shops.append([*shop.translated, *shop.translated_dev])
    assert len(translated) == 4  # source and dev: once shared, once alone
    words = [[(s.words, s.spans, s.language) for s in sentences] for sentences in shops]
    assert words[0] == words[1] == words[2]


def test_a_crf_on_the_same_text_is_trained_once(files, encoders, tmp_path, monkeypatch):
    n_trained = []

    def counted(*arguments):
        n_trained.append(1)
        return train_linear_crf(*arguments)

    monkeypatch.setattr(workshop, "train_linear_crf", counted)
    shared, target = tmp_path / "shared", tiny.corpus(20, seed=5)
    alone = trained("mayhew", files, encoders, output=tmp_path / "alone")
    first = trained("mayhew", files, encoders, output=tmp_path / "first", shared=shared)
    assert len(n_trained) == 2
    together = trained("direct-crf", files, encoders, output=tmp_path / "both", shared=shared)
    assert len(n_trained) == 2
    expected = list(alone.predict_stream(DEV))
    for model in (first, together.models[1], metacross.load(tmp_path / "first")):
        assert list(model.predict_stream(DEV)) == expected
    seconds = json.loads((tmp_path / "both" / "baseline.json").read_text())["shared_seconds"]
    (of_crf,) = (value for name, value in seconds.items() if name.startswith("crf_"))
    assert of_crf > 0  # what the other one took
    trained("mayhew", files, encoders, output=tmp_path / "t", shared=shared, target_train=target)
    assert len(n_trained) == 3  # another text


@pytest.mark.slow
def test_ours_and_the_crf_both_learn_labeled_target_text(files, encoders, tmp_path):
    target = tiny.corpus(20, seed=5)
    without = trained("ours-crf", files, encoders, output=tmp_path / "without")
    with_text = trained("ours-crf", files, encoders, output=tmp_path / "with", target_train=target)
    pairs = zip(without.models, with_text.models, strict=True)
    ours, crf = [[list(model.predict_stream(DEV)) for model in pair] for pair in pairs]
    assert not np.allclose(ours[0][0].probabilities, ours[1][0].probabilities)
    assert not np.allclose(crf[0][0].probabilities, crf[1][0].probabilities)
    assert without.models[0].parts.adapts  # its labels are those of the adapted model
    assert with_text.rule == "mean"


def test_another_decoding_or_adaptation_is_another_baseline(files, encoders, tmp_path):
    trained("crf", files, encoders, output=tmp_path)
    settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
    for change in ({"prediction": {"decoding": "argmax"}}, {"adaptation": {"steps": 3}}):
        with pytest.raises(
            RunError, match=r"holds the baseline crf with another (prediction|adapt)"
        ):
            train_baseline(
                "crf", SOURCE, dev=DEV, target="es", resources=files, output=tmp_path,
                recipe=settings_with(settings, change),
            )  # fmt: skip


def test_labeled_target_text_that_would_not_be_learned_is_refused(files, encoders):
    with pytest.raises(SettingsError, match=r"expected a baseline that uses it, found tsl"):
        trained("tsl", files, encoders, target_train=tiny.corpus(5))


def test_a_shared_model_of_another_system_keeps_its_settings(files, encoders, tmp_path):
    settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
    ours = metacross.train(SOURCE, dev=DEV, recipe=settings, output=tmp_path / "ours")
    bold = settings_with(settings, {"adaptation": {"learning_rate": 0.25}})
    together = train_baseline(
        "ours-crf", SOURCE, dev=DEV, target="es", resources=files, recipe=bold,
        output=tmp_path / "bold", shared=tmp_path / "shared",
    )  # fmt: skip
    assert together.models[0].settings.adaptation.learning_rate == 0.25
    assert metacross.load(tmp_path / "ours").settings.adaptation == ours.settings.adaptation
    assert not list((tmp_path / "shared").glob("meta_*/"))  # that of ours was taken


@pytest.mark.parametrize("adapt", [True, False])
def test_a_teacher_of_two_models_adapts_if_it_is_told_to(
    adapt, files, encoders, tmp_path, monkeypatch
):
    settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
    settings = settings_with(settings, {"distillation": {"adapt": adapt}})
    adapted = []
    predictions = SentenceAdapter.predictions

    def counted(self, sentences, *arguments):
        adapted.append(len(sentences))
        return predictions(self, sentences, *arguments)

    monkeypatch.setattr(SentenceAdapter, "predictions", counted)
    train_baseline(
        "ours-crf-tsl", SOURCE, dev=DEV, target="es", resources=files, recipe=settings,
        output=tmp_path,
    )  # fmt: skip
    assert bool(adapted) is adapt


def test_words_with_space_around_them_do_not_spoil_clusters(files, encoders, tmp_path):
    odd = Sentence(("ana", "\u00a0", "oslo\u00a0"), ())
    settings = load_settings("paper", [*SMALL, f"encoder.name={encoders['bert']}"])
    train_baseline(
        "tackstrom", Corpus((*SOURCE, odd)), dev=DEV, target="es", recipe=settings,
        resources={"raw_text": files["raw_text"]}, output=tmp_path,
    )  # fmt: skip
    assert list(metacross.load(tmp_path).predict_stream(DEV))


def test_the_words_of_labeled_target_text_have_vectors(files, encoders, tmp_path):
    target = Corpus((Sentence(("zorro", "vive"), ()), *tiny.corpus(5)))
    given = {"lexicon": files["lexicon"]}
    model = trained("xie", given, encoders, output=tmp_path, target_train=target)
    assert "zorro" in model.word_tagger.vocabulary.words


def test_words_of_both_languages_are_read_as_the_targets(files, encoders, tmp_path):
    """``once`` is a word of both languages: the tagger reads the mapped vector of the target's."""
    rng = np.random.default_rng(1)
    words = [*WORDS, "once"]
    source = dict(zip(words, rng.normal(size=(len(words), 16)), strict=True))
    rotation = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    target = {f"{word}o": source[word] @ rotation for word in WORDS}
    target["once"] = rng.normal(size=16) @ rotation
    lines = {
        "source_vectors": "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in source.items()),
        "vectors": "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in target.items()),
        "lexicon": "".join(f"{word}\t{word}o\n" for word in WORDS),
    }
    given = {"parallel": files["parallel"]}
    for name, text in lines.items():
        (tmp_path / f"{name}.txt").write_text(text)
        given[name] = str(tmp_path / f"{name}.txt")
    model = trained("ni", given, encoders, output=tmp_path / "ni")
    tagger = model.models[1].word_tagger
    table = tagger.module.get_buffer("vectors").numpy()
    row = table[1 + tagger.vocabulary.words.index("once")]
    mapped_back = target["once"] @ rotation.T
    assert row @ mapped_back / np.linalg.norm(mapped_back) > 0.99
    assert row @ source["once"] / np.linalg.norm(source["once"]) < 0.9
    saved = metacross.load(tmp_path / "ni").models[1].word_tagger
    assert saved.vocabulary.words == tagger.vocabulary.words


def test_after_an_error_a_folder_of_the_user_is_as_it_was(files, encoders, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("no tab\n")
    folder = tmp_path / "mine"
    folder.mkdir()
    for names in ([], ["notes.txt"]):
        for name in names:
            (folder / name).write_text("hi")
        with pytest.raises(DataError, match=r"bad.tsv:1: expected"):
            trained("mayhew", {"lexicon": str(bad)}, encoders, output=folder)
        assert [path.name for path in folder.iterdir()] == names
