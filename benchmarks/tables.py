"""Renders the results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SIZE_NAMES = {"mini": "bundled encoder", "mbert": "mBERT size"}
VARIANT_NAMES = {
    "released": "as in the released code",
    "textbook": "textbook loop",
    "fast": "metacross",
    "plain": "plain prediction, one by one",
    "normalized textbook": "textbook loop, normalized",
}
_MODE_NAMES = {"plain": "plain", "warm": "adapted, gradients recorded before", "cold": "adapted"}
PART_NAMES = {
    "all weights, adam": "all trained weights, Adam",
    "all weights": "all trained weights",
    "two layers": "the two topmost layers: `adaptation.layers=2`",
    "one layer": "the topmost layer: `adaptation.layers=1`",
    "vectors": "biases and norms: `adaptation.weights=vectors`",
    "classifier": "the classifier: `adaptation.layers=0`",
    "plain": "nothing: plain prediction",
}
WAY_NAMES = {
    "plain": "plain",
    "adam": "adapted, Adam",
    "normalized": "adapted, normalized steps",
    "to files": "adapted, normalized steps, gradients written to files",
    "from files": "adapted, normalized steps, gradients read from files",
    "one layer": "adapted, normalized steps, topmost layer",
}
GROWTH_NAMES = {
    "neighbors": "neighbors (K)",
    "length": "pieces in the sentence",
    "support": "pieces in the support",
    "batch_size": "sentences per batch",
}
GROWTH_VARIANTS = {
    "textbook": "textbook loop",
    "fast": "Adam",
    "normalized": "normalized",
    "plain": "plain, batched",
}
_MEMORY_NAMES = {
    "plain": "plain prediction",
    "adapted": "adapted prediction, Adam",
    "normalized": "adapted prediction, normalized steps",
    "textbook": "adapted prediction, textbook loop",
    "exact": "exact search",
    "faiss": "faiss search",
}


def as_markdown(results: Mapping[str, Any]) -> str:
    """All tables."""
    machine = results["machine"]
    blocks = [
        "# Benchmarks",
        f"Measured with `python -m benchmarks`, last on {results['date']}; parts can be of "
        f"different runs (`--only`). {machine['processor']}, "
        f"{machine['cores']} cores, torch {machine['torch']} with {machine['threads']} threads, "
        f"float32. Implementations of the same work take turns within one run. Each number is the "
        f"median of the repeats; the lowest and the highest are in parentheses. *mBERT size* has "
        f"random weights in the shape of multilingual BERT (12 layers of width 768, the lowest 3 "
        f"frozen). The sentences and their neighbors are those of the bundled corpus.",
        *_adaptation(results["adaptation"]),
        *_normalized(results["normalized"]),
        *_parts(results["parts"]),
        *_meta_training(results["meta_training"]),
        *_end_to_end(results["end_to_end"]),
        *(_source_growth(results["source_growth"]) if "source_growth" in results else ()),
        *_growth(results["growth"]),
        *_retrieval(results["retrieval"]),
        *_memory({**results["memory"], **results["memory_of_search"]}),
    ]
    return "\n\n".join(blocks) + "\n"


def _adaptation(by_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## Adapting to a sentence and labeling it, without retrieval"
    yield _variants_table(by_size)
    for size, result in by_size.items():
        yield (
            f"{SIZE_NAMES[size]}: {result['sentences']} sentences with "
            f"{result['mean_sentence_pieces']:.0f} pieces and supports with "
            f"{result['mean_support_pieces']:.0f} pieces on average. Of the 2 source sentences of "
            f"a support, {result['recorded_per_sentence']:.2f} were not in the gradient cache. "
            f"The logits differ from those of the textbook loop by at most "
            f"{result['max_logit_difference']:.1e}."
        )


def _normalized(by_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## The same with normalized steps, against plain prediction in batches"
    yield _against_plain(by_size, _MODE_NAMES, "mode")
    for size, result in by_size.items():
        yield (
            f"{SIZE_NAMES[size]}: {result['sentences']} sentences; "
            f"{result['recorded_per_sentence']:.2f} source sentences were recorded for each."
        )


def _parts(by_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## Adapting only a part of the weights, against plain prediction in batches"
    yield _against_plain(by_size, PART_NAMES, "what adapts")
    yield "Nothing was recorded before. All but the first row of a model have normalized steps."


def _against_plain(by_size: Mapping[str, Any], names: Mapping[str, str], heading: str) -> str:
    rows = [
        [
            SIZE_NAMES[size],
            names[name],
            f"{variant['milliseconds']:.1f}",
            "" if name == "plain" else _ratio(variant),
        ]
        for size, result in by_size.items()
        for name, variant in result["variants"].items()
    ]
    return _table(["model", heading, "ms", "relative to plain"], rows)


def _meta_training(by_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## One task of meta-training"
    yield _variants_table(by_size)
    for size, result in by_size.items():
        yield (
            f"{SIZE_NAMES[size]}: {result['inner_steps']} inner steps. metacross computes "
            f"{result['tasks_per_repeat']} tasks with normalized inner steps side by side; their "
            f"gradients differ from those of the textbook loop by at most "
            f"{result['max_gradient_difference']:.1e}; the largest gradient is "
            f"{result['max_gradient']:.1f}."
        )


def _variants_table(by_size: Mapping[str, Any]) -> str:
    rows = [
        [
            SIZE_NAMES[size],
            VARIANT_NAMES[name],
            f"{variant['milliseconds']:.1f}",
            "" if name == "fast" else _ratio(variant),
        ]
        for size, result in by_size.items()
        for name, variant in result["variants"].items()
    ]
    return _table(["model", "implementation", "ms", "relative to metacross"], rows)


def _ratio(variant: Mapping[str, float]) -> str:
    return (
        f"{variant['ratio']:.2f} ({variant['lowest_ratio']:.2f} to {variant['highest_ratio']:.2f})"
    )


def _end_to_end(by_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## Sentences per second, from words to entities"
    rows = [
        [
            SIZE_NAMES[size],
            WAY_NAMES[way],
            f"{1000 / variant['milliseconds']:.1f}",
            "" if way == "plain" else _ratio(variant),
        ]
        for size, result in by_size.items()
        for way, variant in result["variants"].items()
    ]
    yield _table(["model", "way", "sentences per second", "cost relative to plain"], rows)
    for size, result in by_size.items():
        yield (
            f"{SIZE_NAMES[size]}: {result['sentences']:,} sentences ({result['adam_sentences']:,} "
            f"with Adam), a source of {result['source_sentences']:,}. The bundled encoder makes "
            f"the sentence vectors. Source sentences that were recorded for each: "
            + ", ".join(
                f"{n:.2f} ({WAY_NAMES[way]})" for way, n in result["recorded_per_sentence"].items()
            )
            + "."
        )


def _source_growth(by_source_size: Mapping[str, Any]) -> Iterable[str]:
    yield "## The same as the source grows (bundled encoder, normalized steps)"
    rows = [
        [
            f"{int(n_source):,}",
            f"{result['recorded_per_sentence']:.2f}",
            _ratio(result["variants"]["normalized"]),
        ]
        for n_source, result in by_source_size.items()
    ]
    yield _table(["source sentences", "recorded per sentence", "cost relative to plain"], rows)


def _growth(by_quantity: Mapping[str, Any]) -> Iterable[str]:
    yield (
        "## Milliseconds per sentence as one quantity grows (bundled encoder, neighbors known, "
        "nothing recorded before)"
    )
    for quantity, points in by_quantity.items():
        variants = [name for name in GROWTH_VARIANTS if name in next(iter(points.values()))]
        rows = [
            [str(value), *(f"{times[variant]:.1f}" for variant in variants)]
            for value, times in points.items()
        ]
        yield _table([GROWTH_NAMES[quantity], *(GROWTH_VARIANTS[name] for name in variants)], rows)


def _retrieval(by_sentences: Mapping[str, Any]) -> Iterable[str]:
    yield "## Finding the two nearest sentences (vectors of width 768, 1,000 queries)"
    rows = []
    for n_sentences, result in by_sentences.items():
        variants = result["variants"]
        product = variants.get("matrix product")
        rows.append(
            [
                f"{int(n_sentences):,}",
                f"{variants['exact']['milliseconds']:.3f}",
                f"{1 / product['ratio']:.2f}" if product else "",
                f"{variants['faiss']['milliseconds']:.3f}",
                f"{result['faiss_recall']:.3f}",
                f"{result['faiss_build_seconds']:.1f}",
            ]
        )
    yield _table(
        [
            "source sentences",
            "exact, ms per query",
            "relative to the matrix product alone",
            "faiss, ms per query",
            "recall of faiss",
            "seconds to build the faiss index",
        ],
        rows,
    )
    yield "The vectors are synthetic: 2,000 clusters with a normal distribution in each."


def _memory(megabytes_by_work: Mapping[str, float]) -> Iterable[str]:
    yield "## Peak memory of a process"
    rows = []
    for work, megabytes in megabytes_by_work.items():
        kind, size, n_sentences = work.split()
        rows.append(
            [
                _MEMORY_NAMES[kind],
                SIZE_NAMES.get(size, ""),
                f"{int(n_sentences):,}",
                f"{megabytes:,.0f}",
            ]
        )
    yield _table(["work", "model", "sentences", "MB"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
