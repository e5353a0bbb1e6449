"""Draws the results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.tables import SIZE_NAMES, WAY_NAMES

mpl.use("svg")
from matplotlib import pyplot as plt

_OURS, _OTHER = "#1b6ca8", "#b9c2cc"


def write_plots(results: Mapping[str, Any], folder: Path) -> None:
    """Write adaptation.svg, growth.svg and retrieval.svg."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "metacross", "svg.fonttype": "none"})
    _bars(results["adaptation"], folder / "adaptation.svg")
    _growth(results["growth"], folder / "growth.svg")
    _retrieval(results["retrieval"], folder / "retrieval.svg")


def _bars(found: Mapping[str, Any], path: Path) -> None:
    figure, panels = plt.subplots(1, len(found), figsize=(9, 2.6), layout="constrained")
    for panel, (size, own) in zip(panels, found.items(), strict=True):
        names = [WAY_NAMES[name] for name in own["ways"]]
        values = [way["milliseconds"] for way in own["ways"].values()]
        colors = [_OURS if name == "metacross" else _OTHER for name in names]
        bars = panel.barh(names, values, color=colors)
        panel.bar_label(bars, [f"{value:.3g} ms" for value in values], padding=3)
        panel.invert_yaxis()
        panel.set_title(SIZE_NAMES[size], loc="left")
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.set_xlim(0, 1.25 * max(values))
    _save(figure, path)


def _growth(found: Mapping[str, Any], path: Path) -> None:
    titles = {"k": "neighbors (K)", "length": "pieces of the sentence", "together": "together"}
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
    for panel, (key, title) in zip(panels, titles.items(), strict=True):
        values = [float(value) for value in found[key]]
        for name, color in (("textbook", _OTHER), ("engine", _OURS)):
            times = [own[name] for own in found[key].values()]
            panel.plot(values, times, "o-", color=color, label=WAY_NAMES[name])
        panel.set_xlabel(title)
        panel.set_ylim(bottom=0)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("ms a sentence")
    panels[0].legend(frameon=False)
    _save(figure, path)


def _retrieval(found: Mapping[str, Any], path: Path) -> None:
    figure, panel = plt.subplots(figsize=(5, 3), layout="constrained")
    sizes = [int(n) for n in found]
    for name, color in (("exact", _OURS), ("faiss", _OTHER)):
        times = [own["ways"][name]["milliseconds"] for own in found.values()]
        panel.loglog(sizes, times, "o-", color=color, label=name)
    panel.set_xlabel("source sentences")
    panel.set_ylabel("ms a query")
    panel.legend(frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:  # noqa: ANN401 - matplotlib's own types are loose
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
