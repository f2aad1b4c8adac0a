"""Errors that a user can act on. Each carries whole sentences, and all problems of its kind at once."""

from collections.abc import Iterable


class AreniteError(Exception):
    """A failure with a message for the user; the command line prints it and exits with `exit_status`.

    Attributes:
        problems: one sentence each: where (node, tensor, file offset), what was expected, what was found,
            what to do.
    """

    exit_status = 1

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class ModelError(AreniteError):
    """The model is damaged, or uses what Arenite does not have."""


class DataError(AreniteError):
    """Input or calibration data does not fit the model."""


class LimitError(AreniteError):
    """A limit that the user set (RAM, flash) cannot be met."""


class ToolError(AreniteError):
    """A compiler, emulator or other tool is missing or failed."""


class UsageError(AreniteError):
    """The command line was wrong."""

    exit_status = 2


class SelfCheckError(AreniteError):
    """Our own result failed its check: a defect of Arenite, never of the model."""

    exit_status = 3
