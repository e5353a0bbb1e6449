"""The report of a study."""

from metacross.study.report.report import REPORT, write_report

__all__ = ["REPORT", "write_report"]
