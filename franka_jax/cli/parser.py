"""Command lines whose errors are one line, and whose numbers may be negative with an exponent."""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from .input_error import InputError


class Parser(argparse.ArgumentParser):
    """Errors are an InputError of one line: the usage is what --help is for."""

    def error(self, message: str) -> NoReturn:
        """InputError with `message`."""
        raise InputError(f"{message} (see {self.prog} --help)")


def words(arguments: Sequence[str] | None) -> list[str]:
    """The arguments (None: those of the process) in the form in which argparse takes all numbers for numbers."""
    return [_number_safe(word) for word in (sys.argv[1:] if arguments is None else arguments)]


def _number_safe(word: str) -> str:
    """A negative number such as -1e-3 with a space before it: argparse would take it for an option."""
    try:
        float(word)
    except ValueError:
        return word
    return f" {word}"
