"""What users import: documented, typed, and in the words of the field."""

import inspect
import re
import typing
from importlib.metadata import version

import pytest
from pydantic import BaseModel

import metacross
from metacross.cli.main import app
from metacross.settings import Settings
from metacross.study.plan import Study
from tools.docs.command_page import command_parameters, option_names

EXPECTED = {
    "Corpus",
    "Entity",
    "Evaluation",
    "MetacrossError",
    "NerModel",
    "Prediction",
    "Score",
    "Sentence",
    "Settings",
    "Span",
    "Study",
    "bundled_corpus",
    "compare_studies",
    "load",
    "load_settings",
    "read_corpus",
    "run_study",
    "train",
    "write_corpus",
}
REPLACED_WORDS = {
    "change",
    "deviation",
    "headline",
    "longest",
    "memory",
    "optimiser",
    "own",
    "reading",
    "recogniser",
    "record",
    "records",
    "share",
    "skipped",
    "textbook_because",
    "watcher",
    "watchers",
    "wished",
}
"""Words that one idea had before it got the field's word."""
BARE_KEYS = {"rate", "batch", "longest_window", "record_megabytes", "inner_rate", "outer_rate"}
BRITISH = re.compile(r"neighbour|labell|colour|behaviour|normalis|recognis|optimis|randomis|favour")
PUBLIC = [name for name in metacross.__all__ if not name.startswith("__")]


def members(value: object) -> list[tuple[str, object]]:
    """The public functions and properties that a class defines itself."""
    if not inspect.isclass(value) or issubclass(value, BaseModel | Exception):
        return []
    return [(name, member) for name, member in vars(value).items() if not name.startswith("_")]


def signatures(value: object) -> list[inspect.Signature]:
    functions = [value] if not inspect.isclass(value) else []
    functions += [member for _, member in members(value) if inspect.isfunction(member)]
    if inspect.isclass(value) and "__init__" in vars(value):
        functions.append(value.__init__)
    return [inspect.signature(function) for function in functions]


def names_used(name: str) -> set[str]:
    """A public name with its parameters and attributes."""
    value = getattr(metacross, name)
    parameters = {parameter for s in signatures(value) for parameter in s.parameters}
    return {name, *parameters, *(member for member, _ in members(value))}


def setting_keys() -> list[str]:
    groups = {group: field.annotation for group, field in Settings.model_fields.items()}
    keys = [f"{group}.{key}" for group, model in groups.items() for key in model.model_fields]
    return [*keys, *(f"study.{key}" for key in Study.model_fields)]


def assert_words_of_the_field(name: str) -> None:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    assert not BRITISH.search(snake), name
    assert snake not in REPLACED_WORDS | BARE_KEYS, name
    assert not set(snake.split("_")) & (REPLACED_WORDS - {"change"}), name


def test_the_public_names_are_these():
    assert set(PUBLIC) >= EXPECTED


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_documented(name):
    value = getattr(metacross, name)
    assert (value.__doc__ or "").strip(), name
    for member, attribute in members(value):
        if inspect.isfunction(attribute) or isinstance(attribute, property):
            assert (attribute.__doc__ or "").strip(), f"{name}.{member}"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_types(name):
    value = getattr(metacross, name)
    for signature in signatures(value):
        assert signature.return_annotation is not inspect.Signature.empty, f"{name}{signature}"
        for parameter in signature.parameters.values():
            typed = parameter.annotation is not inspect.Parameter.empty
            assert typed or parameter.name == "self", f"{name}: {parameter}"
    for member, attribute in members(value):
        if isinstance(attribute, property):
            assert "return" in attribute.fget.__annotations__, f"{name}.{member}"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_uses_the_words_of_the_field(name):
    for used in names_used(name):
        assert_words_of_the_field(used)


def test_a_setting_key_uses_the_words_of_the_field():
    assert len(setting_keys()) > 40
    for key in setting_keys():
        assert_words_of_the_field(key.split(".")[1])


def test_an_option_of_a_command_uses_the_words_of_the_field():
    for command in app.registered_commands:
        assert_words_of_the_field(command.name.replace("-", "_"))
        for parameter in command_parameters(command.callback):
            for name in option_names(parameter):
                assert_words_of_the_field(name.lstrip("-").replace("-", "_"))


def test_every_setting_is_described():
    for group, field in Settings.model_fields.items():
        for key, setting in typing.cast(type[BaseModel], field.annotation).model_fields.items():
            assert setting.description, f"{group}.{key}"


def test_the_version_is_the_package_s():
    assert metacross.__version__ == version("metacross")


def test_dir_lists_what_is_public():
    assert set(PUBLIC) <= set(dir(metacross))
