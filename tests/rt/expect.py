"""``with raises(Kind, "part", "of the text")``: an exception whose full text contains all fragments."""

import contextlib

import pytest


@contextlib.contextmanager
def raises(kind, *fragments):
    with pytest.raises(kind) as info:
        yield info
    for fragment in fragments:
        assert fragment in str(info.value), f"{fragment!r} not in {str(info.value)!r}"
