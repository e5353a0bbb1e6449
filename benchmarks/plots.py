"""Draws the results as SVG plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.tables import GROWTH_NAMES, GROWTH_VARIANTS, SIZE_NAMES, VARIANT_NAMES, WAY_NAMES

mpl.use("svg")
from matplotlib import pyplot as plt

_METACROSS_COLOR, _OTHER_COLOR = "#1b6ca8", "#b9c2cc"


def write_plots(results: Mapping[str, Any], folder: Path, figures: Path) -> None:
    """Write adaptation.svg, growth.svg and retrieval.svg, and ways.svg for the documentation."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "metacross", "svg.fonttype": "none"})
    _adaptation(results["adaptation"], folder / "adaptation.svg")
    _ways(results["end_to_end"], figures / "ways.svg")
    _growth(results["growth"], folder / "growth.svg")
    _retrieval(results["retrieval"], folder / "retrieval.svg")


def _adaptation(by_size: Mapping[str, Any], path: Path) -> None:
    figure, panels = plt.subplots(1, len(by_size), figsize=(9, 2.6), layout="constrained")
    for panel, (size, result) in zip(panels, by_size.items(), strict=True):
        names = [VARIANT_NAMES[name] for name in result["variants"]]
        values = [variant["milliseconds"] for variant in result["variants"].values()]
        colors = [_METACROSS_COLOR if name == "metacross" else _OTHER_COLOR for name in names]
        bars = panel.barh(names, values, color=colors)
        panel.bar_label(bars, [f"{value:.3g} ms" for value in values], padding=3)
        panel.invert_yaxis()
        panel.set_title(SIZE_NAMES[size], loc="left")
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.set_xlim(0, 1.25 * max(values))
    _save(figure, path)


def _ways(by_size: Mapping[str, Any], path: Path) -> None:
    figure, panels = plt.subplots(1, len(by_size), figsize=(9, 2.2), layout="constrained")
    for panel, (size, result) in zip(panels, by_size.items(), strict=True):
        names = [WAY_NAMES[way] for way in result["variants"]]
        values = [variant["ratio"] for variant in result["variants"].values()]
        colors = [
            _OTHER_COLOR if way == "plain" else _METACROSS_COLOR for way in result["variants"]
        ]
        bars = panel.barh(names, values, color=colors)
        panel.bar_label(bars, [f"{value:.2f}" for value in values], padding=3)
        panel.invert_yaxis()
        panel.set_title(f"{SIZE_NAMES[size]}: cost relative to plain", loc="left", fontsize=10)
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.set_xlim(0, 1.15 * max(values))
        if panel is not panels[0]:
            panel.set_yticklabels([])
    _save(figure, path)


def _growth(by_quantity: Mapping[str, Any], path: Path) -> None:
    figure, grid = plt.subplots(2, 2, figsize=(9, 5), layout="constrained")
    panels = grid.ravel()
    colors = (_OTHER_COLOR, "#8a6d3b", _METACROSS_COLOR, "#444444")
    for panel, (quantity, points) in zip(panels, by_quantity.items(), strict=False):
        for (name, label), color in zip(GROWTH_VARIANTS.items(), colors, strict=True):
            times = [
                (float(value), point[name]) for value, point in points.items() if name in point
            ]
            if times:
                panel.plot(*zip(*times, strict=True), "o-", color=color, label=label)
        panel.set_xlabel(GROWTH_NAMES[quantity])
        panel.set_ylim(bottom=0)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(by_quantity) :]:
        panel.set_axis_off()
    for panel in panels[::2]:
        panel.set_ylabel("ms per sentence")
    panels[0].legend(frameon=False)
    _save(figure, path)


def _retrieval(by_sentences: Mapping[str, Any], path: Path) -> None:
    figure, panel = plt.subplots(figsize=(5, 3), layout="constrained")
    sizes = [int(n) for n in by_sentences]
    for name, color in (("exact", _METACROSS_COLOR), ("faiss", _OTHER_COLOR)):
        times = [result["variants"][name]["milliseconds"] for result in by_sentences.values()]
        panel.loglog(sizes, times, "o-", color=color, label=name)
    panel.set_xlabel("source sentences")
    panel.set_ylabel("ms per query")
    panel.legend(frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:  # noqa: ANN401 - matplotlib's own types are loose
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
