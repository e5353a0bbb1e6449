"""``metacross project``: make labeled target text from parallel text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metacross.cli import output
from metacross.cli.model_options import DeviceOption, ModelArgument, load_model
from metacross.cli.options import JsonOption
from metacross.cli.resource_options import AlignmentsOption, LexiconOption
from metacross.settings import load_settings
from metacross.text.language_codes import checked_language
from metacross.text.writing import write_corpus


def project_command(
    model: ModelArgument,
    parallel: Annotated[
        str,
        typer.Argument(
            metavar="PARALLEL", help="Source sentence, TAB, target sentence; or two files: A,B."
        ),
    ],
    target_file: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write: JSON lines if .jsonl, else CoNLL.")
    ],
    *,
    target: Annotated[
        str, typer.Option(help="Code of the target language.", callback=checked_language)
    ],
    language: Annotated[
        str | None, typer.Option(help="Code of the source language.", callback=checked_language)
    ] = None,
    alignments: AlignmentsOption = None,
    lexicon: LexiconOption = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting: projection.min_quality=0.8. Repeatable."),
    ] = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Label the source side of parallel text with a model and project the entities to the target.

    Words are aligned by IBM model 1, by an encoder (--set projection.aligner=encoder), or as
    --alignments says. Sentences of doubtful quality are left out.
    """
    from metacross.baselines.make_corpora import projected_corpus

    files = {"parallel": parallel, "alignments": alignments, "lexicon": lexicon}
    labeler = load_model(model, device=device, overrides=None)
    made = projected_corpus(
        labeler,
        target=target,
        language=language,
        resources={name: file for name, file in files.items() if file is not None},
        settings=load_settings("paper", set_ or ()),
    )
    write_corpus(made.corpus, target_file)
    if as_json:
        output.show_json(
            {
                "file": str(target_file),
                "pairs": made.n_pairs,
                "sentences": len(made.corpus),
                "entities": made.corpus.n_entities,
            }
        )
        return
    output.show_plain(
        f"{target_file}: kept {len(made.corpus):,} of {made.n_pairs:,} sentences, "
        f"{made.corpus.n_entities:,} entities"
    )
