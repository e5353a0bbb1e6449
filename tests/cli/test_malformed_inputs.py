"""Bad input gives one line with file and line number, exit code 1 and no traceback."""

import json
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Case:
    """A bad file, and how the error goes on after the name of the file."""

    name: str
    content: bytes
    says: str


def case(name: str, content: str | bytes, says: str) -> Case:
    return Case(name, content.encode() if isinstance(content, str) else content, says)


def record(**fields: object) -> str:
    return json.dumps(fields)


CASES = {
    "empty": case("x.conll", "", ": expected sentences, found none"),
    "only blank lines": case("x.conll", "\n \n\n", ": expected sentences, found none"),
    "only document starts": case("x.conll", "-DOCSTART- O\n\n", ": expected sentences"),
    "truncated line": case("x.conll", "a O\nb B-PER\nMissi", ":3: expected a word and a tag, found only 'Missi'"),
    "a column too many": case("x.conll", "a O\nb X O\n", ":2: expected 2 columns"),
    "a column too few": case("x.conll", "a NN X O\nb NN O\n", ":2: expected 4 columns"),
    "tabs and spaces mixed": case("x.conll", "a\tO\nb O\n", ":2: expected a word and a tag"),
    "empty word": case("x.conll", "a\tO\n\tO\n", ":2: expected a word, found an empty column"),
    "unknown prefix": case("x.conll", "a O\nb X-PER\n", ":2: expected O or one of"),
    "lower-case prefix": case("x.conll", "a O\nb b-PER\n", ":2: expected O or one of"),
    "tag without prefix": case("x.conll", "a O\nb PER\n", ":2: expected O or one of"),
    "tag without label": case("x.conll", "a O\nb B-\n", ":2: expected a label after the prefix"),
    "prefix alone": case("x.conll", "a O\nb I\n", ":2: expected a label after the prefix"),
    "mixed schemes": case("x.conll", "a S-PER\nb O\n\nc U-LOC\n", ":4: expected one tag scheme"),
    "part-of-speech tags": case("x.conll", "a DT\nb NN\n", ":1: expected O or one of"),
    "NUL byte": case("x.conll", b"a O\nb\0 O\n", ":2: expected text, found a NUL byte"),
    "UTF-16": case("x.conll", "a O\n".encode("utf-16"), ":1: expected"),
    "binary": case("x.conll", b"\x89PNG\r\n\x1a\n\x00\xff", ":1: expected utf-8, found byte 0x89"),
    "bad UTF-8": case("x.conll", "a O\nMálaga O\n".encode("latin-1"), ":2: expected utf-8, found byte 0xe1"),
    "cut UTF-8": case("x.conll", "a O\né".encode()[:-1], ":2: expected utf-8"),
    "huge line": case("x.conll", b"a O\n" + b"x" * 4_000_001 + b" O\n", ":2: expected text, found a line of over"),
    "comment in a plain file": case("x.conll", "a O\n\n# sent 2\nb O\n", ":3: expected 2 columns"),
    "number of a word": case("x.iob2", "# text = a\n1\ta\tO\nb\tb\tO\n", ":3: expected the number of a word"),
    "no JSON": case("x.jsonl", '{"tokens": ["a"]}\nhello\n', ":2: expected a JSON object"),
    "cut JSON": case("x.jsonl", '{"tokens": ["a"', ":1: expected a JSON object"),
    "JSON list": case("x.json", '[{"tokens": ["a"]}, 3]', ":1: expected a JSON object, found 3"),
    "JSON list in a line": case("x.jsonl", '{"tokens": ["a"]}\n["a"]', ":2: expected one JSON object per line, found a list"),
    "JSON number": case("x.jsonl", "12\n", ":1: expected a JSON object, found '12'"),
    "deep JSON": case("x.jsonl", '{"a":' * 100_000, ":1: expected a JSON object"),
    "JSON without words": case("x.jsonl", record(sentence="a"), ":1: expected 'tokens' or 'text'"),
    "JSON lengths": case("x.jsonl", record(tokens=["a", "b"], tags=["O"]), ":1: expected 2 tags, one per word, found 1"),
    "JSON tokens as text": case("x.jsonl", record(tokens="a b"), ":1: expected a list of words"),
    "JSON token of a number": case("x.jsonl", record(tokens=[1]), ":1: expected a list of words"),
    "JSON tags by number": case("x.jsonl", record(tokens=["a"], tags=[1]), ":1: expected tags such as"),
    "JSON tag of null": case("x.jsonl", record(tokens=["a"], tags=[None]), ":1: expected a tag such as"),
    "JSON bad tag": case("x.jsonl", record(tokens=["a"], tags=["PER"]), ":1: expected O or one of"),
    "JSON span outside": case("x.jsonl", record(text="abc", spans=[[0, 9, "X"]]), ":1: expected a start and a later end"),
    "JSON span backwards": case("x.jsonl", record(text="abc", spans=[[2, 1, "X"]]), ":1: expected a start and a later end"),
    "JSON span without label": case("x.jsonl", record(text="abc", spans=[{"start": 0, "end": 1}]), ":1: expected start, end and label"),
    "JSON span of spaces": case("x.jsonl", record(text="a  b", spans=[[1, 3, "X"]]), ":1: expected an entity with at least one character"),
    "JSON spans overlap": case("x.jsonl", record(text="abcd", spans=[[0, 3, "X"], [2, 4, "Y"]]), ":1: expected entities that do not overlap"),
    "JSON half a character": case("x.jsonl", '{"tokens": ["\\ud800"]}', ":1: expected Unicode text"),
    "JSON offsets": case("x.jsonl", record(tokens=["a"], text="ba", offsets=[[0, 1]]), ":1: expected 'offsets' that give"),
}  # fmt: skip


@pytest.mark.parametrize("bad", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("command", ["check", "convert", "score"])
def test_a_bad_file_gives_one_line(run, write, tmp_path, command, bad):
    path = write(bad.name, bad.content)
    arguments = {
        "check": [path],
        "convert": [path, tmp_path / "out.jsonl"],
        "score": [path, path],
    }[command]
    outcome = run(command, *arguments)
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"metacross: {path}{bad.says}")
    assert len(line) < 400
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "no-such-file.conll"], "no-such-file.conll: cannot be read: No such file"),
        (["check", "."], ".: expected a file, a saved data set or .ann files of brat, found a folder"),
        (["check", "hub:nobody/nothing"], "hub:nobody/nothing: "),
        (["check", "good.conll", "--encoding", "klingon"], "expected an encoding such as"),
        (["check", "good.conll", "--map", "person"], "--map: expected OLD=NEW"),
        (["check", "good.conll", "--tag-column", "7"], "good.conll:1: expected a column 7"),
        (["convert", "good.conll", "no/such/folder/x.conll"], "no/such/folder/x.conll: cannot be written"),
        (["score", "good.conll", "unlabeled.conll"], "unlabeled.conll:1: expected tags to score"),
        (["score", "good.conll", "good.conll", "--drop", "PER"], "good.conll: expected entities to score against"),
        (["score", "good.conll", "good.conll", "--against", "good.conll"], "--against: expected another file"),
    ],
)  # fmt: skip
def test_a_bad_call_gives_one_line(run, write, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    write("good.conll", "Ana B-PER\n")
    write("unlabeled.conll", "Ana\n")
    outcome = run(*arguments)
    assert outcome.code == 1
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"metacross: {says}")


def test_a_file_without_permission_gives_one_line(run, write, monkeypatch):
    path = write("x.conll", "Ana B-PER\n")

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    outcome = run("check", path)
    assert (outcome.code, outcome.err) == (
        1,
        f"metacross: {path}: cannot be read: Permission denied\n",
    )
