"""Small onnx models for what converts them."""

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

NET = """<ir_version: 8, opset_import: ["": 17]>
g (float[N, 3, 12, 10] image) => (float[A, 5] y, float[A, 8, 3, 2] map)
{
    c0 = Conv <pads: ints = [1, 1, 1, 1], strides: ints = [2, 2]> (image, w0, b0)
    r0 = Relu (c0)
    c1 = Conv <pads: ints = [1, 1, 1, 1], group: int = 8> (r0, w1, b1)
    r1 = Clip (c1, low, high)
    m = MaxPool <kernel_shape: ints = [2, 2], strides: ints = [2, 2]> (r1)
    c2 = Conv (m, w2, b2)
    map = Add (c2, m)
    p = GlobalAveragePool (map)
    f = Flatten (p)
    y = Gemm <transB: int = 1> (f, w3, b3)
}"""
"""What nets for images are made of; its batch is open."""

WEIGHTS = {
    "w0": (8, 3, 3, 3),
    "b0": (8,),
    "w1": (8, 1, 3, 3),
    "b1": (8,),
    "w2": (8, 8, 1, 1),
    "b2": (8,),
    "w3": (5, 8),
    "b3": (5,),
}


def net(text: str = NET) -> onnx.ModelProto:
    """A model of the text, with weights made up; nodes have the names of their results."""
    model = onnx.parser.parse_model(text)
    rng = np.random.default_rng(7)
    arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in WEIGHTS.items()}
    arrays |= {"low": np.zeros((), np.float32), "high": np.full((), 6, np.float32)}
    used = {name for node in model.graph.node for name in node.input}
    for name, array in arrays.items():
        if name in used:
            model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    for node in model.graph.node:
        node.name = f"n_{node.output[0]}"
    return model
