"""The ladder: tflite-micro == interpreter == poisoned arena == host C == simulated Cortex-M4, byte for byte."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import oracle
from arenite._base.errors import ModelError
from arenite.driver.build import Build, build
from arenite.driver.firmware import Firmware, SimulatorEngine
from arenite.driver.load import load_model
from arenite.driver.native import NativeEngine
from arenite.driver.options import CompileOptions
from arenite.interp.interpreter import Interpreter
from arenite.lower import arena, kernels
from arenite.lower.program import Port
from arenite.ops import core_registry
from arenite.toolchain import firmware_compiler, host_compiler

Array = npt.NDArray[np.generic]
Feeds = list[list[Array]]

ROOT = Path(__file__).resolve().parents[2]
ZOO = ROOT.parent / "shared" / "models" / "tflite"
DIGITS = ROOT / "examples" / "digits" / "digits.tflite"
SMALL = ["tflm_hello_world_int8", "mlperf_ad_int8", "tflm_micro_speech_int8"]
LARGE = [
    "mlperf_kws_int8",
    "mlperf_vww_int8",
    "mlperf_ic_int8",
    "tinymaix_cifar10_int8",
    "mltk_fingerprint_signature",
    "mltk_rock_paper_scissors",
    "tflm_keyword_scrambled_int8",
    "coral_keras_lstm_mnist_ptq",
    "mww_okay_nabu_v2",
    "tflm_micro_speech_lstm",
]
# On a few inputs only: they take seconds each.
HUGE = ["nxp_yolo_face_detect", "tinyengine_detection", "xtensa_mobilenetv2_from_pytorch_int8"]


def _cases() -> list[object]:
    zoo = [pytest.param(ZOO / f"{name}.tflite", marks=pytest.mark.shared, id=name) for name in SMALL]
    slow = (pytest.mark.shared, pytest.mark.slow)
    zoo += [pytest.param(ZOO / f"{name}.tflite", marks=slow, id=name) for name in (*LARGE, *HUGE)]
    return [pytest.param(DIGITS, id="digits"), *zoo]


CUSTOM = (
    "SignalEnergy",
    "SignalFftAutoScale",
    "SignalFilterBank",
    "SignalFilterBankLog",
    "SignalFilterBankSpectralSubtraction",
    "SignalFilterBankSquareRoot",
    "SignalPCAN",
    "SignalRfft",
    "SignalWindow",
)

pytestmark = pytest.mark.wheel


def _patterns(ports: tuple[Port, ...], invocations: int) -> Iterator[tuple[str, Feeds]]:
    """Inputs that reach ordinary values, both ends of the range, and the zero point."""
    generator = np.random.default_rng(7)

    def random(port: Port) -> Array:
        if port.dtype.is_float:
            return generator.normal(0, 1, port.shape).astype(port.dtype.numpy)
        low, high = port.dtype.limits
        return generator.integers(low, high, port.shape, endpoint=True).astype(port.dtype.numpy)

    yield "random", [[random(port) for port in ports] for _ in range(invocations)]
    for name in ("minimum", "maximum", "zero point"):
        yield name, [[_constant(port, name) for port in ports]]


def _constant(port: Port, name: str) -> Array:
    if port.dtype.is_float:
        value = {"minimum": -4.0, "maximum": 4.0, "zero point": 0.0}[name]
    else:
        low, high = port.dtype.limits
        value = {"minimum": low, "maximum": high, "zero point": port.zero_point or 0}[name]
    return np.full(port.shape, value, port.dtype.numpy)


@dataclass(frozen=True)
class Case:
    """A model made into C, and for each pattern the inputs and what TFLite-Micro makes of them."""

    build: Build
    expected: dict[str, tuple[Feeds, Feeds]]


@pytest.fixture(scope="module", params=_cases())
def case(request: pytest.FixtureRequest) -> Case:
    path: Path = request.param
    built = build(load_model(path), CompileOptions(), lambda _: None)
    data = path.read_bytes()
    feeds = dict(_patterns(built.program.inputs, invocations=20 if built.program.states else 2))
    if path.stem in HUGE:
        feeds = {"random": feeds["random"][:1]}
    return Case(built, {name: (feed, oracle.run_wheel(data, feed)) for name, feed in feeds.items()})


def _same(name: str, got: Feeds, want: Feeds) -> None:
    for step, (outputs, references) in enumerate(zip(got, want, strict=True)):
        for index, (output, reference) in enumerate(zip(outputs, references, strict=True)):
            assert output.dtype == reference.dtype
            assert output.shape == reference.shape
            differing = np.flatnonzero(output.ravel() != reference.ravel())
            assert differing.size == 0, f"{name}, invocation {step}, output {index}: {differing.size} elements differ"


def test_interpreter(case: Case) -> None:
    interpreter = Interpreter(case.build.model.graph, core_registry())
    for name, (feeds, want) in case.expected.items():
        interpreter.reset()
        _same(name, [interpreter.run(feed) for feed in feeds], want)


def test_passes_keep_the_bytes(case: Case) -> None:
    interpreter = Interpreter(case.build.graph, core_registry())
    for name, (feeds, want) in case.expected.items():
        interpreter.reset()
        _same(name, [interpreter.run(feed) for feed in feeds], want)


def test_poisoned_arena(case: Case) -> None:
    available = kernels()
    for name, (feeds, want) in case.expected.items():
        states = arena.States(case.build.program)
        _same(name, [arena.run(case.build.program, available, feed, states=states) for feed in feeds], want)


@pytest.mark.parametrize(
    "compiler", [pytest.param("gcc", marks=pytest.mark.gcc), pytest.param("zig", marks=pytest.mark.zig)]
)
def test_host_c(case: Case, compiler: str) -> None:
    with NativeEngine(case.build, host_compiler(compiler)) as engine:
        for name, (feeds, want) in case.expected.items():
            engine.reset()
            _same(name, [engine.invoke(feed) for feed in feeds], want)


@pytest.mark.unicorn
@pytest.mark.parametrize(
    "compiler",
    [pytest.param("zig", marks=pytest.mark.zig), pytest.param("arm-none-eabi-gcc", marks=pytest.mark.arm_gcc)],
)
def test_simulated_cortex_m4(case: Case, compiler: str) -> None:
    with Firmware.link(case.build, case.build.target, firmware_compiler(compiler)) as firmware:
        engine = SimulatorEngine(firmware)
        for name, (feeds, want) in case.expected.items():
            engine.reset()
            _same(name, [engine.invoke(feed) for feed in feeds], want)
            assert engine.last is not None
            assert sum(bucket.instructions for bucket in engine.last.buckets.values()) == engine.last.instructions


@pytest.mark.shared
@pytest.mark.parametrize("compiled", [False, True])
def test_a_model_of_custom_operators_is_refused_by_name(compiled: bool) -> None:
    """The only integer model of the zoo that TFLite-Micro runs and Arenite does not."""
    model = load_model(ZOO / "tflm_audio_preprocessor_int8.tflite")
    with pytest.raises(ModelError) as error:
        build(model, CompileOptions(), lambda _: None) if compiled else Interpreter(model.graph, core_registry())
    assert set(re.findall(r"tflite\.custom\.(\w+)", str(error.value))) == set(CUSTOM)
