"""What a caller from Python asks for, checked as the command line checks it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from arenite._base.errors import UsageError
from arenite.codegen.project import BundleKind
from arenite.driver.convert_result import ConvertOptions, PadAs
from arenite.driver.optimize_result import OptimizeOptions
from arenite.driver.options import CompileOptions, ObjectiveName, Simulate
from arenite.driver.toolbox import default_toolbox


def check_compile_options(options: CompileOptions) -> None:
    """Refuse words that are none, negative numbers, and passes that are not there.

    Raises:
        UsageError: all problems.
    """
    words = (
        ("optimize", options.objective, get_args(ObjectiveName)),
        ("simulate", options.simulate, get_args(Simulate)),
        ("bundle", options.bundle, get_args(BundleKind)),
    )
    problems = [*_unknown_words(words)]
    numbers = {
        "ram_limit_nbytes": options.ram_limit_nbytes,
        "flash_limit_nbytes": options.flash_limit_nbytes,
        "fold_max_nbytes": options.fold_max_nbytes,
    }
    problems += _negative(numbers)
    problems += _unknown_passes(options.without, [each.name for each in default_toolbox().passes])
    if problems:
        raise UsageError(problems)


def check_convert_options(options: ConvertOptions) -> None:
    """Refuse words that are none, and negative numbers.

    Raises:
        UsageError: all problems.
    """
    problems = [
        *_unknown_words((("pad", options.pad, get_args(PadAs)),)),
        *_negative({"fold_max_nbytes": options.optimize.fold_max_nbytes, "check": options.optimize.check}),
    ]
    if problems:
        raise UsageError(problems)


def check_optimize_options(options: OptimizeOptions) -> None:
    """Refuse negative numbers, and passes that neither format has.

    Raises:
        UsageError: all problems.
    """
    from arenite.passes.onnx.presets import onnx_passes  # noqa: PLC0415 - heavy
    from arenite.passes.presets import file_passes  # noqa: PLC0415 - heavy

    passes = (*default_toolbox().passes, *file_passes(), *onnx_passes(opset=1 << 31))
    problems = [*_negative({"fold_max_nbytes": options.fold_max_nbytes, "check": options.check})]
    problems += _unknown_passes(options.without, [each.name for each in passes])
    if problems:
        raise UsageError(problems)


def _unknown_words(words: Iterable[tuple[str, str, Sequence[str]]]) -> Iterator[str]:
    for name, word, known in words:
        if word not in known:
            yield f"{name}: expected {', '.join(known[:-1])} or {known[-1]}, found {word!r}"


def _negative(numbers: dict[str, int | None]) -> Iterator[str]:
    for name, number in numbers.items():
        if number is not None and number < 0:
            yield f"{name}: expected 0 or more, found {number}"


def _unknown_passes(names: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"without: no pass is called {name!r}; there are {', '.join(sorted(set(known)))}"
