"""Results of earlier versions can be migrated."""

import json
from pathlib import Path

import pytest

from metacross.errors import DataError
from metacross.model.encoder_digest import encoder_digest
from metacross.settings import Settings
from metacross.study.results import Result
from tools.docs.add_results import RESULTS
from tools.migrate_results import main, migrated_line

OLD = (Path(__file__).parent.parent / "fixtures" / "results-before-0.1.jsonl").read_text()


def test_an_old_line_becomes_a_line_that_reads():
    result = Result.model_validate_json(migrated_line(OLD))
    assert (result.system, result.seed, result.target, result.fraction) == ("base", 1, "es", 0.01)
    assert result.labels == ("LOC", "MISC", "ORG", "PER")
    assert result.reported_mode == "plain"
    assert result.counts["plain"]["LOC"].gold == 985
    settings = Settings.model_validate(result.recipe)
    assert settings.encoder.max_length == 128
    assert settings.fine_tuning.learning_rate == 0.001
    assert result.digests["encoder"] == encoder_digest("mini")


def test_an_old_line_is_of_words_as_they_are_in_the_file():
    migrated = json.loads(migrated_line(OLD))
    assert "words" not in migrated["recipe"]["encoder"]
    keys = {}
    for words in ("given", "auto"):
        encoder = {**migrated["recipe"]["encoder"], "words": words}
        says_it = {**migrated, "recipe": {**migrated["recipe"], "encoder": encoder}}
        keys[words] = json.loads(migrated_line(json.dumps(says_it)))["key"]
    assert keys["given"] != keys["auto"]
    assert migrated["key"] == keys["given"]


def test_a_migrated_line_does_not_change_again():
    line = migrated_line(OLD)
    assert migrated_line(line) == line


def test_results_of_another_encoder_are_refused(write):
    digest = OLD.split('"encoder":"')[1].split('"')[0]
    path = write("results.jsonl", OLD.replace(digest, "0" * 64))
    with pytest.raises(DataError, match="mini: expected the encoder of the results"):
        main([str(path)])
    assert path.read_text() == OLD.replace(digest, "0" * 64)


def test_a_baseline_gets_the_key_of_the_settings_that_it_reads_and_the_whole_folder():
    lines = (RESULTS / "mini-low-resource-baselines.jsonl").read_text("utf-8").splitlines()
    line = next(line for line in lines if '"system":"yang"' in line)
    values = json.loads(line)
    values["key"] = values["digests"]["baseline settings"] = "0"  # of all baselines' settings
    values["training"]["folder"] = values["training"]["folder"].rpartition("/")[2]
    assert migrated_line(json.dumps(values)) == line


def test_a_baseline_gets_its_present_name():
    lines = (RESULTS / "mini-baselines.jsonl").read_text("utf-8").splitlines()
    line = next(line for line in lines if '"baseline":"ours-tsl"' in line)
    values = json.loads(line)
    values["key"], values["digests"]["baseline"] = "0", "tsl-ours"
    assert migrated_line(json.dumps(values)) == line
