"""What requests and answers look like; the OpenAPI schema is made from it."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_NEIGHBORS = 16


def _language_code(code: str) -> str:
    """The one place where requests' language codes are checked."""
    if not _LANGUAGE.fullmatch(code):
        raise ValueError(f"expected a language code such as es, found {code[:40]!r}")
    return code


def _unicode_text(text: str) -> str:
    """Half of a surrogate pair is no character: no tokenizer and no UTF-8 file can hold it."""
    found = _SURROGATE.search(text)
    if found:
        raise ValueError(
            f"expected Unicode text, found half of a surrogate pair (U+{ord(found[0]):04X}) at "
            f"character {found.start()}; send the text as UTF-8"
        )
    return text


def _word(word: str) -> str:
    if not word.strip():
        raise ValueError(f"expected a word, found {word[:40]!r}")
    return word


Text: TypeAlias = Annotated[str, AfterValidator(_unicode_text)]
Word: TypeAlias = Annotated[
    str, Field(min_length=1), AfterValidator(_unicode_text), AfterValidator(_word)
]
Texts: TypeAlias = Annotated[list[Text], Field(fail_fast=True)]
Words: TypeAlias = Annotated[list[Word], Field(fail_fast=True)]
Language: TypeAlias = Annotated[
    str,
    AfterValidator(_unicode_text),
    AfterValidator(_language_code),
    Field(description="A language code such as es; it decides how text is split.", examples=["es"]),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PredictRequest(_Request):
    """Texts to find entities in."""

    texts: Texts | None = Field(
        None,
        description="Texts of any length; each is split into sentences.",
        examples=[["El Banco de España sube los tipos ."]],
    )
    words: Annotated[list[Words], Field(fail_fast=True)] | None = Field(
        None, description="Sentences that are split into words, instead of `texts`."
    )
    language: Language | None = None
    adapt: bool | None = Field(
        None, description="Whether to adapt to each sentence. Default: as the model was trained."
    )
    compare: bool = Field(False, description="Also give the entities without adaptation.")
    neighbors: int = Field(
        0, ge=0, le=MAX_NEIGHBORS, description="How many neighbors of each sentence to give."
    )
    word_offsets: bool = Field(False, description="Also give the words of each sentence.")

    @model_validator(mode="after")
    def _one_kind_of_text(self) -> PredictRequest:
        if (self.texts is None) == (self.words is None):
            found = "neither" if self.texts is None else "both"
            raise ValueError(f"expected either texts or words, found {found}")
        if self.compare and self.adapt is False:
            raise ValueError("expected adapt to be true or left out with compare, found false")
        return self


class WhyRequest(_Request):
    """A sentence to explain. It is not split into sentences."""

    text: Text | None = Field(None, examples=["El Banco de España sube los tipos ."])
    words: Words | None = Field(None, description="The words, instead of `text`.")
    language: Language | None = None

    @model_validator(mode="after")
    def _one_kind_of_text(self) -> WhyRequest:
        if (self.text is None) == (self.words is None):
            found = "neither" if self.text is None else "both"
            raise ValueError(f"expected either text or words, found {found}")
        return self


class StreamLine(_Request):
    """A line of `/v1/stream`: a text, or the words of a sentence."""

    text: Text | None = None
    words: Words | None = None
    language: Language | None = None
    id: str | int | None = Field(None, description="Given back in the answer to this line.")

    @model_validator(mode="after")
    def _one_kind_of_text(self) -> StreamLine:
        if (self.text is None) == (self.words is None):
            found = "neither" if self.text is None else "both"
            raise ValueError(f"expected either text or words, found {found}")
        return self


class StreamQuery(BaseModel):
    """How all lines of `/v1/stream` are labeled; the fields mean what they do in `/v1/predict`."""

    model_config = ConfigDict(extra="forbid")

    language: Language | None = None
    adapt: bool | None = None
    compare: bool = False
    neighbors: int = Field(0, ge=0, le=MAX_NEIGHBORS)

    @model_validator(mode="after")
    def _something_to_compare(self) -> StreamQuery:
        if self.compare and self.adapt is False:
            raise ValueError("expected adapt to be true or left out with compare, found false")
        return self


class ModelName(BaseModel):
    """Which model answered; `version` changes when its files do."""

    name: str
    version: str


class PlainLabel(BaseModel):
    """What the characters of an entity are without adaptation."""

    label: str
    score: float


class PlainEntity(BaseModel):
    """An entity; `start` and `end` are code points of the text, half-open."""

    start: int
    end: int
    label: str
    text: str
    score: float
    sentence: int = Field(description="The position of its sentence in `sentences`.")


class FoundEntity(PlainEntity):
    """An entity; with `compare`, `plain` is the entity of the same characters without adaptation,
    or null if there is none.
    """

    plain: PlainLabel | None = None


class NeighborSpan(BaseModel):
    """A labeled entity of a source sentence."""

    start_char: int
    end_char: int
    label: str


class FoundNeighbor(BaseModel):
    """A source sentence; its text and spans are left out by a server with `--hide-source`."""

    position: int
    similarity: float
    remembered: str | None = Field(
        None, description="The id of a remembered sentence; left out for source sentences."
    )
    text: str | None = None
    spans: list[NeighborSpan] | None = None


class FoundSentence(BaseModel):
    """A sentence of a text: its characters, the number of its windows, and what it learned from."""

    start: int
    end: int
    windows: int
    adapted: bool
    neighbors: list[FoundNeighbor] = Field(default=[], description="If they were asked for.")
    words: list[tuple[int, int]] | None = Field(
        None, description="Start and end of each word in the text, with `word_offsets`."
    )


class Result(BaseModel):
    """The entities of a text. `plain_entities` is there with `compare`: all entities without
    adaptation, also those that adaptation removed.
    """

    text: str
    entities: list[FoundEntity]
    plain_entities: list[PlainEntity] | None = None
    sentences: list[FoundSentence]


class PredictAnswer(BaseModel):
    """The results, in the order of the texts."""

    model: ModelName
    results: list[Result]


class CounterfactualAnswer(BaseModel):
    """The entities with some of the neighbors; `used` are positions in `neighbors`."""

    used: list[int]
    entities: list[PlainEntity]


class EntityReason(BaseModel):
    """What neighbors do to a range of characters. A label is null where there is no entity."""

    start: int
    end: int
    text: str
    label: str | None
    plain_label: str | None
    changed: bool = Field(description="Whether the label differs between counterfactuals.")
    why: str


class WhyAnswer(BaseModel):
    """A sentence with none, some and all of its neighbors."""

    model: ModelName
    text: str
    neighbors: list[FoundNeighbor]
    counterfactuals: list[CounterfactualAnswer]
    entities: list[EntityReason]


class LimitsAnswer(BaseModel):
    """What the server accepts in a request."""

    max_bytes: int
    max_stream_bytes: int
    max_texts: int
    max_characters: int
    queue_pieces: int
    seconds: float


class ModelAnswer(BaseModel):
    """What is served."""

    name: str
    version: str
    labels: list[str]
    adapts: bool = Field(description="Whether it adapts by default.")
    can_adapt: bool
    neighbors: int = Field(description="How many source sentences it adapts to.")
    source_sentences: int
    remembered_sentences: int
    learns: bool = Field(description="Whether it was started with --learn.")
    source_hidden: bool
    languages: list[str] = Field(description="Languages with splitting rules of their own.")
    default_language: str | None
    encoder: str
    recipe_digest: str
    metacross: str
    limits: LimitsAnswer


class StateAnswer(BaseModel):
    """The state of the server."""

    status: str


class Problem(BaseModel):
    """What is wrong with a request, and what to do."""

    code: str
    message: str
    where: str


class ProblemAnswer(BaseModel):
    """An error."""

    error: Problem
