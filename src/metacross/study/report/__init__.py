"""The report of a study."""

from metacross.study.report.report import write_report

__all__ = ["write_report"]
