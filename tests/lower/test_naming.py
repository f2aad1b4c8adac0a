import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arenite.lower.naming import MAX_NAME, c_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kws_ref_model", "kws_ref_model"),
        ("MobileNet-v2 (0.35).int8", "MobileNet_v2_0_35_int8"),
        ("2nd", "model_2nd"),
        ("int", "model_int"),
        ("class", "model_class"),
        ("string", "model_string"),
        ("arenite_port", "model_arenite_port"),
        ("NUL", "model_NUL"),
        ("_Reserved__name_", "Reserved_name"),
        ("Größe", "Gro_e"),
        ("naïve", "naive"),
        ("模型", "model"),
        ("", "model"),
        ('a"; */ #include', "a_include"),
    ],
)
def test_examples(text: str, name: str) -> None:
    assert c_name(text) == name


@given(st.text(max_size=200))
@example("x" * 500)
@example("\ud800")
def test_any_text_gives_a_safe_name(text: str) -> None:
    name = c_name(text)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
    assert "__" not in name
    assert len(name) <= MAX_NAME
    assert c_name(name) == name


def test_long_names_stay_apart() -> None:
    assert c_name("x" * 100 + "a") != c_name("x" * 100 + "b")
