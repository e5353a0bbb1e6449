"""Writes the model card: the README.md of a model folder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from metacross.model.baseline_record import BaselineFacts
from metacross.model.training_facts import TrainingFacts
from metacross.settings import Settings
from metacross.text.sentence import Corpus

CARD = "README.md"
HUB = "hub:"
MARK = "<!-- Written by metacross. `metacross card` writes it again; edit only the notes. -->"
NOTES = "<!-- Notes: metacross keeps everything below this line. -->"
UNKNOWN_LICENSE = "unknown"
_TASK = {"type": "token-classification", "name": "Named-entity recognition"}
_MAX_EXAMPLES, _LONGEST_EXAMPLE = 3, 40
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a model folder says of itself. ``facts`` is None where it says nothing of its training.

    ``has_datastore`` says whether the source sentences are in the folder. ``tagger`` is the kind of
    the tagger; None: an encoder with a linear layer. ``baseline`` is None for models that are not
    systems to compare with.
    """

    labels: tuple[str, ...]
    adapts: bool
    has_datastore: bool
    settings: Settings
    facts: TrainingFacts | None
    tagger: str | None = None
    baseline: BaselineFacts | None = None


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Mean F1 over seeds, between 0 and 1; ``deviation`` is None where there is one seed."""

    mean: float
    deviation: float | None

    @property
    def text(self) -> str:
        """In points.

        >>> MeanScore(0.4971, 0.0089).text
        '49.7 ± 0.9'
        """
        deviation = "" if self.deviation is None else f" ± {100 * self.deviation:.1f}"
        return f"{100 * self.mean:.1f}{deviation}"


@dataclass(frozen=True, slots=True)
class LanguageResult:
    """The F1 of this model's recipe on a target, over seeds.

    ``adapted`` is None if the model does not adapt, ``p_value`` (adapted against plain) where it
    was not tested. ``digest`` is that of the target corpus.
    """

    target: str
    digest: str
    seeds: tuple[int, ...]
    plain: MeanScore
    adapted: MeanScore | None
    p_value: float | None

    @property
    def f1(self) -> float:
        """F1 of the model as it is used: adapted where it adapts."""
        return (self.adapted or self.plain).mean


@dataclass(frozen=True, slots=True)
class CardContent:
    """What a card says besides the model's own facts. Licenses are None where nobody gave them.

    ``examples`` are entities of the source corpus by label. ``notes`` are the user's own text.
    """

    license: str | None = None
    source_license: str | None = None
    datasets: tuple[str, ...] = ()
    results: tuple[LanguageResult, ...] = ()
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: str = ""


def card_text(model: ModelDescription, content: CardContent, *, location: str) -> str:
    """The card. ``location`` is what a user passes to ``metacross.load``."""
    front_matter = yaml.dump(
        _front_matter(model, content, location),
        Dumper=_PlainDumper,
        sort_keys=False,
        allow_unicode=True,
    )
    body = _templates().get_template("model_card.md.jinja")
    return body.render(
        front_matter=front_matter,
        mark=MARK,
        notes_mark=NOTES,
        model=model,
        facts=model.facts,
        settings=model.settings,
        content=content,
        location=location,
        name=_name(location),
        measured=_seeds_text(content),
    )


def entity_examples(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    """The most frequent entities of each label, a few; long ones are left out.

    >>> from metacross.text.bundled_corpus import bundled_corpus
    >>> entity_examples(bundled_corpus("en", "train"))["LOC"][0]
    'Pakistan'
    """
    counts: dict[str, Counter[str]] = {}
    for sentence in corpus:
        for span in sentence.spans or ():
            text = " ".join(sentence.words_of(span))
            if len(text) <= _LONGEST_EXAMPLE:
                counts.setdefault(span.label, Counter())[text] += 1
    return {
        label: tuple(text for text, _ in counter.most_common(_MAX_EXAMPLES))
        for label, counter in counts.items()
    }


class _PlainDumper(yaml.SafeDumper):
    """Writes a value that occurs twice a second time, instead of a reference to the first."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _front_matter(model: ModelDescription, content: CardContent, location: str) -> dict[str, Any]:
    facts = model.facts
    values: dict[str, Any] = {
        "language": _languages(facts, content),
        "license": content.license or UNKNOWN_LICENSE,
        "library_name": "metacross",
        "pipeline_tag": "token-classification",
        "tags": ["named-entity-recognition", "cross-lingual", "metacross"],
        "base_model": facts.encoder if facts and facts.encoder_origin == "hub" else None,
        "datasets": _datasets(facts, content),
        "source_license": content.source_license,
        "model-index": _model_index(facts, content, location),
    }
    return {key: value for key, value in values.items() if value}


def _languages(facts: TrainingFacts | None, content: CardContent) -> list[str]:
    corpora = (facts.source, facts.fine_tuned_on) if facts else ()
    languages = [corpus.language for corpus in corpora if corpus and corpus.language]
    languages += [result.target for result in content.results]
    return [code for code in dict.fromkeys(languages) if _LANGUAGE_CODE.fullmatch(code)]


def _datasets(facts: TrainingFacts | None, content: CardContent) -> list[str]:
    corpora = (facts.source, facts.fine_tuned_on) if facts else ()
    from_hub = [corpus.hub_dataset for corpus in corpora if corpus and corpus.hub_dataset]
    return list(dict.fromkeys([*from_hub, *content.datasets]))


def _model_index(
    facts: TrainingFacts | None, content: CardContent, location: str
) -> list[dict[str, Any]]:
    results = [_target_entry(result) for result in content.results]
    if facts and facts.dev and facts.dev_f1 is not None:
        args = {"role": "dev", "digest": facts.dev.digest}
        dataset = {"name": f"{facts.dev.name} (dev)", "type": facts.dev.name, "args": args}
        metric = _metric("plain", MeanScore(facts.dev_f1, None), {})
        results.append({"task": _TASK, "dataset": dataset, "metrics": [metric]})
    return [{"name": _name(location), "results": results}] if results else []


def _target_entry(result: LanguageResult) -> dict[str, Any]:
    seeds = {"seeds": list(result.seeds)}
    metrics = [_metric("plain", result.plain, seeds)]
    if result.adapted is not None:
        p_value = {} if result.p_value is None else {"p_value": round(result.p_value, 6)}
        metrics.append(_metric("adapted", result.adapted, seeds | p_value))
    dataset = {
        "name": result.target,
        "type": result.target,
        "args": {"role": "target", "digest": result.digest},
    }
    return {"task": _TASK, "dataset": dataset, "metrics": metrics}


def _metric(mode: str, score: MeanScore, args: Mapping[str, Any]) -> dict[str, Any]:
    deviation = {} if score.deviation is None else {"deviation": round(score.deviation, 6)}
    return {
        "type": "f1",
        "value": round(score.mean, 6),
        "name": f"F1, {mode}",
        "args": {"mode": mode, **args, **deviation},
    }


def _seeds_text(content: CardContent) -> str:
    seeds = sorted({seed for result in content.results for seed in result.seeds})
    listed = ", ".join(map(str, seeds))
    return f"seed {listed}" if len(seeds) == 1 else f"mean ± standard deviation over seeds {listed}"


def _name(location: str) -> str:
    return location.removeprefix(HUB).rstrip("/").rpartition("/")[2] or location


@cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader(__package__),
        autoescape=False,  # Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["cell"] = _cell
    templates.filters["p_value"] = _p_value_text
    return templates


def _cell(text: str) -> str:
    r"""A text inside a table of Markdown.

    >>> print(_cell("a|b\n<i>"))
    a\|b &lt;i&gt;
    """
    for before, after in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(before, after)
    return " ".join(text.split())


def _p_value_text(p_value: float | None) -> str:
    if p_value is None:
        return "not tested"
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}" + ("" if p_value < 0.05 else " n.s.")
