"""Finds what the family modules of a package define, so that no list of modules is kept by hand."""

import importlib
import pkgutil


def collect(package: str, attribute: str) -> tuple[object, ...]:
    """The elements of every tuple called `attribute` in the modules directly inside a package, by module name.

    Args:
        package: dotted name; its nested packages are not looked into.
        attribute: such as `OPS`; modules without it are passed over.
    """
    root = importlib.import_module(package)
    names = sorted(info.name for info in pkgutil.iter_modules(root.__path__) if not info.ispkg)
    modules = (importlib.import_module(f"{package}.{name}") for name in names)
    return tuple(element for module in modules for element in vars(module).get(attribute, ()))
