"""What a server accepts: bytes, texts, characters, seconds and queued work."""

from __future__ import annotations

from dataclasses import dataclass, fields

from metacross.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; a request above one of them is refused and says which.

    Args:
        max_bytes: Bytes of a request, and of a line of ``/v1/stream``.
        max_texts: Texts of a request.
        max_characters: Characters of all texts of a request.
        queue_pieces: Word pieces of all requests that wait or are being labeled.
        seconds: Time from the arrival of a request to its answer.
    """

    max_bytes: int = 1_048_576
    max_texts: int = 256
    max_characters: int = 100_000
    queue_pieces: int = 65_536
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < float("inf"):
                option = "--" + field.name.replace("_", "-")
                raise SettingsError(f"{option}: expected more than 0, found {value}")

    @property
    def max_stream_bytes(self) -> int:
        """Bytes of a whole request of ``/v1/stream``."""
        return 64 * self.max_bytes
