"""Wires the layers together. It holds no algorithm of its own."""
