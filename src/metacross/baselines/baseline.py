"""A system to compare with: what it needs, what it is made of, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metacross.baseline_settings import BASELINE_GROUPS
from metacross.baselines.resources import ResourceFiles, Resources, option_of
from metacross.errors import SettingsError
from metacross.settings import Settings

TARGET_TRAIN = "target_train"
"""The labeled target text among the needs of a system."""
LEXICON = "lexicon or vectors"
"""A lexicon among the needs of a system; word vectors of both languages make one."""

TRANSLATION = ("translation", "projection")
"""The groups of settings that translated text depends on: a lexicon is also made of parallel
text."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A system to compare with.

    ``needs`` are resources it cannot do without (``a or b``: one of two), ``uses`` are further ones
    that it profits from; ``target_train`` is a little labeled text of the target language.
    ``reads`` are the groups of settings that it reads, of those that only baselines have.
    ``made_of`` says honestly what it is. ``published`` are F1 scores on test sets that its authors
    report, by target, without labeled target text, with another encoder and other data: they are
    not reproduced here.
    """

    name: str
    cites: str
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    reads: tuple[str, ...]
    made_of: str
    published: tuple[tuple[str, float], ...] = ()
    is_random: bool = True

    @property
    def needs_target_train(self) -> bool:
        """Whether it cannot do without labeled target text."""
        return TARGET_TRAIN in self.needs

    @property
    def takes_target_train(self) -> bool:
        """Whether it learns labeled target text if there is some."""
        return TARGET_TRAIN in (*self.needs, *self.uses)

    def settings_read(self, settings: Settings) -> dict[str, Any]:
        """The groups that it reads, by name, as values for JSON."""
        return settings.model_dump(mode="json", include=set(self.reads))

    def with_defaults(self, settings: Settings) -> Settings:
        """Settings with the defaults of the groups that only other baselines read, which therefore
        cannot change it.
        """
        unread = [group for group in BASELINE_GROUPS if group not in self.reads]
        fields = Settings.model_fields
        defaults = {group: fields[group].get_default(call_default_factory=True) for group in unread}
        return settings.model_copy(update=defaults)

    def used(self, files: ResourceFiles) -> ResourceFiles:
        """The files that it needs or uses, of those that were given."""
        names = {name for need in (*self.needs, *self.uses) for name in need.split(" or ")}
        return files.model_copy(update={name: None for name in files.given() if name not in names})

    def missing(self, files: ResourceFiles, *, has_target_train: bool) -> list[str] | None:
        """The first need that no file was given for: resources of which one would do; None if
        nothing is missing.
        """
        given = {*files.given(), *([TARGET_TRAIN] if has_target_train else [])}
        choices = [need.split(" or ") for need in self.needs]
        if LEXICON in self.needs and "vectors" in given:  # a lexicon is made of two languages'
            choices.append(["lexicon", "source_vectors"])
        return next((names for names in choices if not given & set(names)), None)

    def check(self, resources: Resources, *, has_target_train: bool) -> None:
        """Refuse resources that lack one that it needs, and labeled target text that it would not
        learn.
        """
        if has_target_train and not self.takes_target_train:
            raise SettingsError(
                f"{option_of(TARGET_TRAIN)}: expected a baseline that uses it, found {self.name}; "
                "train without it, then fine-tune the model"
            )
        names = self.missing(resources.files, has_target_train=has_target_train)
        if names is not None:
            options = " or ".join(f"{option_of(name)} FILE" for name in names)
            needed = " or ".join(names).replace(TARGET_TRAIN, "labeled target text")
            needed = needed.replace("_", " ")
            raise SettingsError(
                f"baseline:{self.name}: expected {needed} for {resources.target_language}; "
                f"give {options}"
            )
