"""Train on the bundled English sentences, then label a Spanish text: ``python quick_start.py``.

Takes about a minute on two CPU cores and needs no network.
"""

import argparse

import metacross


def main() -> None:
    """Train, predict, evaluate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="steps of meta-training")
    steps = parser.parse_args().steps

    short = {"steps": steps, "tasks_per_step": 4, "inner_steps": 1, "outer_learning_rate": 0.0015}
    model = metacross.train(
        metacross.bundled_corpus("en", "train"),
        dev=metacross.bundled_corpus("en", "dev"),
        recipe=metacross.load_settings("mini", {"meta": short}),
    )
    print(f"Trained for {', '.join(model.labels)}.")

    prediction = model.predict("El actor Luis Romero rodó la película en Lisboa.", language="es")
    for entity in prediction.entities:
        print(f"{entity.label}  {entity.score:.2f}  {entity.text}")
    for neighbor in prediction.sentences[0].neighbors:
        words = neighbor.sentence.words
        print(f"adapted to ({neighbor.similarity:.2f}): {' '.join(words)}")

    evaluation = model.evaluate(metacross.bundled_corpus("es", "test"))
    print(f"Spanish F1, plain: {evaluation.plain.overall.f1:.3f}")
    if evaluation.adapted is not None:
        print(f"Spanish F1, adapted: {evaluation.adapted.overall.f1:.3f}")


if __name__ == "__main__":
    main()
