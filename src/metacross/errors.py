"""The errors a user can cause; the command line prints each as one line."""


class MetacrossError(Exception):
    """Something the user can mend; its text says where, what was expected and what was found."""


class DataError(MetacrossError):
    """A corpus, or a line of it, is not what its format promises."""


class SettingsError(MetacrossError):
    """A recipe or an option holds a value that cannot be used."""


class ModelError(MetacrossError):
    """An encoder or a model folder cannot be used."""


class RunError(MetacrossError):
    """A training cannot begin, go on, or be kept."""
