"""The result of a compilation as plain data, and its pictures. Renders; computes nothing of the model."""
