"""Definitions of ONNX's operators, taken from the schemas of the model's own opsets when they are asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

from onnx import FunctionProto, defs

from arenite.ir.graph import Array, Node
from arenite.ir.opdef import NotApplicable, OpCall, OpDef, Operand, OpError, Registry, Trait
from arenite.ir.types import TensorType
from arenite.ops.onnx.attrs import OnnxAttrs
from arenite.ops.onnx.names import is_onnx, op_name, split_op

OLDEST_OPSET = 7
"""Before it, operators broadcast by attributes, and nothing here evaluates them."""

Evaluator = Callable[[OpCall, Sequence[Array | None]], tuple[Array, ...]]

_RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
_CONTROL_FLOW = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_VIEWS = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"})
_COMMUTATIVE = frozenset(
    {"Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Sum", "Mean"}
)
_ELEMENTWISE_WORDS = """
Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Clip
Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN
LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Shrink Sigmoid
Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where Xor"""
_ELEMENTWISE = frozenset(_ELEMENTWISE_WORDS.split())


class OnnxRegistry(Registry):
    """The operators of ONNX in some opsets, the functions of one model, and what was added. Definitions appear lazily.

    Attributes:
        opsets: version by domain.
        declared: the model's own functions.
        functions: those of them that a call may mean, by op name: where ONNX has an operator of that name, runtimes
            run this.
        pure: names of ops whose users say that they are pure.
    """

    dialect = "onnx"

    def __init__(
        self,
        opsets: Mapping[str, int],
        *,
        functions: Sequence[FunctionProto] = (),
        pure: Iterable[str] = (),
        evaluator: Callable[["OnnxRegistry", str], Evaluator | NotApplicable] | None = None,
    ) -> None:
        super().__init__()
        self.opsets = dict(opsets)
        self.declared = tuple(functions)
        named = {op_name(function.domain, function.name): function for function in functions}
        self.functions = {op: function for op, function in named.items() if not is_standard(op)}
        self.pure = frozenset(pure)
        self._evaluator = evaluator
        self._misses: set[str] = set()

    def opset(self, domain: str) -> int:
        """The version of a domain; 1 where the file does not say."""
        return self.opsets.get(domain, 1)

    def __getitem__(self, name: str) -> OpDef:
        found = self._definitions.get(name)
        if found is None:
            if name in self._misses:
                raise KeyError(name)
            found = self._define(name)
            if found is None:
                self._misses.add(name)
                raise KeyError(name)
            self._definitions[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        version = self.opset("")
        names = {op_name("", s.name) for s in defs.get_all_schemas() if s.domain == "" and s.since_version <= version}
        return iter(sorted(names | set(self._definitions) | set(self.functions)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def extended_with(self, definitions: Iterable[OpDef]) -> "OnnxRegistry":
        """A registry where these ops have these definitions.

        Raises:
            ValueError: an op is defined twice.
        """
        added = Registry(definitions)
        copy = OnnxRegistry(self.opsets, functions=self.declared, pure=self.pure, evaluator=self._evaluator)
        copy._definitions.update(self._definitions)
        copy._definitions.update(added)
        return copy

    def schema(self, op: str) -> defs.OpSchema | None:
        """The schema of an op in the model's opset; None when ONNX has none."""
        domain, operator = split_op(op)
        version = min(max(self.opset(domain), 1), _NEWEST)
        try:
            return defs.get_schema(operator, version, domain)
        except defs.SchemaError:
            return None

    def why_impure(self, node: Node) -> str | None:
        """Why a node may not be computed beforehand, merged with its like, or left out; None when it may be all that.

        A node with nested graphs is as its nodes are; so is a call of a function of the model.
        """
        definition = self.get(node.op)
        if definition is None:
            return "its operator is not known"
        if split_op(node.op) == ("", "Dropout") and _trains(node):
            return "it drops at random: its training mode is on, or not known"
        if not definition.is_foldable and not is_control_flow(node) and split_op(node.op) != ("", "Dropout"):
            if Trait.PURE not in definition.traits:
                return f"nobody says that {node.op.removeprefix('onnx.')} is pure"
            return "its results are random"
        for region in node.regions:
            for inner in region.nodes:
                if (reason := self.why_impure(inner)) is not None:
                    return f"'{inner.name}' inside it: {reason}"
        return None

    def _define(self, name: str) -> OpDef | None:
        if not is_onnx(name):
            return None
        function = self.functions.get(name)
        if function is not None:
            return self._definition(name, self._function_facts(function))
        schema = self.schema(name)
        if schema is not None and not schema.deprecated:
            return self._definition(name, _schema_facts(schema))
        if split_op(name)[0] == "com.microsoft" and find_spec("onnxruntime") is not None:
            return self._definition(name, _Facts("an operator of onnxruntime", _ANY, ("results",), frozenset(), _MANY))
        if name in self.pure:
            return self._definition(name, _Facts("declared pure", _ANY, ("results",), _PURE, _MANY))
        return None

    def _function_facts(self, function: FunctionProto) -> "_Facts":
        opsets = {opset.domain: opset.version for opset in function.opset_import}
        inner = OnnxRegistry(opsets or self.opsets, functions=self.declared, pure=self.pure)
        traits = _PURE
        for proto in function.node:
            name = op_name(proto.domain, proto.op_type)
            definition = inner.get(name)
            training = (proto.domain, proto.op_type) == ("", "Dropout") and len(proto.input) > 2
            if definition is None or not definition.is_foldable or training or proto.op_type in _CONTROL_FLOW:
                traits = frozenset()
        operands = tuple(Operand(item, optional=True) for item in function.input)
        most = (0, len(function.output))
        return _Facts(f"the model's function {function.name}", operands, tuple(function.output), traits, most)

    def _definition(self, name: str, facts: "_Facts") -> OpDef:
        traits = facts.traits | (_PURE if name in self.pure else frozenset())
        evaluate = NotApplicable("no engine was given") if self._evaluator is None else self._evaluator(self, name)
        return OpDef(
            name=name,
            summary=facts.summary,
            attrs=OnnxAttrs,
            operands=facts.operands,
            result_names=facts.results,
            traits=traits,
            infer=_declared,
            evaluate_float=evaluate,
            evaluate_quantized=evaluate,
            cost=NotApplicable("costs are counted in the core dialect"),
            quantization=NotApplicable("quantization happens in the core dialect"),
            canonicalize=NotApplicable("ONNX's attributes have no simpler form"),
            n_results=facts.n_results,
        )


def is_standard(op: str) -> bool:
    """Whether ONNX has an operator of that name, in whatever version.

    Where a model has a function of the same name, ONNX leaves it to runtimes which of both a call means. onnxruntime
    and onnx.reference run the operator.
    """
    domain, operator = split_op(op)
    return bool(defs.has(operator, domain=domain))


def is_control_flow(node: Node) -> bool:
    """Whether a node runs the graphs that it holds."""
    return bool(node.regions) and split_op(node.op)[0] == "" and split_op(node.op)[1] in _CONTROL_FLOW


@dataclass(frozen=True)
class _Facts:
    summary: str
    operands: tuple[Operand, ...]
    results: tuple[str, ...]
    traits: frozenset[Trait]
    n_results: tuple[int, int] | None = None


_PURE = frozenset({Trait.PURE, Trait.DETERMINISTIC})
_NEWEST = 2**31 - 1
_MANY = (0, 2**31)
_ANY = (Operand("operands", optional=True, variadic=True),)


def _schema_facts(schema: defs.OpSchema) -> _Facts:
    option = defs.OpSchema.FormalParameterOption
    operands = tuple(
        Operand(
            item.name,
            # Those of Loop are optional before values that are not, so that a least count says nothing of them.
            optional=item.option == option.Optional or (item.option == option.Variadic and index >= schema.min_input),
            variadic=item.option == option.Variadic,
        )
        for index, item in enumerate(schema.inputs)
    )
    traits = {Trait.PURE, Trait.DETERMINISTIC}
    if schema.domain == "":
        # Whether these are, a node decides: see `why_impure`.
        may_drop = schema.name == "Dropout" and schema.since_version >= 12
        if schema.name in _RANDOM or schema.name in _CONTROL_FLOW or may_drop:
            traits.discard(Trait.DETERMINISTIC)
        traits |= {trait for trait, names in _NAMED.items() if schema.name in names}
    summary = f"{schema.domain or 'ai.onnx'} {schema.name}, version {schema.since_version}"
    names = tuple(item.name for item in schema.outputs)
    return _Facts(summary, operands, names, frozenset(traits), (schema.min_output, schema.max_output))


_NAMED = {Trait.VIEW: _VIEWS, Trait.COMMUTATIVE: _COMMUTATIVE, Trait.ELEMENTWISE: _ELEMENTWISE}


def _declared(call: OpCall) -> tuple[TensorType, ...]:
    return call.results


def _trains(node: Node) -> bool:
    mode = node.optional_operand(2)
    return mode is not None and (mode.constant is None or bool(mode.constant.any()))


def pure_name(text: str) -> str:
    """The op that `DOMAIN::OP` on the command line means.

    Raises:
        OpError: it is not of that form.
    """
    domain, separator, operator = text.rpartition("::")
    if not operator or not separator:
        raise OpError(f"'{text}' is not DOMAIN::OP")
    return op_name(domain, operator)


def with_fold(registry: OnnxRegistry, op: str, fold: Evaluator) -> OnnxRegistry:
    """A registry where nodes of a custom op are pure and folded by a function.

    Args:
        registry: the model's.
        op: its name, `onnx.<domain>::<Operator>`.
        fold: gives the results from the operands' arrays.
    """
    known = registry.get(op) or registry._definition(op, _Facts("declared pure", _ANY, ("results",), _PURE, _MANY))
    traits = known.traits | _PURE
    return registry.extended_with(
        [replace(known, traits=traits, evaluate_float=fold, evaluate_quantized=fold, fold=fold)]
    )
