"""The report of a study: its figures against ones worked out by hand, and its form."""

import hashlib
import itertools
import random
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from metacross.errors import DataError
from metacross.metrics.scoring import counts_by_sentence, score
from metacross.metrics.significance import compare, f1
from metacross.study.paper_results import paper_row
from metacross.study.predictions import StoredPredictions, compared_modes, compared_systems
from metacross.study.report import write_report
from metacross.study.report.cases import MOST_CASES, cases_of, target_cases
from metacross.study.report.learning_curves import mean_curve
from metacross.study.report.line_chart import apart, line_chart, ticks
from metacross.study.report.neighbor_table import quarters_of
from metacross.study.report.number_format import p_text, spread_entry
from metacross.study.report.score_tables import difference_table, score_table
from metacross.study.report.selection_table import Choices, mean_choices
from metacross.study.report.type_tables import mean_type_f1
from metacross.study.results import (
    Result,
    SentencePredictions,
    StudyFolder,
    TrainingSummary,
    counts_of,
)
from metacross.study.statistics import ResultsGrid, Spread, average, spread
from metacross.text.sentence import Corpus, Sentence, Span

TYPES = ("PER", "LOC", "ORG")
SOURCE = Corpus(
    tuple(
        Sentence((f"Name{number}", "<spoke>", "."), (Span(0, 1, "PER"),), "en")
        for number in range(10)
    )
)
FACTS = TrainingSummary(
    folder="runs/some",
    seconds=120.0,
    best_step=20,
    validations=((10, 0.5), (20, 0.7), (30, 0.6)),
    target_validations={"es": ((10, 0.40), (20, 0.30), (30, 0.35))},
    losses=((10, 1.0), (20, 0.5), (30, 0.25)),
)


def digest_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


def gold_corpus(language, n_sentences=60):
    """Sentences of four words of which the first and the third are entities now and then."""
    rng, sentences = random.Random(language), []
    for number in range(n_sentences):
        spans = [
            Span(start, start + 1, rng.choice(TYPES)) for start in (0, 2) if rng.random() < 0.7
        ]
        words = (f"Uno{number}", "dos", "Tres&", "cuatro")
        sentences.append(Sentence(words, tuple(spans), language))
    return Corpus(tuple(sentences))


def guessed(gold, quality, rng):
    """Entities of which about a fraction of ``quality`` is right."""
    spans = [
        span if rng.random() < quality else replace(span, label=rng.choice(TYPES))
        for span in gold.spans
        if rng.random() < 0.95
    ]
    return tuple(spans)


def labeled(gold, qualities, rng):
    return [
        SentencePredictions(
            {mode: guessed(sentence, quality, rng) for mode, quality in qualities.items()},
            tuple((rng.randrange(len(SOURCE)), round(rng.random(), 4)) for _ in range(2)),
        )
        for sentence in gold
    ]


def cell_of(gold, sentences, *, system, seed=0, fraction=0.0, training=FACTS):
    target = gold[0].language
    modes = {
        mode: counts_of(score(gold, predicted_corpus(gold, sentences, mode)))
        for mode in sentences[0].spans
    }
    return Result(
        key=f"{system}-{seed}-{target}-{fraction}",
        system=system,
        seed=seed,
        target=target,
        fraction=fraction,
        labels=TYPES,
        reported_mode="adapted" if "adapted" in modes else "plain",
        modes=modes,
        training=training,
        seconds=12.0,
        digests={
            "source corpus": digest_of("source"),
            "dev corpus": digest_of("dev"),
            "target corpus": digest_of(target),
            "encoder": digest_of("encoder"),
        },
        versions={"metacross": "0.1", "torch": "2.4"},
        machine="a machine",
        recipe={"run": {"method": "meta", "seed": seed}, "loss": {"max_weight": 2.0}},
    )


def predicted_corpus(gold, sentences, mode):
    pairs = zip(gold, sentences, strict=True)
    return Corpus(tuple(replace(sentence, spans=own.spans[mode]) for sentence, own in pairs))


QUALITIES = {
    "base": {"plain": 0.6},
    "ours": {"plain": 0.7, "adapted": 0.9},
    "without-masking": {"plain": 0.65, "adapted": 0.6},
}


def made_up_study(folder, *, keep=True, exclude=(), seeds=(0, 1)):
    """Three systems on Spanish and Chinese, zero-shot and with 2%; ``exclude`` names results as
    (fraction, system, target, seed), ``keep`` False keeps the results only.
    """
    study = StudyFolder(folder)
    rng = random.Random(1)
    study.folder.mkdir(parents=True, exist_ok=True)
    if keep:
        study.add_corpus(digest_of("source"), SOURCE)
    for fraction in (0.0, 0.02):
        for target in ("es", "zh"):
            gold = gold_corpus(target)
            if keep:
                study.add_corpus(digest_of(target), gold)
            for system, qualities in QUALITIES.items():
                for seed in seeds:
                    sentences = labeled(gold, qualities, rng)
                    training = FACTS.model_copy(update={"folder": f"runs/{system}-{seed}"})
                    result = cell_of(
                        gold,
                        sentences,
                        system=system,
                        seed=seed,
                        fraction=fraction,
                        training=training,
                    )
                    if (fraction, system, target, seed) not in exclude:
                        study.add(result, sentences)
    if not keep:
        for path in (study.folder / "predictions").iterdir():
            path.unlink()
    return study


def found_cell(study, system, target, seed, fraction=0.0):
    place = (system, target, seed, fraction)
    return next(c for c in study.results() if (c.system, c.target, c.seed, c.fraction) == place)


def f1_by_hand(result, mode=None):
    counts = result.modes[mode or result.reported_mode].values()
    correct, predicted, gold = (
        sum(getattr(own, name) for own in counts) for name in ("correct", "predicted", "gold")
    )
    return 200 * correct / (predicted + gold)


def row_of(table, name):
    return next(row for row in table.rows if row.name == name)


def texts(row):
    return [entry.text for entry in row.entries]


# Scores


def test_a_score_is_the_mean_and_the_sample_s_deviation_over_seeds(tmp_path):
    study = made_up_study(tmp_path)
    table = score_table(ResultsGrid.of(study.results()), 0.0)
    assert table.headings == ("system", "es", "zh", "average")
    by_target = {}
    for target in ("es", "zh"):
        f1s = [f1_by_hand(found_cell(study, "ours", target, seed)) for seed in (0, 1)]
        by_target[target] = f1s
        expected = f"{np.mean(f1s):.1f} ± {np.std(f1s, ddof=1):.1f}"
        assert texts(row_of(table, "ours"))[("es", "zh").index(target)] == expected
    averages = np.mean([by_target["es"], by_target["zh"]], axis=0)
    expected = f"{averages.mean():.1f} ± {averages.std(ddof=1):.1f}"
    assert texts(row_of(table, "ours"))[2] == expected


def test_one_seed_has_no_spread(tmp_path):
    study = made_up_study(tmp_path, seeds=(3,))
    table = score_table(ResultsGrid.of(study.results()), 0.0)
    expected = f"{f1_by_hand(found_cell(study, 'base', 'es', 3)):.1f}"
    assert texts(row_of(table, "base"))[0] == expected
    assert "±" not in (write_report(study, "t").parent / "report.md").read_text()


def test_the_paper_s_figures_stand_under_the_same_system_setting_and_target(tmp_path):
    grid = ResultsGrid.of(made_up_study(tmp_path).results())
    zero_shot, low = score_table(grid, 0.0), score_table(grid, 0.02)
    names = [row.name for row in zero_shot.rows]
    assert names[2:4] == ["ours", "ours, paper (mBERT; its test sets)"]
    assert texts(zero_shot.rows[3]) == ["76.75", "77.89", f"{(76.75 + 77.89) / 2:.2f}"]
    assert texts(zero_shot.rows[5])[:2] == ["75.57", "77.79"]  # without masking
    assert texts(low.rows[1])[:2] == ["77.28", "81.86"]
    assert [row.name for row in low.rows].count("without-masking") == 1
    assert not any("without-masking, paper" in row.name for row in low.rows)


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.02, 0.05])
@pytest.mark.parametrize("system", ["base", "ours"])
def test_the_paper_s_printed_averages_are_those_of_its_targets(fraction, system):
    row = paper_row(fraction, system)
    assert sum(row.f1s.values()) / 5 == pytest.approx(row.average, abs=0.0051)
    assert row.average_over(["zh", "fr", "de", "nl", "es"]) == row.average
    assert row.average_over(["es", "xx"]) is None


def test_a_system_that_the_paper_does_not_have_has_no_row_of_it():
    assert paper_row(0.0, "mine") is None
    assert paper_row(0.05, "without-masking") is None


def test_the_average_is_over_the_targets_that_all_systems_have(tmp_path):
    gone = [(0.0, "base", "zh", seed) for seed in (0, 1)]
    study = made_up_study(tmp_path, exclude=gone)
    grid = ResultsGrid.of(study.results())
    assert grid.shared_targets(0.0) == ["es"]
    assert average(grid, 0.0, "ours") == spread(grid.at(0.0, "ours", "es"))
    table = score_table(grid, 0.0)
    assert texts(row_of(table, "base"))[1] == "–"
    assert "Average over es." in table.caption


def test_fewer_seeds_than_elsewhere_are_told(tmp_path):
    study = made_up_study(tmp_path, exclude=[(0.0, "ours", "es", 1)])
    table = score_table(ResultsGrid.of(study.results()), 0.0)
    assert texts(row_of(table, "ours"))[0].endswith("(1 of 2 seeds)")
    assert spread_entry(Spread(50.0, None, 1), expected_seeds=1).text == "50.0"


def test_what_was_measured_last_counts(tmp_path):
    study = made_up_study(tmp_path)
    old = found_cell(study, "ours", "es", 0)
    new = found_cell(study, "base", "es", 0).model_copy(update={"system": "ours", "key": "again"})
    grid = ResultsGrid.of([*study.results(), new])
    assert grid.replaced == 1
    assert grid.at(0.0, "ours", "es")[0] == new != old


# Significance


def summed_by_hand(study, system, target, mode):
    gold = gold_corpus(target)
    total = 0
    for seed in (0, 1):
        sentences = study.sentences(found_cell(study, system, target, seed))
        total = total + counts_by_sentence(gold, predicted_corpus(gold, sentences, mode))
    return total


def test_systems_are_compared_by_counts_summed_over_paired_seeds(tmp_path):
    study = made_up_study(tmp_path)
    grid, stored = ResultsGrid.of(study.results()), StoredPredictions(study)
    for system in ("ours", "without-masking"):
        ours = summed_by_hand(study, system, "es", "adapted")
        expected = compare(ours, summed_by_hand(study, "base", "es", "plain"))
        results = grid.at(0.0, system, "es"), grid.at(0.0, "base", "es")
        assert compared_systems(stored, *results) == expected
        entry = row_of(difference_table(grid, stored, 0.0), system).entries[0]
        assert p_text(expected.p_value) in entry.text
        assert ("n.s." in entry.text) == (expected.p_value >= 0.05)
        assert ("n.s." in entry.markup) == (expected.p_value >= 0.05)


def test_a_difference_is_the_mean_over_the_seeds_that_both_have(tmp_path):
    study = made_up_study(tmp_path, exclude=[(0.0, "base", "es", 1)])
    table = difference_table(ResultsGrid.of(study.results()), StoredPredictions(study), 0.0)
    ours, base = (found_cell(study, system, "es", 0) for system in ("ours", "base"))
    assert texts(row_of(table, "ours"))[0].startswith(
        f"{f1_by_hand(ours) - f1_by_hand(base):+.1f} "
    )
    assert "p" not in texts(row_of(table, "ours"))[2]  # the average has no p-value


def test_readings_are_compared_over_all_seeds(tmp_path):
    study = made_up_study(tmp_path)
    expected = compare(
        summed_by_hand(study, "ours", "zh", "adapted"), summed_by_hand(study, "ours", "zh", "plain")
    )
    results = ResultsGrid.of(study.results()).at(0.0, "ours", "zh")
    assert compared_modes(StoredPredictions(study), results) == expected


def test_other_corpora_are_not_compared(tmp_path):
    study = made_up_study(tmp_path)
    grid = ResultsGrid.of(study.results())
    spanish, chinese = (grid.at(0.0, "ours", target) for target in ("es", "zh"))
    assert compared_systems(StoredPredictions(study), spanish, chinese) is None


def test_predictions_that_disagree_with_the_results_are_refused(tmp_path):
    study = made_up_study(tmp_path)
    ours = found_cell(study, "ours", "es", 0)
    nothing = SentencePredictions({"plain": (), "adapted": ()}, ())
    StudyFolder(tmp_path / "other").add(ours, [nothing] * 60)
    name = f"predictions/{ours.key}.jsonl"
    (tmp_path / "other" / name).replace(tmp_path / name)
    with pytest.raises(DataError, match="expected predictions of ours"):
        StoredPredictions(study).counted(ours)


def test_predictions_cut_short_are_refused(tmp_path):
    study = made_up_study(tmp_path)
    result = found_cell(study, "base", "es", 0)
    path = study.folder / "predictions" / f"{result.key}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(DataError, match="for 60 sentences of es, found 59"):
        write_report(study, "t")


# What adaptation brings


def test_quarters_by_hand(tmp_path):
    """Eight sentences, an entity each: adaptation mends the two with the nearest neighbors and
    breaks the one with the furthest.
    """
    person, place = (Span(0, 1, "PER"),), (Span(0, 1, "LOC"),)
    gold = Corpus(tuple(Sentence((f"w{n}",), person, "es") for n in range(8)))
    similarity = [0.8, 0.1, 0.7, 0.2, 0.6, 0.3, 0.5, 0.4]
    plain = [place, person, place, person, person, person, person, person]
    adapted = [person, place, person, person, person, person, person, person]
    sentences = [
        SentencePredictions(
            {"plain": plain[n], "adapted": adapted[n]},
            ((0, similarity[n] - 0.05), (1, similarity[n] + 0.05)),
        )
        for n in range(8)
    ]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    result = cell_of(gold, sentences, system="ours")
    study.add(result, sentences)
    quarters = quarters_of(StoredPredictions(study), {0: result})
    assert [round(own.lowest, 6) for own in quarters] == [0.1, 0.3, 0.5, 0.7]
    assert [round(own.highest, 6) for own in quarters] == [0.2, 0.4, 0.6, 0.8]
    assert [own.gain for own in quarters] == pytest.approx([-50.0, 0.0, 0.0, 100.0])
    assert [own.n_sentences for own in quarters] == [2, 2, 2, 2]
    assert [own.n_entities for own in quarters] == [2, 2, 2, 2]


def test_quarters_sum_the_counts_of_the_seeds(tmp_path):
    study = made_up_study(tmp_path)
    results = ResultsGrid.of(study.results()).at(0.0, "ours", "es")
    quarters = quarters_of(StoredPredictions(study), results)
    kept = [study.sentences(result) for result in results.values()]
    similarity = [
        np.mean([[value for _, value in sentences[n].neighbors] for sentences in kept])
        for n in range(60)
    ]
    first = sorted(range(60), key=lambda n: similarity[n])[:15]
    adapted = summed_by_hand(study, "ours", "es", "adapted")[first].sum(axis=0)
    plain = summed_by_hand(study, "ours", "es", "plain")[first].sum(axis=0)
    assert quarters[0].gain == pytest.approx(100 * float(f1(adapted) - f1(plain)))
    assert quarters[0].n_entities == plain[2] / 2


def test_without_neighbors_there_are_no_quarters(tmp_path):
    gold = gold_corpus("es")
    sentences = [
        replace(own, neighbors=()) for own in labeled(gold, QUALITIES["ours"], random.Random(0))
    ]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    result = cell_of(gold, sentences, system="ours")
    study.add(result, sentences)
    assert quarters_of(StoredPredictions(study), {0: result}) == []


# Types, curves, selection


def test_f1_by_type_is_the_mean_over_seeds(tmp_path):
    study = made_up_study(tmp_path)
    results = ResultsGrid.of(study.results()).at(0.0, "ours", "es")
    counts = [result.modes["adapted"]["LOC"] for result in results.values()]
    expected = np.mean([200 * own.correct / (own.predicted + own.gold) for own in counts])
    assert mean_type_f1(results, "LOC") == pytest.approx(expected)
    assert mean_type_f1(results, "MISC") is None


def test_weights_by_source_dev_last_and_oracle(tmp_path):
    gold = gold_corpus("es")
    sentences = labeled(gold, {"plain": 0.5}, random.Random(0))
    other = FACTS.model_copy(
        update={"best_step": 30, "target_validations": {"es": ((10, 0.2), (20, 0.6), (30, 0.5))}}
    )
    unvalidated = FACTS.model_copy(update={"target_validations": {}})
    results = {
        seed: cell_of(gold, sentences, system="ours", seed=seed, training=training)
        for seed, training in enumerate((FACTS, other, unvalidated))
    }
    expected = Choices(by_source=40.0, last=42.5, oracle=50.0)
    found = mean_choices(results)
    assert (found.by_source, found.last, found.oracle) == pytest.approx(
        (expected.by_source, expected.last, expected.oracle)
    )
    assert mean_choices({2: results[2]}) is None


def test_a_mean_curve_has_the_steps_that_all_seeds_have():
    assert mean_curve([((1, 2.0), (2, 4.0), (3, 9.0)), ((1, 4.0), (2, 6.0))]) == [
        (1, 3.0),
        (2, 5.0),
    ]


def test_a_chart_puts_larger_values_higher_and_names_its_lines():
    lines = {"a<b": [(0, 1.0), (10, 3.0)], "c": [(0, 2.0)]}
    chart = line_chart("T & t", "d", lines, "loss", {"a<b": 0, "gone": 1, "c": 2})
    assert re.findall(r"line color-(\d)", chart) == ["0", "2"]
    assert "<title>T &amp; t</title><desc>d</desc>" in chart
    assert ">a&lt;b</text>" in chart
    (first_x, first_y), (last_x, last_y) = (
        map(float, point.split(",")) for point in re.findall(r'points="([^"]+)"', chart)[0].split()
    )
    assert first_x < last_x
    assert first_y > last_y  # in a picture, down is more


def test_a_chart_of_one_value_can_be_drawn():
    assert "nan" not in line_chart("t", "d", {"a": [(5, 1.0)]}, "loss", {"a": 0})


def test_names_of_lines_stay_apart_and_in_the_picture():
    places = sorted(apart({str(n): 250.0 + n for n in range(6)}, 15.0).values())
    assert all(b - a >= 15.0 - 1e-9 for a, b in itertools.pairwise(places))
    assert places[-1] <= 256.0


def test_ticks_are_round_and_within():
    assert ticks(0.13, 0.92) == pytest.approx([0.2, 0.4, 0.6, 0.8])


# Case study


def test_the_kinds_of_cases(tmp_path):
    person, place, group = ((Span(0, 1, label),) for label in ("PER", "LOC", "ORG"))
    gold = Corpus(tuple(Sentence((f"w{n}",), person, "es") for n in range(5)))
    their = [place, person, place, person, place]
    our = [person, place, group, person, place]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    study.add_corpus(digest_of("source"), SOURCE)
    base = [SentencePredictions({"plain": spans}, ()) for spans in their]
    ours = [SentencePredictions({"plain": place, "adapted": s}, ((7, 0.9),)) for s in our]
    base_cell = cell_of(gold, base, system="base")
    our_cell = cell_of(gold, ours, system="ours")
    study.add(base_cell, base)
    study.add(our_cell, ours)
    cases = cases_of(StoredPredictions(study), base_cell, our_cell)
    kinds = [(case.number, case.kind) for case in cases]
    assert kinds == [(1, "fixed"), (2, "broken"), (3, "still wrong")]
    assert cases[0].neighbors == ((SOURCE[7], 0.9),)
    page = write_report(study, "t").read_text()
    assert len(re.findall(r"<article ", page)) == 3
    assert '<article data-language="target-0" data-kind="still-wrong">' in page
    assert "Name7<b>PER</b></mark> &lt;spoke&gt; .</dd>" in page


def test_cases_are_drawn_and_counted_in_all(tmp_path):
    person, place = (Span(0, 1, "PER"),), (Span(0, 1, "LOC"),)
    gold = Corpus(tuple(Sentence((f"w{n}",), person, "es") for n in range(100)))
    base = [SentencePredictions({"plain": place}, ()) for _ in gold]
    ours = [SentencePredictions({"plain": person}, ()) for _ in gold]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    base_cells = {s: cell_of(gold, base, system="base", seed=s) for s in (1, 2)}
    our_cells = {s: cell_of(gold, ours, system="ours", seed=s) for s in (0, 1, 2)}
    for result in base_cells.values():
        study.add(result, base)
    for result in our_cells.values():
        study.add(result, ours)
    cases = target_cases(StoredPredictions(study), base_cells, our_cells)
    assert cases.seed == 1
    assert cases.n_cases == {"fixed": 100, "broken": 0, "still wrong": 0}
    numbers = [case.number for case in cases.shown]
    assert len(numbers) == MOST_CASES
    assert numbers == sorted(numbers) != list(range(1, MOST_CASES + 1))
    again = target_cases(StoredPredictions(study), base_cells, our_cells)
    assert again == cases


def test_a_neighbor_outside_the_source_corpus_is_refused(tmp_path):
    study = made_up_study(tmp_path)
    (study.folder / "corpora" / f"{digest_of('source')[:16]}.jsonl").unlink()
    study.add_corpus(digest_of("source"), Corpus(SOURCE.sentences[:2]))
    with pytest.raises(DataError, match="expected a neighbor below 2"):
        write_report(study, "t")


# The page


class Walker(HTMLParser):
    """Checks that every tag is closed in its order, and gathers what a page refers to."""

    EMPTY = frozenset({"meta", "br", "input", "line", "circle", "path", "polyline"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.references, self.ids = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.references += [attributes[name] for name in ("src", "href") if name in attributes]
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def walked(page):
    walker = Walker()
    walker.feed(page)
    walker.close()
    assert walker.open == []
    return walker


@pytest.fixture
def page(tmp_path):
    return write_report(made_up_study(tmp_path), "A <made-up> study").read_text()


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    walker = walked(page)
    assert {tag for tag, _ in walker.tags} & {"script", "link", "img", "iframe"} == set()
    assert "http://" not in page
    assert "https://" not in page
    assert "url(" not in page
    assert "<title>A &lt;made-up&gt; study</title>" in page
    assert len(walker.ids) == len({*walker.ids})
    assert {reference.removeprefix("#") for reference in walker.references} <= {*walker.ids}
    assert len(walker.references) == 9


def test_headings_are_in_order_and_tables_can_be_read_aloud(page):
    walker = walked(page)
    levels = [int(tag[1]) for tag, _ in walker.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    n_tables = sum(tag == "table" for tag, _ in walker.tags)
    assert n_tables == sum(tag == "caption" for tag, _ in walker.tags) > 10
    assert all("scope" in attributes for tag, attributes in walker.tags if tag == "th")
    regions = [attributes for _, attributes in walker.tags if attributes.get("role") == "region"]
    assert len(regions) >= n_tables
    assert all(own["tabindex"] == "0" and own["aria-label"] for own in regions)


def test_cases_can_be_chosen_without_a_script(page):
    walker = walked(page)
    radios = {own["id"]: own for tag, own in walker.tags if tag == "input"}
    assert {"language-all", "language-target-0", "language-target-1"} <= {*radios}
    assert {"kind-all", "kind-fixed", "kind-broken", "kind-still-wrong"} <= {*radios}
    labeled_inputs = {own["for"] for tag, own in walker.tags if tag == "label"}
    assert labeled_inputs == {*radios}
    for name in {*radios} - {"language-all", "kind-all"}:
        assert f"#all-cases:has(#{name}:checked)" in page
    languages = {own.get("lang") for tag, own in walker.tags if tag == "dd"}
    assert languages == {"es", "zh", "en"}


def test_color_of_the_heat_map_follows_the_numbers(page):
    heats = re.findall(r'<td class="heat (\w+)" style="--heat: (\d+)%">([-+]?[\d.]+)</td>', page)
    f1s = [(float(value), int(heat)) for _, heat, value in heats if value[0] not in "+-"][:6]
    assert len(f1s) == 6
    assert max(f1s)[1] == 100
    assert min(f1s)[1] == 0
    assert all(
        (side == "below") == (value[0] == "-") for side, _, value in heats if value[0] in "+-"
    )


def test_names_from_the_results_are_text_not_markup(tmp_path):
    gold = gold_corpus("es")
    sentences = labeled(gold, QUALITIES["ours"], random.Random(0))
    study = StudyFolder(tmp_path)
    result = cell_of(gold, sentences, system="a")
    odd = '<b>"|x&'
    recipe = {"note": odd}
    changes = {"system": odd, "target": odd, "machine": odd, "labels": (odd,)}
    study.add(result.model_copy(update={**changes, "recipe": recipe, "versions": {odd: odd}}), [])
    page = write_report(study, odd).read_text()
    walked(page)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_every_system_s_recipe_is_there_once_whatever_the_seed(page):
    assert page.count("max_weight: 2.0") == 3
    assert "seed: 1" not in page


def test_the_markdown_has_the_tables(tmp_path):
    study = made_up_study(tmp_path)
    write_report(study, "A study")
    text = (tmp_path / "report.md").read_text()
    assert text.startswith("# A study\n")
    table = score_table(ResultsGrid.of(study.results()), 0.02)
    assert "| ours | " + " | ".join(texts(row_of(table, "ours"))) + " |" in text
    assert "<td" not in text
    for block in re.findall(r"(?:^\|.*\n?)+", text, flags=re.M):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}
        assert len(widths) == 1


def test_results_alone_make_a_report_that_says_what_is_left_out(tmp_path):
    study = made_up_study(tmp_path, keep=False)
    page = write_report(study, "t").read_text()
    walker = walked(page)
    assert page.count("No predictions were kept") == 1
    assert "cases" not in walker.ids
    assert "neighbors" not in walker.ids
    assert "<abbr" not in page
    table = difference_table(ResultsGrid.of(study.results()), StoredPredictions(study), 0.0)
    assert all(re.fullmatch(r"[-+]\d+\.\d", text) for row in table.rows for text in texts(row))


def test_a_study_with_gaps_has_dashes(tmp_path):
    gone = [(0.0, "ours", "es", seed) for seed in (0, 1)]
    gone += [(0.02, "base", target, seed) for target in ("es", "zh") for seed in (0, 1)]
    study = made_up_study(tmp_path, exclude=gone)
    page = write_report(study, "t").read_text()
    walked(page)
    grid = ResultsGrid.of(study.results())
    assert texts(row_of(score_table(grid, 0.0), "ours"))[0] == "–"
    assert "Difference to base in points of F1, 2%" not in page
    assert "Not measured: 2 of 20 results" in page


def test_without_a_base_the_first_system_is_what_others_are_compared_with(tmp_path):
    places = [(s, t, n) for s in (0.0, 0.02) for t in ("es", "zh") for n in (0, 1)]
    study = made_up_study(tmp_path, exclude=[(s, "base", t, n) for s, t, n in places])
    page = write_report(study, "t").read_text()
    walked(page)
    first = next(iter({result.system: None for result in study.results()}))
    assert first != "base"
    assert f"Difference to {first} in points of F1" in page
    assert "Difference to base" not in page


def test_only_the_base_makes_a_report(tmp_path):
    gold = gold_corpus("es")
    sentences = labeled(gold, {"plain": 0.5}, random.Random(0))
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    study.add(cell_of(gold, sentences, system="base"), sentences)
    page = write_report(study, "t").read_text()
    walked(page)
    assert "No system was read both with and without adaptation." in page


def test_no_results_make_no_report(tmp_path):
    with pytest.raises(DataError, match="expected results of a study, found none"):
        write_report(StudyFolder(tmp_path), "t")
    assert list(tmp_path.iterdir()) == []


def test_the_same_results_make_the_same_report(tmp_path):
    study = made_up_study(tmp_path)
    assert write_report(study, "t").read_bytes() == write_report(study, "t").read_bytes()
    assert not list(tmp_path.glob(".*"))
