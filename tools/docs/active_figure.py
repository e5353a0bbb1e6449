"""Draws F1 by the number of labeled sentences from the lines of a study of active learning.

python -m tools.docs.active_figure docs/results/mini-active.jsonl docs/figures/active.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

from metacross.study.active_results import ActiveResult
from metacross.study.report.active_report import ActiveGrid

mpl.use("svg")
from matplotlib import pyplot as plt

_COLORS = ("#1b6ca8", "#b5651d", "#4f8a3c", "#8e4585", "#c0392b", "#222222")


def draw(results: list[ActiveResult], path: Path, *, learning: str = "fine-tune") -> None:
    """A panel for each target and a line for each way of choosing, the mean of the seeds."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "metacross", "svg.fonttype": "none"})
    grid = ActiveGrid(tuple(results))
    figure, panels = plt.subplots(1, len(grid.targets), figsize=(9, 3.2), layout="constrained")
    for panel, target in zip(panels, grid.targets, strict=True):
        for way, color in zip(grid.ways, _COLORS, strict=False):
            means = {size: grid.mean(target, way, learning, size) for size in (0, *grid.sizes)}
            points = [(size, mean.mean) for size, mean in means.items() if mean is not None]
            style = "--" if way == "random" else "-"
            panel.plot(*zip(*points, strict=True), f"o{style}", color=color, label=way, ms=4)
        panel.set_title(target, loc="left")
        panel.set_xlabel("labeled sentences")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("F1 on dev")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text("utf-8").splitlines()
    draw([ActiveResult.model_validate_json(line) for line in lines], Path(sys.argv[2]))
