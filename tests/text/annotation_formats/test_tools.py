"""Files as the annotation tools write them, with everything that can be wrong in them."""

import json

import pytest

from metacross.errors import DataError
from metacross.text.annotation_formats.label_config import config_xml, read_config
from metacross.text.reading import ReadOptions, read_corpus
from metacross.text.sentence import Span

LOSSY = ReadOptions(lossy=True)


def region(start: int, end: int, label: str, text: str | None = None) -> dict:
    value = {"start": start, "end": end, "labels": [label]}
    if text is not None:
        value["text"] = text
    return {"id": "r1", "from_name": "label", "to_name": "text", "type": "labels", "value": value}


def task(text: str, *annotations: dict, **fields) -> dict:
    return {"id": 17, "data": {"text": text}, "annotations": list(annotations), **fields}


def annotation(*results: dict, by: object = 1, **fields) -> dict:
    return {"id": 5, "completed_by": by, "result": list(results), "was_cancelled": False, **fields}


def write_tasks(write, *tasks: dict):
    return write("export.json", json.dumps(tasks))


def entities(corpus) -> list[tuple[str, str]]:
    return [
        (" ".join(sentence.words_of(span)), span.label)
        for sentence in corpus
        for span in sentence.spans or ()
    ]


def test_label_studio_counts_code_points(write):
    text = "👩‍👩‍👧  fue a ver a Ana"
    found = text.index("Ana")
    path = write_tasks(write, task(text, annotation(region(found, found + 3, "PER", "Ana"))))
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER")]
    assert not corpus.notes.remarks


def test_label_studio_offsets_in_utf_16_are_detected(write):
    text = "👩‍👩‍👧  fue a ver a Ana"
    found = len(text[: text.index("Ana")].encode("utf-16-le")) // 2
    path = write_tasks(write, task(text, annotation(region(found, found + 3, "PER", "Ana"))))
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER")]
    assert corpus.notes.remarks == ("offsets of Label Studio were read as UTF-16 units (1 times)",)


def test_offsets_that_count_crlf_as_one_are_detected(write):
    text = "Hola\r\nAna"
    path = write_tasks(write, task(text, annotation(region(5, 8, "PER", "Ana"))))
    assert entities(read_corpus(path)) == [("Ana", "PER")]


def test_offsets_that_fit_in_no_unit_name_the_task(write):
    path = write_tasks(write, task("Ana vive", annotation(region(1, 4, "PER", "Ana"))))
    with pytest.raises(DataError, match=r"export.json:1: task 17, .*expected offsets that give"):
        read_corpus(path)
    corpus = read_corpus(path, options=LOSSY)
    assert corpus[0].spans == ()
    assert "task 17" in corpus.notes.omissions[0].place


def test_a_task_is_split_into_sentences_with_their_entities(write):
    text = "Ana slept. Tom went to Oslo."
    results = [region(0, 3, "PER"), region(11, 14, "PER"), region(23, 27, "LOC")]
    corpus = read_corpus(write_tasks(write, task(text, annotation(*results))), language="en")
    assert [sentence.spans for sentence in corpus] == [
        (Span(0, 1, "PER"),),
        (Span(0, 1, "PER"), Span(3, 4, "LOC")),
    ]
    assert str(corpus[1].origin).endswith("export.json:1: task 17")
    assert corpus[1].origin.start == 11


def test_a_sentence_does_not_end_inside_an_entity(write):
    text = "He read Who? Me. It was good."
    corpus = read_corpus(write_tasks(write, task(text, annotation(region(8, 16, "MISC")))))
    assert entities(corpus) == [("Who ? Me .", "MISC")]


def test_annotators_must_agree_unless_one_is_chosen(write):
    first = annotation(region(0, 3, "PER"), by=1)
    second = annotation(region(0, 3, "LOC"), by={"id": 2, "email": "eva@example.org"})
    path = write_tasks(
        write, task("Ana vive", first, second), task("Sí", annotation(by=1), annotation(by=2))
    )
    with pytest.raises(DataError, match=r"task 17: .* annotators 1, eva@example.org; choose"):
        read_corpus(path)

    def read(annotator: str):
        return read_corpus(path, options=ReadOptions(annotator=annotator))

    assert entities(read("first")) == [("Ana", "PER")]
    assert entities(read("eva@example.org")) == [("Ana", "LOC")]
    assert len(read("agreed")) == 1
    assert "do not agree" in read("agreed").notes.omissions[0].reason


def test_predictions_that_are_only_numbers_are_remarked(write):
    """As in the JSON export of Label Studio 1.23."""
    path = write_tasks(write, task("Ana vive", annotation(region(0, 3, "PER")), predictions=[1]))
    assert entities(read_corpus(path)) == [("Ana", "PER")]
    corpus = read_corpus(path, options=ReadOptions(annotator="model"))
    assert not corpus.labeled
    assert "only the numbers of predictions" in corpus.notes.remarks[0]


def test_annotators_who_agree_need_no_choice(write):
    same = [annotation(region(0, 3, "PER"), by=person) for person in (1, 2)]
    assert entities(read_corpus(write_tasks(write, task("Ana vive", *same)))) == [("Ana", "PER")]


def test_a_skipped_task_is_reported(write):
    path = write_tasks(write, task("Ana vive", annotation(was_cancelled=True)))
    path_text = json.loads(path.read_text())
    path_text[0]["annotations"][0]["was_cancelled"] = True
    path.write_text(json.dumps(path_text))
    corpus = read_corpus(path)
    assert not corpus.labeled
    assert "the annotator skipped the task" in str(corpus.notes.omissions[0])


def test_what_is_no_entity_is_reported(write):
    results = [
        region(0, 3, "PER"),
        {"id": "c", "type": "choices", "value": {"choices": ["good"]}},
        {"type": "relation", "from_id": "a", "to_id": "b"},
    ]
    corpus = read_corpus(write_tasks(write, task("Ana vive", annotation(*results))))
    assert len(corpus.notes.omissions) == 2
    assert "'choices' is not an entity" in str(corpus.notes.omissions[0])


def test_the_short_export_of_label_studio_is_read(write):
    record = {
        "text": "Ana vive",
        "label": [{"start": 0, "end": 3, "text": "Ana", "labels": ["PER"]}],
        "id": 3,
        "annotator": 1,
        "annotation_id": 9,
    }
    assert entities(read_corpus(write("min.json", json.dumps([record])))) == [("Ana", "PER")]


def test_the_text_is_found_in_another_field(write):
    tasks = task("", annotation(region(0, 3, "PER", "Ana")))
    tasks["data"] = {"title": "Una nota", "body": "Ana vive"}
    assert entities(read_corpus(write_tasks(write, tasks))) == [("Ana", "PER")]


@pytest.mark.parametrize(
    ("results", "kept"),
    [
        ([region(0, 9, "ORG"), region(3, 9, "LOC")], [("La Ciudad", "ORG")]),
        ([region(0, 5, "ORG"), region(3, 9, "LOC")], [("Ciudad", "LOC")]),
        ([region(0, 2, "ORG"), region(0, 2, "LOC")], [("La", "LOC")]),
    ],
    ids=["nested", "overlapping", "two labels"],
)
def test_entities_that_overlap_are_refused_or_reported(write, results, kept):
    path = write_tasks(write, task("La Ciudad", annotation(*results)))
    with pytest.raises(DataError, match=r"task 17.*do not overlap, found .*--lossy"):
        read_corpus(path)
    corpus = read_corpus(path, options=LOSSY)
    assert entities(corpus) == kept
    assert len(corpus.notes.omissions) == 1


def test_an_entity_that_is_annotated_twice_counts_once(write):
    path = write_tasks(
        write, task("Ana vive", annotation(region(0, 3, "PER"), region(0, 3, "PER")))
    )
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER")]
    assert "annotated twice" in str(corpus.notes.omissions[0])


def test_empty_documents_are_counted(write):
    corpus = read_corpus(write_tasks(write, task(" \n", annotation()), task("Ana", annotation())))
    assert len(corpus) == 1
    assert corpus.notes.empty_sentences == 1


def test_text_that_was_edited_in_the_tool_is_split_anew(write):
    edited = task("Ana vive en Lima", annotation(region(12, 16, "LOC")))
    edited["data"]["metacross"] = {"tokens": ["Ana", "vive", "aquí"]}
    corpus = read_corpus(write_tasks(write, edited))
    assert corpus[0].words == ("Ana", "vive", "en", "Lima")


def test_a_word_is_cut_where_an_annotator_cut_it(write):
    cut = task("Ana Bilbao-Vitoria", annotation(region(4, 10, "LOC")))
    cut["data"]["metacross"] = {"tokens": ["Ana", "Bilbao-Vitoria"]}
    corpus = read_corpus(write_tasks(write, cut))
    assert corpus[0].words == ("Ana", "Bilbao", "-Vitoria")
    assert corpus[0].layout.text == "Ana Bilbao-Vitoria"


def test_a_pretty_printed_export_names_lines(write):
    tasks = [task("Ana"), task("Eva", annotation(region(0, 9, "PER")))]
    path = write("export.json", json.dumps(tasks, indent=2))
    with pytest.raises(DataError, match=r"export.json:9: task 17.*within 3 characters"):
        read_corpus(path)


@pytest.mark.parametrize(
    "text", ['[{"data": {"text": "Ana"}', '[{"data": {"text": "Ana"}}, 3]', "[{"]
)
def test_a_broken_list_is_an_error_with_its_line(write, text):
    with pytest.raises(DataError, match=r"x.json:1: expected"):
        read_corpus(write("x.json", text))


def test_what_follows_a_list_is_not_lost_silently(write):
    export = json.dumps([task("Ana", annotation())])
    path = write("x.json", export + "\n" + export)
    with pytest.raises(DataError, match=r"x.json:1: expected the end of the file after the list"):
        read_corpus(path)


DIGITS = "1" * 5000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", f'[{{"data": {{"text": "Ana"}}, "id": {DIGITS}}}]'),
        ("x.jsonl", f'{{"text": "Ana", "label": [[{DIGITS}, 3, "PER"]]}}'),
        ("x.ann", f"T1\tPER {DIGITS} 3\tAna"),
        ("x.conllu", f"1-{DIGITS}\tAna" + "\t_" * 8 + "\n1\tAna" + "\t_" * 8),
        ("x.conllu", "1-999999999999\tAna" + "\t_" * 8 + "\n1\tAna" + "\t_" * 8),
    ],
)
def test_a_number_of_absurd_length_is_an_error_with_its_line(write, name, text):
    write("x.txt", "Ana")
    with pytest.raises(DataError, match=rf"{name}:1: expected"):
        read_corpus(write(name, text))


@pytest.mark.parametrize(
    "record",
    [
        {"fields": {"text": "Ana"}, "responses": [{"values": {"ner": "PER"}}]},
        {"fields": {"text": "Ana"}, "responses": [{"values": ["PER"]}]},
        {"fields": {"text": "Ana"}, "responses": {"ner": "PER"}},
    ],
)
def test_broken_responses_of_argilla_are_an_error_with_their_place(write, record):
    with pytest.raises(DataError, match=r"x.json:1: record no. 1: expected a list of objects"):
        read_corpus(write("x.json", json.dumps([record])))


def test_an_empty_text_of_argilla_is_not_replaced_by_another_field(write):
    records = [{"fields": {"title": "Eva", "text": text}} for text in ("", "Ana")]
    corpus = read_corpus(write("x.json", json.dumps(records)))
    assert [sentence.words for sentence in corpus] == [("Ana",)]
    assert corpus.notes.empty_sentences == 1


@pytest.mark.parametrize("relations", [5, True, {"a": 1}])
@pytest.mark.parametrize("fields", [{"label": []}, {"spans": [], "answer": "accept"}])
def test_relations_of_any_shape_are_reported(write, fields, relations):
    record = {"text": "Ana", **fields, "relations": relations}
    corpus = read_corpus(write("x.jsonl", json.dumps(record)))
    assert "1 relations are not entities" in str(corpus.notes.omissions[0])


def test_a_file_of_which_everything_was_left_out_says_why(write):
    record = {"text": "Ana", "spans": [], "answer": "reject"}
    path = write("x.jsonl", json.dumps(record) + "\n" + json.dumps(record))
    message = r"found none; left out: .*x.jsonl:1: the answer is .reject.*\(2 in all\)"
    with pytest.raises(DataError, match=message):
        read_corpus(path)


def test_doccano_writes_entities_in_three_ways(write):
    lines = [
        {"id": 1, "text": "Ana vive en Bilbao", "label": [[0, 3, "PER"], [12, 18, "LOC"]]},
        {"id": 2, "text": "Ana vive", "labels": [[0, 3, "PER"]]},
        {
            "id": 3,
            "text": "Ana vive",
            "entities": [{"id": 8, "label": "PER", "start_offset": 0, "end_offset": 3}],
            "relations": [{"id": 1}],
        },
    ]
    corpus = read_corpus(write("x.jsonl", "\n".join(map(json.dumps, lines))))
    assert entities(corpus) == [("Ana", "PER"), ("Bilbao", "LOC"), ("Ana", "PER"), ("Ana", "PER")]
    assert "id 3: 1 relations" in str(corpus.notes.omissions[0])


def test_doccano_texts_are_split_into_sentences(write):
    record = {"text": "Ana slept. Tom ran.", "label": [[11, 14, "PER"]]}
    corpus = read_corpus(write("x.jsonl", json.dumps(record)), language="en")
    assert [len(sentence.spans) for sentence in corpus] == [0, 1]


RELATIONS = {"text": "Ana vive", "relations": []}
OWN_SPAN, DOCCANO_SPAN = (
    {"start": 0, "end": 3, "label": "PER"},
    {"id": 7, "start_offset": 0, "end_offset": 3, "label": "PER"},
)


@pytest.mark.parametrize("span", [OWN_SPAN, DOCCANO_SPAN], ids=["our own", "doccano"])
@pytest.mark.parametrize("n_before", [1, 3])
def test_texts_without_entities_do_not_say_whose_format_it_is(write, span, n_before):
    lines = [{**RELATIONS, "entities": []}] * n_before + [{**RELATIONS, "entities": [span]}]
    corpus = read_corpus(write("x.jsonl", "\n".join(map(json.dumps, lines))))
    assert [sentence.spans for sentence in corpus] == [()] * n_before + [(Span(0, 1, "PER"),)]
    assert read_corpus(write("x.json", json.dumps(lines))) == corpus


def test_texts_of_doccano_before_the_first_entity_are_split_into_sentences_too(write):
    lines = [
        {"text": "Nobody slept. Nobody ran.", "entities": []},
        {"text": "Ana vive", "entities": [DOCCANO_SPAN]},
    ]
    corpus = read_corpus(write("x.jsonl", "\n".join(map(json.dumps, lines))), language="en")
    assert len(corpus) == 3


def test_prodigy_answers_other_than_accept_are_left_out_and_counted(write):
    example = {
        "text": "Ana vive",
        "tokens": [
            {"text": "Ana", "start": 0, "end": 3, "id": 0, "ws": True},
            {"text": "vive", "start": 4, "end": 8, "id": 1, "ws": False},
        ],
        "spans": [{"start": 0, "end": 3, "label": "PER", "token_start": 0, "token_end": 0}],
        "answer": "accept",
    }
    rejected = [{**example, "answer": answer} for answer in ("reject", "ignore")]
    path = write("x.jsonl", "\n".join(map(json.dumps, [example, *rejected])))
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER")]
    assert [str(omission.place)[-2:] for omission in corpus.notes.omissions] == [":2", ":3"]


def test_spans_of_prodigy_without_an_answer_are_proposals(write):
    span = {"start": 0, "end": 3, "label": "PER"}
    lines = [
        {"text": "Ana vive", "_input_hash": 1, "spans": [span]},
        {"text": "Eva vive", "_input_hash": 2, "spans": [span], "answer": "accept"},
        {"text": "Nada", "_input_hash": 3},
    ]
    path = write("x.jsonl", "\n".join(map(json.dumps, lines)))
    corpus = read_corpus(path)
    assert [sentence.spans for sentence in corpus] == [None, (Span(0, 1, "PER"),), None]
    assert corpus.notes.remarks == (
        "examples have spans and no answer; --annotator model reads them (1 times)",
    )
    proposed = read_corpus(path, options=ReadOptions(annotator="model"))
    assert [sentence.spans for sentence in proposed] == [(Span(0, 1, "PER"),), None, None]


@pytest.mark.parametrize("span", [(0, 3), (9, 12), (8, 9)], ids=["before", "after", "one mark"])
def test_an_entity_where_prodigy_has_no_token_is_refused_or_reported(write, span):
    example = {
        "text": "Ana vive.Eva",
        "tokens": [{"text": "vive", "start": 4, "end": 8, "id": 0}],
        "spans": [{"start": span[0], "end": span[1], "label": "PER"}],
        "answer": "accept",
    }
    path = write("x.jsonl", json.dumps(example))
    with pytest.raises(DataError, match=r"x.jsonl:1, span 1: .* at least one word, .*--lossy"):
        read_corpus(path)
    corpus = read_corpus(path, options=LOSSY)
    assert corpus[0].spans == ()
    assert "between words" in str(corpus.notes.omissions[0])


def test_annotators_of_prodigy_must_agree_unless_one_is_chosen(write):
    def example(text: str, person: str, *labels: str, answer: str = "accept") -> dict:
        spans = [{"start": 0, "end": 3, "label": label} for label in labels]
        return {"text": text, "spans": spans, "answer": answer, "_annotator_id": f"x-{person}"}

    examples = [
        example("Ana ran", "ana", "PER"),
        example("Eva ran", "ana", "PER"),
        example("Ana ran", "bob", "LOC"),
        example("Eva ran", "bob", "PER"),
        example("Eva ran", "eva", answer="reject"),
    ]
    path = write("x.jsonl", "\n".join(map(json.dumps, examples)))
    with pytest.raises(DataError, match=r"x.jsonl:1: .* annotators x-ana, x-bob.*--annotator ID"):
        read_corpus(path)
    agreed = read_corpus(path, options=ReadOptions(annotator="agreed"))
    assert entities(agreed) == [("Eva", "PER")]
    assert [str(omission.place)[-2:] for omission in agreed.notes.omissions] == [":1", ":5"]
    bob = read_corpus(path, options=ReadOptions(annotator="x-bob"))
    assert entities(bob) == [("Ana", "LOC"), ("Eva", "PER")]


def test_the_last_annotation_of_one_annotator_of_prodigy_counts(write):
    example = {"text": "Ana ran", "answer": "accept", "_session_id": "x-ana"}
    span = {"start": 0, "end": 3, "label": "PER"}
    lines = [{**example, "spans": []}, {**example, "spans": [span]}]
    corpus = read_corpus(write("x.jsonl", "\n".join(map(json.dumps, lines))))
    assert entities(corpus) == [("Ana", "PER")]
    assert "x.jsonl:1: x-ana annotated the text again later" in str(corpus.notes.omissions[0])


def test_doccano_does_not_say_who_annotated(write):
    path = write("x.jsonl", json.dumps({"text": "Ana", "label": []}))
    assert (
        "--annotator was not used"
        in read_corpus(path, options=ReadOptions(annotator="7")).notes.remarks[0]
    )


def test_argilla_exports_are_read(write):
    def record(*users: str, status: str = "submitted") -> dict:
        spans = [{"start": 0, "end": 3, "label": "PER"}]
        return {
            "id": "a",
            "fields": {"text": "Ana vive"},
            "suggestions": {"ner": {"value": [], "score": [], "agent": "m"}},
            "responses": {
                "ner": [{"value": spans, "user_id": user, "status": status} for user in users]
            },
        }

    by_user = {
        "fields": {"text": "Eva vive"},
        "responses": [
            {
                "user_id": "u",
                "status": "submitted",
                "values": {"ner": {"value": [{"start": 0, "end": 3, "label": "PER"}]}},
            }
        ],
    }
    path = write("x.json", json.dumps([record("u", "v"), record("u", status="draft"), by_user]))
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER"), ("Eva", "PER")]
    assert "it is draft" in str(corpus.notes.omissions[0])
    assert corpus[1].spans is None


def brat(write, annotations: str, text: str = "Ana vive en Bilbao\n"):
    write("doc.txt", text)
    return write("doc.ann", annotations)


def test_brat_is_read_with_the_text_beside_it(write):
    path = brat(write, "T1\tPER 0 3\tAna\nT2\tLOC 12 18\tBilbao\nR1\tlives Arg1:T1 Arg2:T2\n")
    corpus = read_corpus(path)
    assert entities(corpus) == [("Ana", "PER"), ("Bilbao", "LOC")]
    assert "1 relations are not entities" in str(corpus.notes.omissions[0])


def test_a_discontinuous_entity_of_brat_is_refused_with_its_line(write):
    path = brat(write, "T1\tPER 0 3\tAna\nT2\tLOC 0 3;12 18\tAna Bilbao\n")
    with pytest.raises(DataError, match=r"doc.ann:2: expected an entity in one piece.*--lossy"):
        read_corpus(path)
    corpus = read_corpus(path, options=LOSSY)
    assert entities(corpus) == [("Ana", "PER")]
    assert corpus.notes.omissions[0].place.endswith("doc.ann:2")


def test_an_entity_of_brat_over_a_line_break_is_one_piece(write):
    text = "from New\nYork to Rome"
    corpus = read_corpus(brat(write, "T1\tLOC 5 8;9 13\tNew York\n", text))
    assert entities(corpus) == [("New York", "LOC")]


def test_brat_offsets_in_utf_16_are_detected(write):
    corpus = read_corpus(brat(write, "T1\tPER 3 6\tAna\n", "💩 Ana vive"))
    assert entities(corpus) == [("Ana", "PER")]
    assert "UTF-16" in corpus.notes.remarks[0]


def test_brat_counts_both_characters_of_crlf(write):
    corpus = read_corpus(brat(write, "T1\tLOC 6 12\tBilbao\r\n", "Ana.\r\nBilbao.\r\n"))
    assert entities(corpus) == [("Bilbao", "LOC")]
    assert corpus[-1].origin.line == 2


def test_a_text_of_brat_without_annotations_is_not_annotated(write):
    path = write("doc.txt", "Ana vive\n")
    from metacross.text.formats import Format

    assert not read_corpus(path, options=ReadOptions(format=Format.BRAT)).labeled


@pytest.mark.parametrize("line", ["T1 PER 0 3 Ana", "T1\tPER\tAna", "X1\tPER 0 3\tAna"])
def test_a_broken_line_of_brat_is_an_error_with_its_place(write, line):
    with pytest.raises(DataError, match=r"doc.ann:1: expected an"):
        read_corpus(brat(write, line))


def conllu(*misc: str) -> str:
    words = ["La", "Ciudad", "de", "Lima"]
    rows = [f"{i + 1}\t{word}" + "\t_" * 7 + f"\t{misc[i]}" for i, word in enumerate(words)]
    return "# text = La Ciudad de Lima\n" + "\n".join(rows) + "\n\n"


@pytest.mark.parametrize(
    "misc",
    [
        ("_", "NE=LOC_1", "NE=LOC_1", "NE=LOC_1"),
        ("_", "ner=B-LOC", "ner=I-LOC", "ner=E-LOC"),
        ("name=O", "name=B-LOC", "name=I-LOC", "name=I-LOC|SpaceAfter=No"),
    ],
    ids=["NameTag", "Stanza", "NorNE"],
)
def test_named_entities_of_conllu_are_read(write, misc):
    corpus = read_corpus(write("x.conllu", conllu(*misc)))
    assert entities(corpus) == [("Ciudad de Lima", "LOC")]
    assert corpus[0].laid_out().text == "La Ciudad de Lima"


def test_adjacent_entities_of_conllu_have_different_numbers(write):
    corpus = read_corpus(write("x.conllu", conllu("_", "NE=LOC_1", "_", "NE=LOC_2")))
    assert entities(corpus) == [("Ciudad", "LOC"), ("Lima", "LOC")]


@pytest.mark.parametrize(
    ("misc", "message"),
    [
        (("_", "NE=LOC_1", "_", "NE=LOC_1"), "in one piece, found LOC_1 again"),
        (("_", "NE=ORG_1", "NE=ORG_1", "NE=ORG_1-LOC_2"), "nested ones ORG_1-LOC_2"),
    ],
    ids=["discontinuous", "nested"],
)
def test_nested_and_discontinuous_entities_of_conllu_are_refused(write, misc, message):
    path = write("x.conllu", conllu(*misc))
    with pytest.raises(DataError, match=rf"x.conllu:\d: .*{message}.*--lossy"):
        read_corpus(path)
    assert len(read_corpus(path, options=LOSSY).notes.omissions) == 1


def test_conllu_without_entities_is_not_annotated(write):
    assert not read_corpus(write("x.conllu", conllu("_", "_", "_", "_"))).labeled


def test_sentences_of_conllu_that_nobody_annotated_stay_so_among_others(write):
    nobody, nothing = conllu("_", "_", "_", "_"), "# entities = 0\n" + conllu("_", "_", "_", "_")
    foreign = conllu("_", "NE=LOC_1", "_", "_")
    corpus = read_corpus(write("x.conllu", nobody + nothing + foreign))
    assert [sentence.spans for sentence in corpus] == [None, (), (Span(1, 2, "LOC"),)]


def test_a_sentence_of_conllu_without_entities_is_annotated_if_others_have_some(write):
    foreign = conllu("_", "NE=LOC_1", "_", "_")
    corpus = read_corpus(write("x.conllu", foreign + conllu("_", "_", "_", "_")))
    assert [sentence.spans for sentence in corpus] == [(Span(1, 2, "LOC"),), ()]


def test_conllu_is_read_by_another_library_too(write, tmp_path):
    library = pytest.importorskip("conllu")
    from metacross.text.bundled_corpus import bundled_corpus
    from metacross.text.writing import write_corpus

    corpus = bundled_corpus("es", "test")
    write_corpus(corpus.sentences[:50], tmp_path / "x.conllu")
    parsed = library.parse((tmp_path / "x.conllu").read_text())
    assert [tuple(token["form"] for token in sentence) for sentence in parsed] == [
        sentence.words for sentence in corpus.sentences[:50]
    ]


def test_a_label_config_is_read_with_its_names_and_aliases():
    xml = """<View><Header value="x"/>
      <Choices name="c" toName="doc"><Choice value="good"/></Choices>
      <Labels name="ner" toName="doc">
        <Label value="Person" alias="PER"/><Label value="LOC"/>
      </Labels>
      <Text name="doc" value="$body"/></View>"""
    config = read_config(xml)
    assert (config.from_name, config.to_name, config.field) == ("ner", "doc", "body")
    assert config.labels == {"Person": "PER", "PER": "PER", "LOC": "LOC"}


@pytest.mark.parametrize(
    "xml",
    ["<View>", "<View/>", '<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "<!ENTITY x>"],
)
def test_a_bad_label_config_is_refused(xml):
    with pytest.raises(DataError, match="label_config: expected"):
        read_config(xml)


def test_labels_are_escaped_in_a_label_config():
    assert read_config(config_xml(['A&B"<'])).labels == {'A&B"<': 'A&B"<'}
