"""Shows findings of ``metacross check``: problems, doubtful labels, harmful source sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from metacross.cli import output
from metacross.text.corpus_findings import Finding, Level, surface_of
from metacross.text.sentence import Corpus, Sentence, Span

if TYPE_CHECKING:
    from metacross.adaptation.label_suspects import Suspect
    from metacross.adaptation.ner_model import NerModel
    from metacross.adaptation.source_effects import SourceEffect

_SHOWN = 10  # findings of one kind
_SURE = 0.9  # a doubt above which a suspect is a warning


@dataclass(frozen=True, slots=True)
class ModelFindings:
    """What a model finds in labeled corpora."""

    suspects: Sequence[Suspect]
    effects: Sequence[SourceEffect]


def model_findings(model: NerModel, corpora: Sequence[Corpus], max_sentences: int) -> ModelFindings:
    """Look for doubtful labels and harmful source sentences in evenly spread sentences."""
    from metacross.adaptation.label_suspects import find_suspects
    from metacross.adaptation.language_report import spread_sample
    from metacross.adaptation.source_effects import source_effects
    from metacross.cli.progress import counting

    sentences = [
        sentence
        for corpus in corpora
        for sentence in spread_sample(corpus.only_labeled().sentences, max_sentences)
    ]
    with counting("doubtful labels", len(sentences)) as count:
        suspects = find_suspects(model, sentences, progress=count)
    with counting("source sentences", len(sentences)) as count:
        effects = source_effects(model, sentences, progress=count) if model.adapts else []
    return ModelFindings(suspects, effects)


def suspect_finding(suspect: Suspect) -> Finding:
    """A suspect as a finding: a warning if the model is sure."""
    level = Level.WARNING if suspect.doubt >= _SURE else Level.NOTE
    gold, predicted = (
        _spans(suspect.sentence, spans) for spans in (suspect.gold, suspect.predicted)
    )
    message = f"gold {gold}, the model finds {predicted} (doubt {suspect.doubt:.2f})"
    if suspect.neighbors:
        from metacross.adaptation.proposals import bracketed

        learned_from = bracketed(suspect.neighbors[0].sentence)[:100]
        message += f"; learned from: {learned_from}"
    return Finding(level, "doubtful label", suspect.sentence.place, message)


def effect_finding(effect: SourceEffect) -> Finding:
    """A harmful source sentence as a finding."""
    from metacross.adaptation.proposals import bracketed

    source = effect.neighbor.remembered
    name = (
        f"remembered sentence {source}" if source else f"source sentence {effect.neighbor.position}"
    )
    message = (
        f"turns {effect.harmed} right entities wrong and {effect.helped} wrong ones right, in "
        f"{effect.used} sentences (as in {', '.join(effect.examples)}): "
        f"{bracketed(effect.neighbor.sentence)[:100]}"
    )
    return Finding(Level.NOTE, "harmful source sentence", name, message)


def _spans(sentence: Sentence, spans: Sequence[Span]) -> str:
    return ", ".join(f"{span.label} {surface_of(sentence, span)!r}" for span in spans) or "nothing"


def show_findings(findings: Sequence[Finding]) -> None:
    """Print the first findings of each kind, and how many there are."""
    if not findings:
        output.show_plain("No findings.")
        return
    for (level, kind), group in groupby(findings, key=lambda f: (f.level, f.kind)):
        listed = list(group)
        output.show_plain(f"{level}: {kind} ({len(listed):,})")
        for finding in listed[:_SHOWN]:
            output.show_plain(f"  {finding.place}: {finding.message}")
        if len(listed) > _SHOWN:
            output.show_plain(f"  and {len(listed) - _SHOWN:,} more; --json lists all")


def findings_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Findings as JSON."""
    return [
        {"level": str(f.level), "kind": f.kind, "place": f.place, "message": f.message}
        for f in findings
    ]
