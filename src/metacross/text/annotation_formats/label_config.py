"""Reads and writes the labeling configuration of a Label Studio project."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from metacross.errors import DataError
from metacross.text.annotation_formats.label_studio import FROM_NAME, TO_NAME

_COLORS = {"PER": "#2e7d32", "LOC": "#0277bd", "ORG": "#b26a00", "MISC": "#8e24aa"}
_MAX_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class LabelConfig:
    """What a project labels: its names for regions and texts, the field of a task that has the
    text, and the label in the project for each name that a model may use for it.
    """

    from_name: str
    to_name: str
    field: str
    labels: dict[str, str]


def config_xml(labels: Sequence[str]) -> str:
    """The configuration for some labels.

    >>> print(config_xml(["LOC"]), end="")
    <View>
      <Labels name="label" toName="text">
        <Label value="LOC" background="#0277bd" />
      </Labels>
      <Text name="text" value="$text" />
    </View>
    """
    view = ElementTree.Element("View")
    choices = ElementTree.SubElement(view, "Labels", name=FROM_NAME, toName=TO_NAME)
    for label in labels:
        color = _COLORS.get(label)
        ElementTree.SubElement(
            choices, "Label", {"value": label, **({"background": color} if color else {})}
        )
    ElementTree.SubElement(view, "Text", name=TO_NAME, value="$text")
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def read_config(xml: str) -> LabelConfig:
    """Read a configuration: the first ``Labels`` of a ``Text``.

    >>> read_config(config_xml(["LOC"]))
    LabelConfig(from_name='label', to_name='text', field='text', labels={'LOC': 'LOC'})
    """
    if len(xml) > _MAX_CHARACTERS or re.search(r"<!(DOCTYPE|ENTITY)", xml, re.IGNORECASE):
        raise DataError("label_config: expected a short XML without a document type")
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise DataError(f"label_config: expected XML, found something else: {error}") from None
    fields = {
        text.get("name", ""): text.get("value", "").removeprefix("$") for text in root.iter("Text")
    }
    for choices in root.iter("Labels"):
        to_name = choices.get("toName", "")
        if fields.get(to_name):
            return LabelConfig(
                choices.get("name", ""), to_name, fields[to_name], _label_names(choices)
            )
    raise DataError("label_config: expected <Labels> for a <Text>, found none")


def _label_names(choices: ElementTree.Element) -> dict[str, str]:
    """The label that is stored, which ``alias`` replaces, for the value and for the alias."""
    names: dict[str, str] = {}
    for label in choices.iter("Label"):
        value, alias = label.get("value"), label.get("alias")
        stored = alias or value
        for name in (value, alias):
            if name and stored:
                names.setdefault(name, stored)
    return names
