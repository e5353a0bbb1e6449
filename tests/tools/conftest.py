"""A tiny teacher and everything that distillation makes of it before training."""

from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def parts(tmp_path_factory) -> SimpleNamespace:
    """Text, teacher, vocabulary, tokenizer and settings that fit each other."""
    import tiny_teacher
    from tools.mini_encoder.open_text import read_open_text
    from tools.mini_encoder.settings import distillation_settings
    from tools.mini_encoder.teacher import load_teacher
    from tools.mini_encoder.teacher_graph import read_teacher_graph
    from tools.mini_encoder.tokenizer import student_tokenizer
    from tools.mini_encoder.vocabulary import select_vocabulary

    folder = tmp_path_factory.mktemp("distillation")
    text_folder = tiny_teacher.make_text(folder / "data")
    text = read_open_text(text_folder)
    onnx_file = tiny_teacher.make_onnx(folder / "teacher.onnx")
    graph = read_teacher_graph(onnx_file)
    all_sentences = [sentence for group in text.sentences.values() for sentence in group]
    vocabulary = select_vocabulary(graph.sentencepiece, all_sentences, frequent_pieces=1000)
    return SimpleNamespace(
        text_folder=text_folder,
        text=text,
        onnx_file=onnx_file,
        graph=graph,
        vocabulary=vocabulary,
        tokenizer=student_tokenizer(vocabulary),
        teacher=load_teacher(graph),
        settings=distillation_settings(tiny_teacher.SMALL),
    )
