"""Distills a teacher into an encoder folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tokenizers import Tokenizer
from torch import Tensor

from metacross.adaptation.optimizers import Adam
from metacross.errors import ModelError
from metacross.model.mini_encoder import MiniModel
from metacross.model.model_mark import check_writable
from metacross.training.callbacks import Callback, JsonLog
from metacross.training.checkpoints import (
    Checkpoints,
    TrainingState,
    read_tensors,
    write_tensors,
)
from metacross.training.loop import LoopSettings, run
from metacross.training.run_folder import RunFolder
from tools.mini_encoder.distillation_step import DistillationData, distillation_step
from tools.mini_encoder.encoder_folder import save_encoder
from tools.mini_encoder.open_text import OpenText, read_open_text
from tools.mini_encoder.settings import DistillationSettings
from tools.mini_encoder.student_initialization import empty_student, initial_student
from tools.mini_encoder.targets import OutputStatistics, TargetBuilder
from tools.mini_encoder.teacher import Teacher, load_teacher
from tools.mini_encoder.teacher_graph import TeacherGraph, read_teacher_graph
from tools.mini_encoder.text_stream import TextStream
from tools.mini_encoder.tokenizer import student_tokenizer
from tools.mini_encoder.vocabulary import Vocabulary, select_vocabulary
from tools.mini_encoder.word_masking import WordMasker


def distill_encoder(
    text: Path,
    teacher: Path,
    folder: Path,
    settings: DistillationSettings,
    *,
    callbacks: Sequence[Callback] = (),
) -> None:
    """Make a student of the teacher (a wheel or an ONNX file), train it on the text and save it.

    Resumes where an earlier call with the same settings, text and teacher stopped. Does nothing
    where one finished.
    """
    check_writable(folder)
    open_text = read_open_text(text)
    graph = read_teacher_graph(teacher)
    run_folder = RunFolder(folder)
    run_folder.start(settings, {"text": open_text.digest, "teacher": graph.digest})
    if (folder / "config.json").exists():  # written last
        return
    student, tokenizer, data = _prepare(graph, open_text, settings, run_folder)
    trainable = dict(student.named_parameters())
    state = TrainingState(trainable, Adam(trainable, settings.optimizer))
    steps = settings.run.steps
    history = run(
        distillation_step(student, data, settings, state.adam),
        state,
        LoopSettings(steps, steps, settings.run.checkpoint_every),
        checkpoints=Checkpoints(run_folder.training),
        validate=None,
        callbacks=[JsonLog(run_folder.log), *callbacks],
    )
    run_folder.finish(history)
    save_encoder(student, tokenizer, folder)


@dataclass(frozen=True)
class _InitialTensors:
    """A file with the initial weights and statistics. They are computed once and then read, since
    another machine would compute slightly different numbers.
    """

    path: Path

    def write(self, student: MiniModel, statistics: OutputStatistics) -> None:
        tensors = {f"student.{name}": weight for name, weight in student.state_dict().items()}
        tensors |= {f"statistics.{name}": value for name, value in asdict(statistics).items()}
        write_tensors(tensors, self.path)

    def load_into(self, student: MiniModel) -> OutputStatistics:
        groups: dict[str, dict[str, Tensor]] = {"student": {}, "statistics": {}}
        for path, tensor in read_tensors(self.path).items():
            group, _, name = path.partition(".")
            groups[group][name] = tensor
        student.load_state_dict(groups["student"])
        return OutputStatistics(**groups["statistics"])


def _prepare(
    graph: TeacherGraph, text: OpenText, settings: DistillationSettings, run_folder: RunFolder
) -> tuple[MiniModel, Tokenizer, DistillationData]:
    """The student before its first step, its tokenizer, and what it learns from."""
    vocabulary = select_vocabulary(
        graph.sentencepiece,
        (sentence for sentences in text.sentences.values() for sentence in sentences),
        frequent_pieces=settings.student.frequent_pieces,
    )
    tokenizer = student_tokenizer(vocabulary)
    teacher = load_teacher(graph)
    target_builder = TargetBuilder(teacher, vocabulary.teacher_ids, settings.target)
    stream = TextStream(text, tokenizer, settings)
    initial_tensors = _InitialTensors(run_folder.training / "start.safetensors")
    if not initial_tensors.path.exists():
        initial = _initial_student(teacher, vocabulary, settings)
        n_batches = settings.target.statistics_batches
        batches = (stream.batch(-number) for number in range(1, n_batches + 1))
        initial_tensors.write(initial, target_builder.statistics(batches))
    student = empty_student(teacher, vocabulary, settings.student.embedding_size)
    statistics = initial_tensors.load_into(student)
    masker = WordMasker(tokenizer, settings.masking)
    return student, tokenizer, DistillationData(stream, masker, target_builder, statistics)


def _initial_student(
    teacher: Teacher, vocabulary: Vocabulary, settings: DistillationSettings
) -> MiniModel:
    size, max_size = settings.student.embedding_size, teacher.shape.embedding
    if size > max_size:
        raise ModelError(
            f"student.embedding_size: expected at most the teacher's {max_size} columns, "
            f"found {size}"
        )
    return initial_student(teacher, vocabulary, size)
