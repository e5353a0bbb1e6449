"""Named-entity recognition for languages without labeled data.

Everything exported here is public; other modules may change without notice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from metacross.errors import DataError, MetacrossError, ModelError, RunError, SettingsError
from metacross.metrics.scoring import Score, ScoreReport, score
from metacross.metrics.significance import Comparison
from metacross.settings import Settings, load_settings
from metacross.text.bundled_corpus import bundled_corpus
from metacross.text.reading import read_corpus
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.writing import write_corpus

if TYPE_CHECKING:
    from metacross.adaptation.evaluation import Evaluation, evaluate
    from metacross.adaptation.explanation import Counterfactual, Explanation
    from metacross.adaptation.language_report import LanguageReport
    from metacross.adaptation.loading import load
    from metacross.adaptation.ner_model import NerModel
    from metacross.adaptation.prediction import Entity, Neighbor, Prediction, SentencePrediction
    from metacross.adaptation.selection import SelectBy, Selected, select
    from metacross.baselines.train_baseline import train_baseline
    from metacross.model.remembered import Remembered
    from metacross.serving.card import write_card
    from metacross.serving.language_reports import LanguageReports, report_languages
    from metacross.serving.pipeline import EntityPipeline, pipeline, register_pipelines
    from metacross.serving.push import PushedModel, push
    from metacross.study.compare_studies import StudyComparison, compare_studies
    from metacross.study.plan import Study
    from metacross.study.run_study import StudyResults, run_study
    from metacross.training.callbacks import Callback
    from metacross.training.fine_tuning import fine_tune
    from metacross.training.train import train

__version__ = "0.1.0.dev0"

__all__ = [
    "Callback",
    "Comparison",
    "Corpus",
    "Counterfactual",
    "DataError",
    "Entity",
    "EntityPipeline",
    "Evaluation",
    "Explanation",
    "LanguageReport",
    "LanguageReports",
    "MetacrossError",
    "ModelError",
    "Neighbor",
    "NerModel",
    "Prediction",
    "PushedModel",
    "Remembered",
    "RunError",
    "Score",
    "ScoreReport",
    "SelectBy",
    "Selected",
    "Sentence",
    "SentencePrediction",
    "Settings",
    "SettingsError",
    "Span",
    "Study",
    "StudyComparison",
    "StudyResults",
    "__version__",
    "bundled_corpus",
    "compare_studies",
    "evaluate",
    "fine_tune",
    "load",
    "load_settings",
    "pipeline",
    "push",
    "read_corpus",
    "register_pipelines",
    "report_languages",
    "run_study",
    "score",
    "select",
    "train",
    "train_baseline",
    "write_card",
    "write_corpus",
]

# Names that need torch are imported on first use: torch takes seconds to import, and reading,
# checking and scoring files do without it.
_LAZY = {
    "Callback": "metacross.training.callbacks",
    "Counterfactual": "metacross.adaptation.explanation",
    "Entity": "metacross.adaptation.prediction",
    "EntityPipeline": "metacross.serving.pipeline",
    "Evaluation": "metacross.adaptation.evaluation",
    "Explanation": "metacross.adaptation.explanation",
    "LanguageReport": "metacross.adaptation.language_report",
    "LanguageReports": "metacross.serving.language_reports",
    "Neighbor": "metacross.adaptation.prediction",
    "NerModel": "metacross.adaptation.ner_model",
    "Prediction": "metacross.adaptation.prediction",
    "PushedModel": "metacross.serving.push",
    "Remembered": "metacross.model.remembered",
    "SelectBy": "metacross.adaptation.selection",
    "Selected": "metacross.adaptation.selection",
    "SentencePrediction": "metacross.adaptation.prediction",
    "Study": "metacross.study.plan",
    "StudyComparison": "metacross.study.compare_studies",
    "StudyResults": "metacross.study.run_study",
    "compare_studies": "metacross.study.compare_studies",
    "evaluate": "metacross.adaptation.evaluation",
    "fine_tune": "metacross.training.fine_tuning",
    "load": "metacross.adaptation.loading",
    "pipeline": "metacross.serving.pipeline",
    "register_pipelines": "metacross.serving.pipeline",
    "push": "metacross.serving.push",
    "report_languages": "metacross.serving.language_reports",
    "run_study": "metacross.study.run_study",
    "select": "metacross.adaptation.selection",
    "train": "metacross.training.train",
    "train_baseline": "metacross.baselines.train_baseline",
    "write_card": "metacross.serving.card",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the above
    if name not in _LAZY:
        raise AttributeError(f"module 'metacross' has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
