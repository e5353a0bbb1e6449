"""The errors that a user can cause and fix.

The command line prints each as one line without a traceback. The text says where the problem is,
what was expected, what was found and, where possible, what to do.
"""

import difflib
from collections.abc import Iterable


class MetacrossError(Exception):
    """Base class of all errors that metacross raises on purpose.

    >>> import metacross
    >>> try:
    ...     metacross.read_corpus("missing.conll")
    ... except MetacrossError as error:
    ...     print(error)
    missing.conll: cannot be read: No such file or directory
    """


class DataError(MetacrossError):
    """A corpus cannot be read, written or used: a malformed line, an unknown tag, no sentences."""


class SettingsError(MetacrossError):
    """A setting, a recipe or a command-line option has an invalid value."""


class ModelError(MetacrossError):
    """An encoder or a model folder cannot be loaded, saved or used."""


class RunError(MetacrossError):
    """A training run cannot start, resume or save its state."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that it is close to, if any.

    >>> did_you_mean("mahew", ["mayhew", "xie"])
    '; did you mean mayhew?'
    """
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""
