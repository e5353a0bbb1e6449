"""Checks language codes."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from metacross.errors import SettingsError

_TAG = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]{1,8})*", re.IGNORECASE)
_CHINESE = ("zho", "chi", "cmn", "yue", "wuu", "hak", "nan", "lzh")
_SHORT_CODES = dict.fromkeys(_CHINESE, "zh") | {  # of the languages that a rule of ours depends on
    "cat": "ca",
    "eng": "en",
    "fra": "fr",
    "fre": "fr",
    "ita": "it",
    "jpn": "ja",
    "oci": "oc",
    "tha": "th",
}


def checked_language(code: str | None) -> str | None:
    """The code itself; raises an error if it names no language.

    Codes are those of ISO 639 with two or three letters, alone or as the start of a BCP 47 tag.

    >>> checked_language("zh-Hans"), checked_language("swa"), checked_language(None)
    ('zh-Hans', 'swa', None)
    """
    if code is not None and not is_language(code):
        raise SettingsError(
            "language: expected a language code (ISO 639 or BCP 47), such as es, swa or zh-Hans, "
            f"found {code!r}"
        )
    return code


def is_language(code: str) -> bool:
    """Whether a code names a language.

    >>> is_language("hsb"), is_language("english"), is_language("xx")
    (True, False, False)
    """
    tag = _TAG.fullmatch(code)
    return tag is not None and tag[1].lower() in _codes()


def primary_language(code: str | None) -> str | None:
    """The language of a code without script and region, with two letters where it matters.

    >>> primary_language("zh-Hans"), primary_language("cmn"), primary_language("EN_us")
    ('zh', 'zh', 'en')
    """
    if code is None:
        return None
    language = re.split("[-_]", code.lower(), maxsplit=1)[0]
    return _SHORT_CODES.get(language, language)


@cache
def _codes() -> frozenset[str]:
    """All codes of ISO 639-1, 639-2/B and 639-3."""
    file = resources.files("metacross") / "assets" / "language_codes.txt"
    lines = [line for line in file.read_text("ascii").splitlines() if not line.startswith("#")]
    with_three_letters = (line.split() for line in lines[1:])
    return frozenset(lines[0].split()).union(
        start + end for start, ends in with_three_letters for end in ends
    )
