"""Passes over graphs of the onnx dialect, and what is known of their values before they run."""
