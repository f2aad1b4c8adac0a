"""Between real and stored numbers: quantize (also from one quantization to another), dequantize."""

from arenite.ir.opdef import OpDef

OPS: tuple[OpDef, ...] = ()
