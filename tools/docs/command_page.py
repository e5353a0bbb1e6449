"""Describes every command with its arguments and options, as Markdown."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from typer.models import ArgumentInfo, OptionInfo

from metacross.cli.main import app

HEAD = """# Commands

This page is made from the program by `make docs`. `metacross COMMAND --help` prints the same.

Data goes to standard output. Progress and notes go to standard error. The exit code is 0, or 1 if
the input or a setting is wrong, or 2 if the command line cannot be parsed. `NO_COLOR=1` turns
colors off.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or option of a command. ``default`` is None where there is none to show."""

    name: str
    kind: type
    repeated: bool
    info: ArgumentInfo | OptionInfo
    required: bool
    default: object


def command_page() -> str:
    """The page: an overview, then a section for each command."""
    commands = {
        str(command.name): command.callback
        for command in app.registered_commands
        if command.callback is not None and not command.hidden
    }
    overview = ["| command | what it does |", "|---|---|"]
    overview += [
        f"| [`{name}`](#{name}) | {_first_sentence(function)} |"
        for name, function in commands.items()
    ]
    sections = [_section(name, function) for name, function in commands.items()]
    return "\n".join([HEAD, "\n".join(overview) + "\n", *sections])


def command_parameters(function: Callable[..., object]) -> list[Parameter]:
    """What a command takes, except what it hides."""
    parameters = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        annotation, info = typing.get_args(parameter.annotation)[:2]
        if info.hidden:
            continue
        kind, repeated = _kind(annotation)
        required = parameter.default is inspect.Parameter.empty
        default = None if required else parameter.default
        parameters.append(Parameter(name, kind, repeated, info, required, default))
    return parameters


def _kind(annotation: object) -> tuple[type, bool]:
    """The type of one value, and whether there may be several."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        annotation = next(a for a in typing.get_args(annotation) if a is not types.NoneType)
    if typing.get_origin(annotation) is list:
        return typing.get_args(annotation)[0], True
    return typing.cast(type, annotation), False


def _section(name: str, function: Callable[..., object]) -> str:
    parameters = command_parameters(function)
    arguments = [p for p in parameters if isinstance(p.info, ArgumentInfo)]
    options = [p for p in parameters if isinstance(p.info, OptionInfo)]
    usage = " ".join(["metacross", name, *map(_usage, arguments), "[OPTIONS]"])
    text = [f"## {name}", "", inspect.getdoc(function) or "", "", f"    {usage}", ""]
    if arguments:
        text += ["| argument | meaning |", "|---|---|", *map(_argument_row, arguments), ""]
    if options:
        text += ["| option | meaning | default |", "|---|---|---|", *map(_option_row, options), ""]
    return "\n".join(text)


def _first_sentence(function: Callable[..., object]) -> str:
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.)\s", paragraph)[0]


def _usage(argument: Parameter) -> str:
    name = _display_name(argument)
    repeated = f"{name}..." if argument.repeated else name
    return repeated if argument.required else f"[{repeated}]"


def _display_name(argument: Parameter) -> str:
    return (argument.info.metavar or argument.name.upper()).strip("[]")


def _argument_row(argument: Parameter) -> str:
    suffix = "" if argument.default is None else f" Default: `{_written(argument.default)}`."
    return f"| `{_display_name(argument)}` | {_cell(argument.info.help)}{suffix} |"


def _option_row(option: Parameter) -> str:
    names = " ".join(f"`{name}`" for name in option_names(option))
    value = "" if option.kind is bool else f" {_value_name(option)}"
    shown = option.default is not None and option.default is not False
    default = f"`{_written(option.default)}`" if shown else ""
    return f"| {names}{value} | {_cell(option.info.help)} | {default} |"


def option_names(option: Parameter) -> list[str]:
    """The spellings of an option, such as ``--adapt`` and ``--no-adapt``."""
    # Inside Annotated, typer keeps the first spelling where a default would be.
    declared = [option.info.default, *(option.info.param_decls or ())]
    spellings = [spelling for spelling in declared if isinstance(spelling, str)]
    if not spellings:
        dashed = option.name.replace("_", "-")
        spellings = [f"--{dashed}/--no-{dashed}" if option.kind is bool else f"--{dashed}"]
    return [name for spelling in spellings for name in spelling.split("/")]


def _value_name(option: Parameter) -> str:
    if isinstance(option.kind, type) and issubclass(option.kind, Enum):
        return " or ".join(f"`{choice.value}`" for choice in option.kind)
    names = {"str": "TEXT", "int": "N", "float": "NUMBER", "Path": "PATH"}
    return f"`{option.info.metavar or names.get(option.kind.__name__, 'VALUE')}`"


def _written(value: object) -> str:
    if value is True:
        return "yes"
    return str(value.value if isinstance(value, Enum) else value)


def _cell(text: str | None) -> str:
    return (text or "").replace("|", r"\|").replace("\n", " ")
