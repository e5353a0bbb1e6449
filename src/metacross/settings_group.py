"""What all groups of settings have in common."""

from __future__ import annotations

from typing import TypeVar

import yaml
from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """A group of settings: immutable, and strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def as_yaml(self) -> str:
        """The group as YAML that reads back equal."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


Group = TypeVar("Group", bound=SettingsGroup)
