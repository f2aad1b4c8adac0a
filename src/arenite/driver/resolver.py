"""Methods of TFLite-Micro's MicroMutableOpResolver, which register the operators that a model has."""

from arenite.ir.graph import Graph

_METHODS = {
    "conv2d": "AddConv2D",
    "depthwise_conv2d": "AddDepthwiseConv2D",
    "fully_connected": "AddFullyConnected",
    "average_pool2d": "AddAveragePool2D",
    "max_pool2d": "AddMaxPool2D",
    "mean": "AddMean",
    "add": "AddAdd",
    "sub": "AddSub",
    "mul": "AddMul",
    "relu": "AddRelu",
    "relu6": "AddRelu6",
    "logistic": "AddLogistic",
    "tanh": "AddTanh",
    "softmax": "AddSoftmax",
    "reshape": "AddReshape",
    "pad": "AddPad",
    "padv2": "AddPadV2",
    "concatenation": "AddConcatenation",
    "quantize": "AddQuantize",
    "dequantize": "AddDequantize",
    "abs": "AddAbs",
    "neg": "AddNeg",
    "square": "AddSquare",
    "sqrt": "AddSqrt",
    "rsqrt": "AddRsqrt",
    "exp": "AddExp",
    "log": "AddLog",
    "sin": "AddSin",
    "cos": "AddCos",
    "floor": "AddFloor",
    "ceil": "AddCeil",
    "round": "AddRound",
    "leaky_relu": "AddLeakyRelu",
    "prelu": "AddPrelu",
    "elu": "AddElu",
    "hard_swish": "AddHardSwish",
    "div": "AddDiv",
    "minimum": "AddMinimum",
    "maximum": "AddMaximum",
    "squared_difference": "AddSquaredDifference",
    "equal": "AddEqual",
    "not_equal": "AddNotEqual",
    "less": "AddLess",
    "less_equal": "AddLessEqual",
    "greater": "AddGreater",
    "greater_equal": "AddGreaterEqual",
    "logical_and": "AddLogicalAnd",
    "logical_or": "AddLogicalOr",
    "logical_not": "AddLogicalNot",
    "sum": "AddSum",
    "reduce_max": "AddReduceMax",
    "reduce_min": "AddReduceMin",
    "l2_normalization": "AddL2Normalization",
    "log_softmax": "AddLogSoftmax",
    "batch_matmul": "AddBatchMatMul",
}
UNKNOWN_TO_TFLITE_MICRO = frozenset({"pow", "relu_0_to_1", "relu_n1_to_1"})
"""Ops of TFLite that TFLite-Micro has no kernel for, so that no method registers them."""


def resolver_methods(graph: Graph) -> tuple[str, ...]:
    """The methods for the graph as it was read, sorted; that graph is what TFLite-Micro would run."""
    return tuple(sorted({_METHODS[node.op] for node in graph.nodes if node.op in _METHODS}))
