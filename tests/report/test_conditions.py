"""Conditions of guards are read as arithmetic, and nothing of them is run."""

import pytest

from depyf.advice import conditions


@pytest.mark.parametrize(
    "condition, name, value, wanted",
    [
        ("(n % 3) == 0", "n", "2", False),
        ("((2 + s.n) % 2) != 0", "s.n", "1", True),
        ("0 <= n", "n", "0", True),
        ("2 <= n and n <= 4", "n", "5", False),
        ("not (n == 1)", "n", "1", False),
        ("Ne(PythonMod(n, 2), 1)", "n", "3", False),
        ("max(3, n, 4) == 4", "n", "2", True),
        ("max(3, n[1]) == 3", "n[1]", "5", False),
        ("max(m, n) == 4", "n", "4", None),
        ("n // 0 == 1", "n", "2", None),
        ("n <= x.size()[0]", "n", "2", None),  # asks for something else, too
        ("m == 2", "n", "2", None),
        ("sn == 2 and s.n2 == 2", "n", "2", None),
        ("n * 2 ** 99999999 == 0", "n", "2", None),
        ("exit(n) == 2", "n", "2", None),
        ("n ==", "n", "2", None),
    ],
)
def test_a_condition_is_read_where_it_asks_for_one_number(condition, name, value, wanted):
    assert conditions.holds(condition, name, value) is wanted


@pytest.mark.parametrize(
    "name, computed",
    [
        ("(n % 3)", True),
        ("8*n", True),
        ("n - 1", True),
        ("FloorDiv(n, 2)", True),
        ("s.n", False),
        ("d['a % b']", False),
        ("x[-1]", False),
        ("list(dict.keys(d))[0]", False),
    ],
)
def test_what_is_computed_is_told_from_what_has_a_name(name, computed):
    assert conditions.is_computed(name) == computed


@pytest.mark.parametrize(
    "one, other, wanted",
    [
        ("(n % 3) == 0", "(n % 3) == 2", True),
        ("(n % 3) == 0", "(n % 3) == 0", False),
        ("(n % 3) == 0", "(n % 2) == 1", False),
        ("low <= 0.5", "low > 0.5", True),
        ("low <= 0.5", "low >= 0.5", False),
        ("low < 0.5", "low >= 0.5", True),
        ("low > 0.5", "low < 2.0", False),
        ("0.5 < low", "low == 0.25", True),
        ("2 <= n <= 5", "6 <= n", True),
        ("2 <= n <= 5", "n >= 5", False),
        ("n == 4", "n != 4", True),
        ("n != 4", "n != 5", False),
        ("n < m", "n >= m", True),
        ("n < m", "n >= k", False),
        ("n < 2 or n > 5", "n == 3", False),  # joined conditions are not compared
    ],
)
def test_conditions_that_no_number_fulfils_together(one, other, wanted):
    pairs = [(a, b) for a in conditions.comparisons(one) for b in conditions.comparisons(other)]
    assert any(conditions.exclude(a, b) for a, b in pairs) is wanted
    assert any(conditions.exclude(b, a) for a, b in pairs) is wanted
