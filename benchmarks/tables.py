"""Writes the results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SIZE_NAMES = {"mini": "bundled encoder", "mbert": "mBERT size"}
WAY_NAMES = {
    "released": "the released code's way",
    "textbook": "textbook loop",
    "engine": "metacross",
    "ours": "metacross",
    "plain": "plain prediction, one by one",
}


def as_markdown(results: Mapping[str, Any]) -> str:
    """All tables."""
    machine = results["machine"]
    parts = [
        "# Benchmarks",
        f"Measured with `make bench` on {results['date']}: {machine['processor']}, "
        f"{machine['cores']} cores, torch {machine['torch']} with {machine['threads']} threads, "
        f"float32. Ways to do the same thing take turns in one run; a figure is the median over "
        f"the repeats, in brackets the least and the most. *mBERT size* has random weights in the "
        f"shape of multilingual BERT (12 layers of 768, the lowest 3 frozen), sentences and their "
        f"neighbors are those of the bundled corpus.",
        *_adaptation(results["adaptation"]),
        *_meta_training(results["meta_training"]),
        *_end_to_end(results["end_to_end"]),
        *_growth(results["growth"]),
        *_retrieval(results["retrieval"]),
        *_memory(results["memory"]),
    ]
    return "\n\n".join(parts) + "\n"


def _adaptation(found: Mapping[str, Any]) -> Iterable[str]:
    yield "## Adapting to a sentence and labeling it, neighbors known"
    yield _ways_table(found, ours="engine")
    for size, own in found.items():
        yield (
            f"{SIZE_NAMES[size]}: {own['sentences']} sentences of "
            f"{own['pieces_of_a_sentence']:.0f} pieces, supports of "
            f"{own['pieces_of_a_support']:.0f}; "
            f"{own['recorded_for_each_sentence']:.2f} source sentences were recorded for each "
            f"sentence, of 2 used; logits differ from the textbook loop's by at most "
            f"{own['largest_difference_of_logits']:.1e}."
        )


def _meta_training(found: Mapping[str, Any]) -> Iterable[str]:
    yield "## A task of meta-training"
    yield _ways_table(found, ours="ours")
    for size, own in found.items():
        yield (
            f"{SIZE_NAMES[size]}: {own['inner_steps']} inner steps; the gradients differ from the "
            f"textbook loop's by at most {own['largest_difference_of_gradients']:.1e}, the largest "
            f"is {own['largest_gradient']:.1f}."
        )


def _ways_table(found: Mapping[str, Any], ours: str) -> str:
    rows = []
    for size, own in found.items():
        for name, way in own["ways"].items():
            ratio = "" if name == ours else _ratio(way)
            rows.append([SIZE_NAMES[size], WAY_NAMES[name], f"{way['milliseconds']:.1f}", ratio])
    return _table(["", "way", "ms", "times metacross's"], rows)


def _ratio(way: Mapping[str, float]) -> str:
    return (
        f"{way['times_ours']:.2f} ({way['lowest_times_ours']:.2f} to "
        f"{way['highest_times_ours']:.2f})"
    )


def _end_to_end(found: Mapping[str, Any]) -> Iterable[str]:
    yield "## Sentences a second, from words to entities"
    rows = [
        [SIZE_NAMES[size], name, f"{1000 / way['milliseconds']:.1f}", f"{way['times_ours']:.2f}"]
        for size, own in found.items()
        for name, way in own["ways"].items()
    ]
    yield _table(["", "", "sentences a second", "times the cost of plain"], rows)


def _growth(found: Mapping[str, Any]) -> Iterable[str]:
    yield "## How the cost of a sentence grows (bundled encoder, ms)"
    names = {
        "k": "neighbors (K)",
        "length": "pieces of the sentence",
        "together": "sentences that go through the network together",
    }
    for key, title in names.items():
        rows = [
            [str(value), f"{own['engine']:.1f}", f"{own['textbook']:.1f}"]
            for value, own in found[key].items()
        ]
        yield _table([title, "metacross", "textbook loop"], rows)


def _retrieval(found: Mapping[str, Any]) -> Iterable[str]:
    yield "## Finding the two nearest sentences (vectors of 768, 1,000 queries)"
    rows = []
    for n, own in found.items():
        ways = own["ways"]
        product = ways.get("product")
        rows.append(
            [
                f"{int(n):,}",
                f"{ways['exact']['milliseconds']:.3f}",
                f"{1 / product['times_ours']:.2f}" if product else "",
                f"{ways['faiss']['milliseconds']:.3f}",
                f"{own['recall_of_faiss']:.3f}",
                f"{own['seconds_to_build_faiss']:.1f}",
            ]
        )
    yield _table(
        [
            "source sentences",
            "exact, ms a query",
            "times the bare product",
            "faiss, ms a query",
            "recall of faiss",
            "s to build it",
        ],
        rows,
    )
    yield "The vectors are made up: 2,000 clusters, normally distributed within."


def _memory(found: Mapping[str, float]) -> Iterable[str]:
    yield "## Peak memory of a process (MB)"
    yield _table(["", "MB"], [[name, f"{own:,.0f}"] for name, own in found.items()])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
