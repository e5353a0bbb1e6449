"""The sentences for which two systems predict different entities."""

import pytest

from made_up_study import SOURCE, digest_of, made_up_study, result_of
from metacross.errors import DataError
from metacross.study.predictions import StoredPredictions
from metacross.study.report import write_report
from metacross.study.report.blocks import Cards
from metacross.study.report.case_study import MAX_CASES, case_section, find_cases, target_cases
from metacross.study.results import StoredSentence, StudyFolder
from metacross.study.statistics import ResultsGrid
from metacross.text.sentence import Corpus, Sentence, Span

PERSON, PLACE, ORGANIZATION = ((Span(0, 1, label),) for label in ("PER", "LOC", "ORG"))


@pytest.fixture
def study(tmp_path):
    """Five sentences: fixed, broken, still wrong, and two with equal predictions."""
    gold = Corpus(tuple(Sentence((f"w{n}",), PERSON, "es") for n in range(5)))
    base_spans = [PLACE, PERSON, PLACE, PERSON, PLACE]
    our_spans = [PERSON, PLACE, ORGANIZATION, PERSON, PLACE]
    base = [StoredSentence({"plain": spans}, ()) for spans in base_spans]
    ours = [StoredSentence({"plain": PLACE, "adapted": spans}, ((7, 0.9),)) for spans in our_spans]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    study.add_corpus(digest_of("source"), SOURCE)
    study.add(result_of(gold, base, system="base"), base)
    study.add(result_of(gold, ours, system="ours"), ours)
    return study


def test_a_case_is_fixed_broken_or_still_wrong(study):
    cases = find_cases(StoredPredictions(study), *study.results())
    kinds = [(case.number, case.kind) for case in cases]
    assert kinds == [(1, "fixed"), (2, "broken"), (3, "still wrong")]
    assert cases[0].neighbors == ((SOURCE[7], 0.9),)


def test_a_card_shows_gold_both_systems_and_the_neighbors(study):
    section = case_section(ResultsGrid.of(study.results()), StoredPredictions(study))
    (cards,) = (block for block in section.blocks if isinstance(block, Cards))
    assert [card.verdict for card in cards.cards] == ["fixed", "broken", "still wrong"]
    assert [card.choices for card in cards.cards] == [(0, 0), (0, 1), (0, 2)]
    names = [sentence.name for sentence in cards.cards[0].sentences]
    assert names == ["gold", "base (wrong)", "ours (right)", "adapted to (0.90)"]
    page = write_report(study, "t").read_text()
    assert page.count("<article ") == 3
    assert "Name7<b>PER</b></mark> &lt;spoke&gt; .</dd>" in page


def test_cases_are_sampled_and_all_of_them_counted(tmp_path):
    gold = Corpus(tuple(Sentence((f"w{n}",), PERSON, "es") for n in range(100)))
    base = [StoredSentence({"plain": PLACE}, ()) for _ in gold]
    ours = [StoredSentence({"plain": PERSON}, ()) for _ in gold]
    study = StudyFolder(tmp_path)
    study.add_corpus(digest_of("es"), gold)
    baseline = {seed: result_of(gold, base, system="base", seed=seed) for seed in (1, 2)}
    results = {seed: result_of(gold, ours, system="ours", seed=seed) for seed in (0, 1, 2)}
    for result in baseline.values():
        study.add(result, base)
    for result in results.values():
        study.add(result, ours)
    cases = target_cases(StoredPredictions(study), baseline, results)
    assert cases.seed == 1
    assert cases.n_cases == {"fixed": 100, "broken": 0, "still wrong": 0}
    numbers = [case.number for case in cases.shown]
    assert len(numbers) == MAX_CASES
    assert numbers == sorted(numbers) != list(range(1, MAX_CASES + 1))
    assert target_cases(StoredPredictions(study), baseline, results) == cases


def test_a_neighbor_outside_the_source_corpus_is_refused(tmp_path):
    study = made_up_study(tmp_path)
    (study.folder / "corpora" / f"{digest_of('source')[:16]}.jsonl").unlink()
    study.add_corpus(digest_of("source"), Corpus(SOURCE.sentences[:2]))
    with pytest.raises(DataError, match="expected a neighbor below 2"):
        write_report(study, "t")
