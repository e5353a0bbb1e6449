"""placeholder"""
from pathlib import Path
def write_report(folder, title):
    return folder.folder / "report.html"
