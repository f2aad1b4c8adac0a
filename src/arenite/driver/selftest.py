"""The self-test's vector: what the model as it was read makes of made-up inputs."""

from arenite.codegen.selftest import Inputs, Vector
from arenite.driver.build import MOST_WORK, Build
from arenite.interp import interpreter_for
from arenite.passes.differential import work_of

_INVOCATIONS_WITH_STATE = 3
_MOST_OUTPUT_NBYTES = 2**16


def make_vector(build: Build) -> Vector | None:
    """Expected outputs by the interpreter, which knows nothing of kernels and plans.

    None where they would take more flash than a test is worth, or some minutes of this computer.
    """
    program, graph = build.program, build.model.graph
    invocations = _INVOCATIONS_WITH_STATE if program.states else 1
    if invocations * sum(port.nbytes for port in program.outputs) > _MOST_OUTPUT_NBYTES:
        return None
    if work_of(graph, build.tools.registry) > MOST_WORK:
        return None
    interpreter = interpreter_for(graph, build.tools.registry)
    inputs = Inputs()
    return Vector(tuple(tuple(interpreter.run(inputs.next(program.inputs))) for _ in range(invocations)))
