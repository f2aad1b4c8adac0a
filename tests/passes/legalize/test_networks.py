"""Made-up networks, legalized, compute what they did."""

from hypothesis import given
from hypothesis import strategies as st

from passes.legalize.moves import ops_of
from passes.legalize.nets import made

STEPS = st.lists(st.integers(0, 1 << 30), min_size=1, max_size=16)


@given(STEPS)
def test_made_up_networks(numbers: list[int]) -> None:
    model, kept = made(numbers)
    ops_of(model, keep=kept, tolerance=1e-4)
