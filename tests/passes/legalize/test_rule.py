"""Rules as a whole."""

import re

from arenite.ops import core_registry
from arenite.passes.legalize.legalize import legalization_rules


def test_rules_say_which_ops_there_are() -> None:
    """Each something, in ops of the core dialect."""
    rules, ops = legalization_rules(), core_registry()
    assert [op for op, rule in rules.items() if not rule.says] == []
    named = {name for rule in rules.values() for name in re.findall("`(.+?)`", rule.says)}
    assert {name for name in named if name not in ops} == set()
