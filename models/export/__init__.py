"""Exports of a result: configuration, numbers, a script, a digest, and findings. Free of torch."""

from models.export.about import about_html, title_of
from models.export.configuration import comparison_json, configuration_from, configuration_json
from models.export.digest import Comparison, compare, digest_of
from models.export.findings import findings, progress_sentence
from models.export.script.script import standalone_script
from models.export.table import comparison_csv, trace_csv

__all__ = [
    "Comparison",
    "about_html",
    "compare",
    "comparison_csv",
    "comparison_json",
    "configuration_from",
    "configuration_json",
    "digest_of",
    "findings",
    "progress_sentence",
    "standalone_script",
    "title_of",
    "trace_csv",
]
