"""Kernels that keep state."""

from arenite.kernels.families.weighted import OUTPUT_RANGE, fields
from arenite.kernels.manifest import Argument, Field, KernelInfo, Role

_HEADERS = ("arenite_fixedpoint.h", "arenite_port.h")


def _svdf(symbol: str, ctype: str, summary: str) -> KernelInfo:
    return KernelInfo(
        symbol=symbol,
        summary=summary,
        fields=(
            *fields("batches", "inputs", "units", "rank", "memory"),
            *fields("feature_multiplier", "feature_shift", "state_zero_point", "multiplier", "shift"),
            *OUTPUT_RANGE,
        ),
        arguments=(
            Argument("input", "int8_t", Role.INPUT),
            Argument("features", "int8_t", Role.CONSTANT),
            Argument("feature_biases", "int32_t", Role.CONSTANT),
            Argument("time", ctype, Role.CONSTANT),
            Argument("biases", "int32_t", Role.CONSTANT),
            Argument("state", ctype, Role.STATE),
            Argument("output", "int8_t", Role.OUTPUT),
        ),
        headers=(*_HEADERS, "arenite_svdf.h"),
    )


SVDF_S8 = _svdf("arenite_svdf_s8", "int8_t", "Features over time, int8, with a state of int8.")
SVDF_S8_S16 = _svdf("arenite_svdf_s8_s16", "int16_t", "Features over time, int8, with a state of int16.")

_LSTM = (
    *fields("batches", "steps", "inputs", "units", "time_major"),
    *(Field(f"{of}_{what}", length=4) for of in ("input", "recurrent") for what in ("multipliers", "shifts")),
    *fields("forget_multiplier", "forget_shift", "update_multiplier", "update_shift"),
    *fields("output_multiplier", "output_shift", "output_zero_point", "cell_bits", "clip"),
)
_LSTM_HEADERS = (*_HEADERS, "arenite_gates.h", "arenite_lstm.h", "arenite_sigmoid_s16.h")

LSTM_S8 = KernelInfo(
    symbol="arenite_lstm_s8",
    summary="A recurrent layer of four gates, int8, with a cell of int16: one unit's gates at a time, without scratch.",
    fields=_LSTM,
    arguments=(
        Argument("input", "int8_t", Role.INPUT),
        Argument("weights", "int8_t", Role.CONSTANT),
        Argument("biases", "int32_t", Role.CONSTANT),
        Argument("recurrent_weights", "int8_t", Role.CONSTANT),
        Argument("recurrent_biases", "int32_t", Role.CONSTANT),
        Argument("points", "uint16_t", Role.CONSTANT),
        Argument("output_state", "int8_t", Role.STATE),
        Argument("cell_state", "int16_t", Role.STATE),
        Argument("output", "int8_t", Role.OUTPUT),
    ),
    headers=_LSTM_HEADERS,
)

LSTM_S16 = KernelInfo(
    symbol="arenite_lstm_s16",
    summary="A recurrent layer of four gates, int16 with int8 weights: one unit's gates at a time, without scratch.",
    fields=_LSTM,
    arguments=(
        Argument("input", "int16_t", Role.INPUT),
        Argument("weights", "int8_t", Role.CONSTANT),
        Argument("biases", "int64_t", Role.CONSTANT),
        Argument("recurrent_weights", "int8_t", Role.CONSTANT),
        Argument("points", "uint16_t", Role.CONSTANT),
        Argument("output_state", "int16_t", Role.STATE),
        Argument("cell_state", "int16_t", Role.STATE),
        Argument("output", "int16_t", Role.OUTPUT),
    ),
    headers=(*_LSTM_HEADERS, "arenite_rescale_s64.h"),
)

ASSIGN = KernelInfo(
    symbol="arenite_assign",
    summary="Bytes copied into state.",
    fields=fields("nbytes"),
    arguments=(Argument("input", "uint8_t", Role.INPUT), Argument("state", "uint8_t", Role.STATE)),
    headers=("arenite_bytes.h", "arenite_port.h"),
)

KERNELS: tuple[KernelInfo, ...] = (SVDF_S8, SVDF_S8_S16, LSTM_S8, LSTM_S16, ASSIGN)
