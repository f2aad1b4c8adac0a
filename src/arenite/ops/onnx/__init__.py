"""The onnx dialect: names, attributes, definitions of its operators, and the engine that evaluates them.

Operators are called `onnx.Conv`, or `onnx.<domain>::<Operator>` outside the default domain. Nothing is imported here,
since `onnx` and `onnxruntime` take long to load.
"""
