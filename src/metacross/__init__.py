"""Named-entity recognition for languages without labelled data."""

from metacross.errors import MetacrossError
from metacross.text.reading import read_corpus
from metacross.text.writing import write_corpus

__version__ = "0.1.0.dev0"

__all__ = ["MetacrossError", "__version__", "read_corpus", "write_corpus"]
