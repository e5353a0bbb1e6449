"""What target corpora are made with: links, lexicons, a translator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from metacross.adaptation.ner_model import NerModel
from metacross.baselines.encoder_alignment import EncoderAligner
from metacross.baselines.lexicon_induction import induced_lexicon
from metacross.baselines.projection import ProjectedCorpus, project
from metacross.baselines.resources import Resources
from metacross.baselines.translation import Translator
from metacross.baselines.word_alignment import align, learned_lexicon
from metacross.settings import Settings
from metacross.text.lexicon import Lexicon
from metacross.text.parallel_text import Links


@dataclass(frozen=True)
class MakerParts:
    """What corpora are made with: links, lexicons, a translator."""

    resources: Resources
    settings: Settings

    @cached_property
    def links(self) -> list[Links]:
        """The links of the parallel text, as given or made by ``projection.aligner``."""
        resources, settings = self.resources, self.settings
        if resources.given_links is not None:
            return resources.given_links
        if settings.projection.aligner == "encoder":
            aligner = EncoderAligner(
                settings.encoder,
                layers=settings.projection.encoder_layers,
                device=settings.run.device,
            )
            return aligner.align(resources.pairs)
        lexicon = resources.lexicon if resources.has("lexicon") else None
        return align(resources.pairs, lexicon=lexicon)

    @cached_property
    def gaps(self) -> Lexicon | None:
        """A lexicon learned from the parallel text; None if there is none."""
        if not self.resources.has("parallel"):
            return None
        return learned_lexicon(self.resources.pairs, self.links)

    @cached_property
    def lexicon(self) -> Lexicon:
        """The lexicon, as given or made of word vectors of both languages."""
        resources = self.resources
        if resources.has("lexicon") or not resources.has("vectors"):
            return resources.lexicon
        return induced_lexicon(resources.source_vectors, resources.vectors)

    @cached_property
    def translator(self) -> Translator:
        """Translates with a lexicon and, where given, raw and parallel text."""
        resources = self.resources
        return Translator(
            self.lexicon,
            self.settings.translation,
            language=resources.target_language,
            raw_text=resources.raw_text if resources.has("raw_text") else None,
            gaps=self.gaps,
        )

    def projected(self, model: NerModel) -> ProjectedCorpus:
        """The target side of the parallel text with the entities that a model finds in the source
        side, filtered.
        """
        pairs = self.resources.pairs
        stream = model.predict_stream([pair.source for pair in pairs])
        return project(
            [prediction.labeled for prediction in stream],
            [pair.target for pair in pairs],
            self.links,
            self.settings.projection,
            source_language=self.resources.source_language,
        )
