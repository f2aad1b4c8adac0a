"""Every layer's backward pass against central differences in float64."""

from collections.abc import Callable

import numpy as np
import pytest

from digitsnet.layers import Add, Array, Conv, Dense, DepthwiseConv, Flatten, Layer, MaxPool, Params, same_padding
from digitsnet.network import cross_entropy, digits_network
from digitsnet.training import shift_images

STEP = 1e-6


def numeric_gradient(f: Callable[[], float], variable: Array) -> Array:
    """df/dvariable by central differences; `f` reads `variable`, which is changed in place and restored."""
    gradient = np.zeros_like(variable)
    for index in np.ndindex(variable.shape):
        kept = variable[index]
        variable[index] = kept + STEP
        above = f()
        variable[index] = kept - STEP
        below = f()
        variable[index] = kept
        gradient[index] = (above - below) / (2 * STEP)
    return gradient


def off_the_kinks(params: Params, rng: np.random.Generator) -> Params:
    """Moves parameters at random: biases of 0 put ReLUs whose inputs are all 0 exactly where they have no gradient."""
    return {key: value + 0.1 * rng.standard_normal(value.shape) for key, value in params.items()}


LAYERS: list[tuple[Layer, tuple[tuple[int, ...], ...]]] = [
    (Conv("c", ("x",), 2, 3), ((2, 4, 5, 2),)),
    (Conv("c", ("x",), 2, 3, relu=False), ((1, 3, 3, 2),)),
    (Conv("c", ("x",), 2, 3, stride=2), ((2, 4, 5, 2),)),
    (Conv("c", ("x",), 3, 2, kernel=1), ((1, 3, 4, 3),)),
    (Conv("c", ("x",), 1, 2, kernel=1, stride=2), ((1, 5, 4, 1),)),
    (DepthwiseConv("d", ("x",), 3), ((2, 4, 3, 3),)),
    (DepthwiseConv("d", ("x",), 3, stride=2, relu=False), ((1, 5, 4, 3),)),
    (MaxPool("p", ("x",)), ((2, 4, 6, 3),)),
    (MaxPool("p", ("x",), size=3), ((1, 3, 6, 2),)),
    (Add("a", ("x", "z")), ((2, 3, 3, 2), (2, 3, 3, 2))),
    (Add("a", ("x", "z"), relu=False), ((1, 2, 2, 2), (1, 2, 2, 2))),
    (Flatten("f", ("x",)), ((2, 2, 3, 2),)),
    (Dense("l", ("x",), 5, 4), ((3, 5),)),
]


@pytest.mark.parametrize(("layer", "shapes"), LAYERS, ids=lambda case: str(case)[:60])
def test_backward_agrees_with_finite_differences(layer: Layer, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(3)
    xs = tuple(rng.standard_normal(shape) for shape in shapes)
    params = off_the_kinks(layer.init(rng), rng)
    y = layer.forward(params, *xs)
    weights = rng.standard_normal(y.shape)

    def objective() -> float:
        return float((layer.forward(params, *xs) * weights).sum())

    d_xs, gradients = layer.backward(params, xs, y, weights)
    for x, d_x in zip(xs, d_xs, strict=True):
        np.testing.assert_allclose(d_x, numeric_gradient(objective, x), rtol=1e-6, atol=1e-7)
    assert gradients.keys() == params.keys()
    for key, value in params.items():
        np.testing.assert_allclose(gradients[key], numeric_gradient(objective, value), rtol=1e-6, atol=1e-7)


def test_cross_entropy_agrees_with_finite_differences() -> None:
    rng = np.random.default_rng(4)
    logits = rng.standard_normal((3, 5)) * 4
    labels = np.array([0, 4, 2])
    _, gradient = cross_entropy(logits, labels)
    numeric = numeric_gradient(lambda: cross_entropy(logits, labels)[0], logits)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-9)


def test_the_whole_network_back_propagates_through_its_branches() -> None:
    rng = np.random.default_rng(5)
    network = digits_network()
    params = {layer.name: off_the_kinks(layer.init(rng), rng) for layer in network.layers}
    images, labels = rng.random((2, 8, 8, 1)), np.array([3, 8])
    _, gradients = network.loss_and_gradients(params, images, labels)
    for layer, values in params.items():
        for key, value in list(values.items()):
            # Along one random direction per parameter: thousands of single differences would take minutes.
            direction = rng.standard_normal(value.shape)
            losses = []
            for step in (STEP, -STEP):
                values[key] = value + step * direction
                losses.append(network.loss_and_gradients(params, images, labels)[0])
            values[key] = value
            numeric = (losses[0] - losses[1]) / (2 * STEP)
            assert numeric == pytest.approx((gradients[layer][key] * direction).sum(), rel=1e-5, abs=1e-8), (layer, key)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(4, 4), (5, 4), (7, 3)])
def test_convolution_is_the_sum_over_its_window(size: tuple[int, int], stride: int) -> None:
    rng = np.random.default_rng(6)
    layer = Conv("c", ("x",), 2, 3, stride=stride, relu=False)
    params = layer.init(rng)
    params["bias"] += rng.standard_normal(3)
    x = rng.standard_normal((1, *size, 2))
    y = layer.forward(params, x)
    rows, top, _ = same_padding(size[0], 3, stride)
    columns, left, _ = same_padding(size[1], 3, stride)
    assert y.shape == (1, rows, columns, 3)
    for oy, ox, o in np.ndindex(rows, columns, 3):
        total = params["bias"][o]
        for i, j, c in np.ndindex(3, 3, 2):
            iy, ix = oy * stride + i - top, ox * stride + j - left
            if 0 <= iy < size[0] and 0 <= ix < size[1]:
                total += x[0, iy, ix, c] * params["weights"][o, i, j, c]
        assert y[0, oy, ox, o] == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_shifts_move_images_and_fill_with_zeros() -> None:
    image = np.zeros((3, 4, 4, 1), np.float32)
    image[:, 1, 2] = 1
    shifted = shift_images(image, np.array([[0, 0], [0.25, 0], [0, -0.5]], np.float32))
    expected = np.zeros((3, 4, 4), np.float32)
    expected[0, 1, 2] = 1
    expected[1, 1:3, 2] = 0.75, 0.25
    expected[2, 1, 1:3] = 0.5, 0.5
    np.testing.assert_array_equal(shifted[..., 0], expected)
    edge = shift_images(np.ones((1, 2, 2, 1), np.float32), np.array([[0.5, 0]], np.float32))
    np.testing.assert_array_equal(edge[0, ..., 0], [[0.5, 0.5], [1, 1]])
