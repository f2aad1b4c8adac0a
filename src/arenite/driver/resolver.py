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
}


def resolver_methods(graph: Graph) -> tuple[str, ...]:
    """The methods for the graph as it was read, sorted; that graph is what TFLite-Micro would run."""
    return tuple(sorted({_METHODS[node.op] for node in graph.nodes if node.op in _METHODS}))
