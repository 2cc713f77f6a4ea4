"""The error of a float32 model is the documented one: measured again, compared with the table in docs/model.md."""

import re

import pytest

from benchmarks.single_precision import QUANTITIES, measure

from .reference import ROOT

PAGE = ROOT / "docs" / "model.md"


@pytest.fixture(scope="module")
def measured():
    return measure("FR3")


@pytest.fixture(scope="module")
def documented():
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| ([\d.e+-]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: float(bound) for name, bound in rows}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_largest_error_of_the_fr3_stays_under_the_documented_one_and_close_to_it(quantity, measured, documented):
    error, _ = measured[quantity]
    print(f"float32 {quantity}: largest error {error:.1e} {QUANTITIES[quantity]}")
    assert documented[quantity] / 10 < error <= documented[quantity]
