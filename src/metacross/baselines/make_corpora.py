"""Makes labeled target text from files: what ``metacross translate`` and ``project`` do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metacross.adaptation.ner_model import NerModel
from metacross.baselines.maker_parts import MakerParts
from metacross.baselines.projection import ProjectedCorpus
from metacross.baselines.resources import ResourceFiles, Resources
from metacross.baselines.translation import TranslatedCorpus
from metacross.settings import Settings, validated
from metacross.text.sentence import Corpus


def translated_corpus(
    source: Corpus,
    *,
    target: str,
    resources: Mapping[str, str | Path],
    settings: Settings | None = None,
) -> TranslatedCorpus:
    """Translate a labeled corpus with a lexicon."""
    language = source[0].language
    return _parts(resources, settings, language, target).translator.translated(source)


def projected_corpus(
    model: NerModel,
    *,
    target: str,
    language: str | None,
    resources: Mapping[str, str | Path],
    settings: Settings | None = None,
) -> ProjectedCorpus:
    """Label the source side of parallel text and project the entities."""
    return _parts(resources, settings, language, target).projected(model)


def _parts(
    resources: Mapping[str, str | Path],
    settings: Settings | None,
    language: str | None,
    target: str,
) -> MakerParts:
    files = validated(ResourceFiles, {name: str(file) for name, file in resources.items()})
    available = Resources(files, source_language=language, target_language=target)
    return MakerParts(available, settings or Settings())
