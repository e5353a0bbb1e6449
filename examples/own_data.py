"""Train on your own CoNLL files and label raw text.

python own_data.py en/train.conll en/dev.conll es/test.conll text.txt --output models/en

The defaults take a few minutes on a CPU with the bundled encoder. For real results use the recipe
``paper`` with a large encoder, on a GPU: --recipe paper --encoder FacebookAI/xlm-roberta-base.
"""

import argparse
from pathlib import Path

import metacross


def main() -> None:
    """Read, train, save, load, evaluate, predict."""
    options = parsed_options()
    source = metacross.read_corpus(options.source, language="en")
    dev = metacross.read_corpus(options.dev, language="en")
    print(f"{len(source):,} sentences, {source.n_entities:,} entities: {source.entities_by_label}")

    recipe = metacross.load_settings(options.recipe, {"meta": {"steps": options.steps}})
    model = metacross.train(source, dev=dev, encoder=options.encoder, recipe=recipe)
    model.save(options.output)

    model = metacross.load(options.output)
    evaluation = model.evaluate(options.test)
    print(f"F1 plain {evaluation.plain.overall.f1:.3f}")
    if evaluation.adapted is not None and evaluation.comparison is not None:
        p_value = evaluation.comparison.p_value
        print(f"F1 adapted {evaluation.adapted.overall.f1:.3f}, p = {p_value:.3f}")

    texts = options.text.read_text("utf-8").splitlines()
    for prediction in model.predict([text for text in texts if text.strip()]):
        found = ", ".join(f"{entity.text} ({entity.label})" for entity in prediction.entities)
        print(f"{prediction.text}\n    {found or 'no entities'}")


def parsed_options() -> argparse.Namespace:
    """The files and the size of the training."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", help="labeled corpus to train on")
    parser.add_argument("dev", help="labeled corpus to choose the best weights by")
    parser.add_argument("test", help="labeled corpus of the target language")
    parser.add_argument("text", type=Path, help="raw text of the target language, a line each")
    parser.add_argument("--output", default="models/own", help="folder of the model")
    parser.add_argument("--recipe", default="mini")
    parser.add_argument("--encoder", default=None, help="hub name or folder; default: the recipe's")
    parser.add_argument("--steps", type=int, default=200, help="steps of meta-training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
