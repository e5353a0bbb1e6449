"""Systems that learn source and target together: they learn, resume, save, and say what lacks."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import metacross
import tiny
from metacross.baselines.catalog import BASELINES
from metacross.baselines.train_baseline import train_baseline
from metacross.errors import DataError, RunError, SettingsError
from metacross.settings import load_settings
from metacross.text.parts_of_speech import PARTS_OF_SPEECH
from metacross.text.sentence import Corpus, Sentence
from metacross.training.callbacks import Callback

SOURCE, DEV = tiny.corpus(40), tiny.corpus(10, seed=1)
SMALL = (
    "bilstm_crf.states=12",
    "bilstm_crf.character_width=6",
    "bilstm_crf.character_states=6",
    "bilstm_crf.batch_size=16",
    "bilstm_crf.learning_rate=1e-2",
    "bilstm_crf.dropout=0.2",
    "two_languages.character_filters=4",
    "run.checkpoint_every=3",
)
NAMES = ["yang", "lin-ml", "lin-mlmt"]


def foreign(corpus):
    """The corpus in a language in which words end in x."""
    return Corpus(
        tuple(Sentence(tuple(f"{w}x" for w in s.words), s.spans, "es") for s in corpus),
        source="es.conll",
    )


TARGET = foreign(tiny.corpus(20, seed=3))


def pos_file(folder, name, corpus):
    """Parts of speech of the words of a corpus: names are PROPN."""
    lines = []
    for sentence in corpus:
        entities = {i for span in sentence.spans for i in range(span.start, span.end)}
        for i, word in enumerate(sentence.words):
            pos = "PROPN" if i in entities else "NOUN"
            lines.append("\t".join([str(i + 1), word, "_", pos, *"_" * 6]))
        lines.append("")
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts-of-speech")
    return {
        "pos": pos_file(folder, "es.conllu", foreign(tiny.corpus(30, seed=5))),
        "source_pos": pos_file(folder, "en.conllu", tiny.corpus(30, seed=6)),
    }


def trained(name, encoders, files, *settings, **options):
    encoder = f"encoder.name={encoders['bert']}"
    return train_baseline(
        name,
        SOURCE,
        dev=DEV,
        target="es",
        resources=files if name == "lin-mlmt" else {},
        recipe=load_settings("paper", [*SMALL, encoder, *settings]),
        **{"target_train": TARGET, **options},
    )


class Losses(Callback):
    def __init__(self):
        self.losses = []

    def on_step_end(self, step, result):
        self.losses.append(result.loss)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_target_is_learned_and_the_saved_model_labels_the_same(
    name, encoders, files, tmp_path, groups_read
):
    seen = Losses()
    model = trained(
        name, encoders, files, "two_languages.steps=60", output=tmp_path, callbacks=[seen]
    )
    assert groups_read == {*BASELINES[name].reads}
    assert np.mean(seen.losses[-5:]) < 0.3 * np.mean(seen.losses[:5])
    assert model.evaluate(TARGET).f1 > 0.9
    loaded = metacross.load(tmp_path)
    for before, after in zip(
        model.predict_stream(TARGET), loaded.predict_stream(TARGET), strict=True
    ):
        assert before == after
        np.testing.assert_allclose(before.probabilities, after.probabilities, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_training_resumes_to_the_same_weights(name, encoders, files, tmp_path):
    class Stop(Callback):
        def on_step_end(self, step, result):
            if step == 4:
                raise RunError("stopped")

    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    trained(name, encoders, files, "two_languages.steps=7", output=whole)
    with pytest.raises(RunError, match="stopped"):
        trained(name, encoders, files, "two_languages.steps=7", output=stopped, callbacks=[Stop()])
    assert not (stopped / "bilstm_crf.safetensors").exists()
    trained(name, encoders, files, "two_languages.steps=7", output=stopped)
    first, second = (load_file(f / "bilstm_crf.safetensors") for f in (whole, stopped))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_only_what_the_target_needs_is_saved(encoders, files, tmp_path):
    trained("lin-mlmt", encoders, files, "two_languages.steps=1", output=tmp_path)
    words = json.loads((tmp_path / "bilstm_crf.json").read_text())["words"]
    assert words
    assert all(word.endswith("x") for word in words)
    tensors = load_file(tmp_path / "bilstm_crf.safetensors")
    assert tensors["vectors"].shape[0] == len(words) + 1
    assert tensors["crf.starts"].shape == (len(tiny.TAGS),)
    assert not any(tensor.shape[:1] == (len(PARTS_OF_SPEECH),) for tensor in tensors.values())


def test_given_vectors_are_used(encoders, write, tmp_path):
    vectors = write("es.vec", "anax 1 0\nromex 0 2\n")
    source = write("en.vec", "ana 1 0 0\nrome 0 2 0\n")
    steps = load_settings("paper", [*SMALL, "two_languages.steps=1", "encoder.name=none"])
    options = {"dev": DEV, "target": "es", "recipe": steps, "target_train": TARGET}
    given = {"vectors": vectors, "source_vectors": source}
    train_baseline("yang", SOURCE, resources=given, output=tmp_path / "yang", **options)
    saved = load_file(tmp_path / "yang" / "bilstm_crf.safetensors")["vectors"]
    torch.testing.assert_close(saved, torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(DataError, match="found 2 in the target and 3 in the source; give both"):
        train_baseline("lin-ml", SOURCE, resources=given, **options)


@pytest.mark.parametrize(
    ("name", "lacks", "message"),
    [
        ("yang", "target_train", "baseline:yang: expected labeled target text for es"),
        ("lin-ml", "target_train", "give --target-train FILE$"),
        ("lin-mlmt", "pos", "baseline:lin-mlmt: expected pos for es; give --pos FILE$"),
        ("lin-mlmt", "source_pos", "give --source-pos FILE$"),
    ],
)
def test_what_lacks_is_named_with_its_option(encoders, files, name, lacks, message):
    given = {resource: file for resource, file in files.items() if resource != lacks}
    options = {"target_train": None} if lacks == "target_train" else {}
    with pytest.raises(SettingsError, match=message):
        trained(name, encoders, given, **options)


def test_labels_that_the_source_does_not_have_are_refused(encoders, files):
    other = TARGET.relabeled({"LOC": "GPE"})
    with pytest.raises(DataError, match=r"source's labels LOC, PER, found GPE too"):
        trained("yang", encoders, files, target_train=other)


def test_the_labeled_target_text_can_be_a_file(encoders, files, tmp_path):
    metacross.write_corpus(TARGET.relabeled({"LOC": "GPE"}), tmp_path / "es.conll")
    model = trained(
        "yang", encoders, files, "two_languages.steps=1", "data.map={GPE: LOC}",
        target_train=tmp_path / "es.conll",
    )  # fmt: skip
    assert model.labels == ("LOC", "PER")


def test_the_list_says_that_they_need_labeled_target_text():
    needing = [name for name, baseline in BASELINES.items() if baseline.needs_target_train]
    assert needing == NAMES
    assert not any(BASELINES[name].published for name in NAMES)  # the places are of zero-shot
