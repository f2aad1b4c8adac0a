"""TFLite's file format as tables (see `flat` for the notation).

Facts of the public TFLite schema, version 3 (LiteRT 2.3); a test compares every table, slot, enum and default with
LiteRT's own module.
"""

from functools import cache

from arenite.formats.tflite.flat import Schema, parse_schema
from arenite.formats.tflite.schema_enums import enums
from arenite.formats.tflite.schema_options import OPTIONS, OPTIONS_2
from arenite.formats.tflite.schema_options import TABLES as OPTION_TABLES

FILE_IDENTIFIER = b"TFL3"
FILE_VERSION = 3

_TABLES = """
CustomQuantization      custom:[uint8]
BlockwiseQuantization   scales:int32 zero_points:int32 block_size:int32 block_shape:[int32]
MultiAxisQuantization   scales:int32 zero_points:int32 block_size:int32 quantized_dimensions:[int32]
QuantizationParameters  min:[float32] max:[float32] scale:[float32] zero_point:[int64] details:union:QuantizationDetails quantized_dimension:int32
Int32Vector             values:[int32]
Uint16Vector            values:[uint16]
Uint8Vector             values:[uint8]
DimensionMetadata       format:DimensionType dense_size:int32 array_segments:union:SparseIndexVector array_indices:union:SparseIndexVector
SparsityParameters      traversal_order:[int32] block_map:[int32] dim_metadata:[DimensionMetadata]
VariantSubType          shape:[int32] type:TensorType has_rank:bool
Tensor                  shape:[int32] type:TensorType buffer:uint32 name:string quantization:QuantizationParameters is_variable:bool sparsity:SparsityParameters shape_signature:[int32] has_rank:bool variant_tensors:[VariantSubType] external_buffer:uint32
OperatorCode            deprecated_builtin_code:int8 custom_code:string version:int32=1 builtin_code:BuiltinOperator
Operator                opcode_index:uint32 inputs:[int32] outputs:[int32] builtin_options:union:BuiltinOptions custom_options:[uint8] custom_options_format:CustomOptionsFormat mutating_variable_inputs:[bool] intermediates:[int32] large_custom_options_offset:uint64 large_custom_options_size:uint64 builtin_options2:union:BuiltinOptions2 debug_metadata_index:int32=-1
SubGraph                tensors:[Tensor] inputs:[int32] outputs:[int32] operators:[Operator] name:string debug_metadata_index:int32=-1
Buffer                  data:[uint8] offset:uint64 size:uint64
ExternalBufferGroup     name:string
ExternalBuffer          id:uint32 group:uint32 offset:uint64 length:uint64 packing:string
Metadata                name:string buffer:uint32
TensorMap               name:string tensor_index:uint32
SignatureDef            inputs:[TensorMap] outputs:[TensorMap] signature_key:string _ subgraph_index:uint32
Model                   version:uint32 operator_codes:[OperatorCode] subgraphs:[SubGraph] description:string buffers:[Buffer] metadata_buffer:[int32] metadata:[Metadata] signature_defs:[SignatureDef] external_buffer_groups:[ExternalBufferGroup] external_buffers:[ExternalBuffer]
"""  # noqa: E501 - one table a line

_UNIONS = {
    "QuantizationDetails": ("CustomQuantization", "BlockwiseQuantization", "MultiAxisQuantization"),
    "SparseIndexVector": ("Int32Vector", "Uint16Vector", "Uint8Vector"),
    "BuiltinOptions": tuple(OPTIONS.split()),
    "BuiltinOptions2": tuple(OPTIONS_2.split()),
}


@cache
def tflite_schema() -> Schema:
    """The schema, parsed once."""
    return parse_schema((_TABLES, OPTION_TABLES), enums(), _UNIONS)
