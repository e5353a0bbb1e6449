"""Turns the validation errors of pydantic into one error that says what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from metacross.serving.problems import RequestProblem

_EXPECTED = {
    "string_type": "a string",
    "list_type": "a list",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "dict_type": "a JSON object",
    "model_type": "a JSON object",
    "model_attributes_type": "a JSON object",
    "string_too_short": "at least one character",
}


def validation_problem(
    errors: Sequence[Mapping[str, Any]], model: type[BaseModel] | None = None
) -> RequestProblem:
    """The first of pydantic's errors; ``model`` has the fields that a request may have."""
    error = errors[0]
    location = [str(part) for part in error["loc"] if part not in ("body", "query")]
    where = ".".join(location) or "body"
    return RequestProblem(422, _code(error["type"]), _message(error, model), where=where)


def _code(kind: str) -> str:
    return {"extra_forbidden": "unknown_field", "missing": "missing_field"}.get(
        kind, "invalid_value"
    )


def _message(error: Mapping[str, Any], model: type[BaseModel] | None) -> str:
    kind, value = error["type"], error.get("input")
    limits = error.get("ctx", {})
    if kind == "missing":
        return "expected a JSON object, found no body" if error["loc"] == ("body",) else "missing"
    if kind == "extra_forbidden":
        fields = ", ".join(model.model_fields) if model is not None else "those of /openapi.json"
        return f"unknown field; expected only {fields}"
    if kind == "value_error":
        return str(error["msg"]).removeprefix("Value error, ")
    if kind == "greater_than_equal":
        return f"expected at least {limits['ge']}, found {_number(value)}"
    if kind == "less_than_equal":
        return f"expected at most {limits['le']}, found {_number(value)}"
    expected = _EXPECTED.get(kind)
    if expected is None:
        message = str(error["msg"])
        return message[:1].lower() + message[1:]
    return f"expected {expected}, found {found_kind(value)}"


def _number(value: object) -> str:
    """A number; in the query of a request it is a string."""
    return value[:20] if isinstance(value, str) else found_kind(value)


def found_kind(value: object) -> str:
    """What a JSON value is, in words; no long value is repeated.

    >>> found_kind(None), found_kind(True), found_kind(1.5), found_kind([1]), found_kind("yes")
    ('null', 'true', '1.5', 'a list', "'yes'")
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value) if abs(value) < 10**15 else "a huge number"
    if isinstance(value, str):
        shown = value if len(value) <= 20 else value[:20] + "…"
        return repr(shown).encode("ascii", "backslashreplace").decode()
    return "a list" if isinstance(value, list) else "a JSON object"
