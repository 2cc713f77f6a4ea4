"""The error of a user's input to the command line."""


class InputError(ValueError):
    """Input that cannot be used; its one sentence says what was found, where, and what is needed."""
