"""Products of matrices: fully connected layers where the weights are constant, else batches of products."""

import numpy as np

from arenite.ir.graph import Node
from arenite.ops.dense import FullyConnectedAttrs
from arenite.passes.legalize.orders import as_in_onnx
from arenite.passes.legalize.refusal import RefusedError
from arenite.passes.legalize.rule import Rule
from arenite.passes.legalize.site import Site, attributes


def _gemm(site: Site, node: Node) -> None:
    attrs = attributes(node)
    weights = np.asarray(site.required_constant(node, 1, "B"), np.float32)
    weights = (weights if attrs.integer("transB", 0) else weights.T) * np.float32(attrs.number("alpha", 1.0))
    data = site.get(node.operand(0), (1, 0) if attrs.integer("transA", 0) else (0, 1))
    bias = site.constant(node.optional_operand(2))
    if node.optional_operand(2) is not None:
        bias = np.asarray(site.required_constant(node, 2, "C"), np.float32) * np.float32(attrs.number("beta", 1.0))
        if bias.size not in (1, len(weights)) or (bias.ndim > 1 and bias.shape[0] != 1):
            raise RefusedError(f"C must have one element for each of {len(weights)} columns, but is {list(bias.shape)}")
        bias = np.broadcast_to(bias.reshape(-1), len(weights))
    operands = [
        data,
        site.const("weights", np.ascontiguousarray(weights)),
        None if bias is None else site.const("bias", np.ascontiguousarray(bias)),
    ]
    site.give(node.results[0], "fully_connected", operands)


def _matmul(site: Site, node: Node) -> None:
    data, weights = node.operand(0), site.constant(node.operand(1))
    rank = site.rank(data)
    if weights is None or weights.ndim != 2 or rank < 2:
        raise RefusedError("operand B must be constant and have two dimensions")
    operands = [site.get(data), site.const("weights", np.ascontiguousarray(weights.T))]
    attrs = FullyConnectedAttrs(keep_dims=rank > 2)
    site.give(node.results[0], "fully_connected", operands, attrs, order=as_in_onnx(rank))


RULES = (Rule("Gemm", _gemm), Rule("MatMul", _matmul))
