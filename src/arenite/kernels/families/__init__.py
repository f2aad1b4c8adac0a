"""Facts of each family's C kernels: a module per family, each ending in a tuple KERNELS."""
