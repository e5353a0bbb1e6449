"""Keeps recorded gradients of source sentences in files, for later runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from metacross.errors import RunError
from metacross.model.tagger import Example
from metacross.text.atomic_files import atomic_path

_FORMAT = "1"
_SUFFIX = ".safetensors"
_KEPT = 0.9  # share of the limit that is left when files are removed


class GradientFiles:
    """Recorded gradients in a folder, one file for each source sentence.

    Several processes can use a folder at the same time. Above the limit the files that were not
    used for the longest time are removed.

    Args:
        folder: It is created.
        identity: Names everything that the gradients depend on except the sentence.
        max_bytes: Limit of the size of all files in the folder, of other models too.
    """

    def __init__(self, folder: Path, identity: str, *, max_bytes: int) -> None:
        self._root = folder
        self._folder = folder / hashlib.sha256(f"{_FORMAT} {identity}".encode()).hexdigest()[:32]
        self._max_bytes = max_bytes
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise RunError(
                f"run.gradient_folder: expected a folder that can be written, found {folder} "
                f"({problem.strerror})"
            ) from problem
        self._n_bytes = sum(size for _, size, _ in self._files())

    def read(self, example: Example) -> dict[str, Tensor] | None:
        """What was written for a sentence; None if there is nothing that can be read.

        The tensors are memory-mapped: copy them and let them go, so that the file can be removed.
        """
        path = self._path(example)
        try:
            tensors = load_file(path)
            path.touch()
        except (OSError, SafetensorError):
            return None
        return tensors

    def write(self, example: Example, tensors: Mapping[str, Tensor]) -> None:
        """Keep the gradients of a sentence. A full disk only means that they are not kept."""
        content = save({name: tensor.cpu().contiguous() for name, tensor in tensors.items()})
        if len(content) > self._max_bytes:
            return
        if self._n_bytes + len(content) > self._max_bytes:
            self._remove_oldest(len(content))
        try:
            with atomic_path(self._path(example)) as temporary:
                temporary.write_bytes(content)
        except OSError:
            return
        self._n_bytes += len(content)

    def _path(self, example: Example) -> Path:
        digest = hashlib.sha256(repr((example.windows, example.tag_ids)).encode())
        return self._folder / f"{digest.hexdigest()[:32]}{_SUFFIX}"

    def _files(self) -> list[tuple[float, int, Path]]:
        """When each file was last used, its size and its path; the oldest first."""
        files = []
        for path in self._root.glob(f"*/*{_SUFFIX}"):
            try:
                facts = path.stat()
            except OSError:  # removed by another process
                continue
            files.append((facts.st_mtime, facts.st_size, path))
        return sorted(files)

    def _remove_oldest(self, n_new: int) -> None:
        files = self._files()
        self._n_bytes = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._n_bytes + n_new <= _KEPT * self._max_bytes:
                return
            path.unlink(missing_ok=True)
            self._n_bytes -= size
