"""Starts programs with torchrun."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def torchrun(n_processes, *arguments, cache) -> subprocess.CompletedProcess:
    """Start processes and wait for their end; ``cache`` is the folder for their vectors."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(n_processes), *map(str, arguments)]
    paths = os.pathsep.join([str(HERE), *sys.path])
    return subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": paths, "METACROSS_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def said(done: subprocess.CompletedProcess) -> list[str]:
    """The errors that metacross itself showed."""
    return [line for line in done.stderr.splitlines() if line.startswith("metacross: ")]
