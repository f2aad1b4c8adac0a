"""Prints a program as C99. It decides nothing: what it prints was settled when the program was made."""

from arenite.codegen.bundle import include_dir, render

__all__ = ["include_dir", "render"]
