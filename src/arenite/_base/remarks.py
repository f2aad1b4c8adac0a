"""Remarks: what a pass did or did not do, as records that a person can read and a program can query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class RemarkKind(Enum):
    """PASSED: the transformation was made. MISSED: a candidate was refused. ANALYSIS: a fact that was found."""

    PASSED = "passed"
    MISSED = "missed"
    ANALYSIS = "analysis"


@dataclass(frozen=True)
class Reason:
    """Why a candidate was taken or refused.

    Attributes:
        slug: kebab-case, stable, unique within its pass: what programs match on.
        template: the sentence a person reads, with `{argument}` places.
    """

    slug: str
    template: str

    def text(self, arguments: Mapping[str, object]) -> str:
        return self.template.format_map(dict(arguments))


@dataclass(frozen=True)
class Remark:
    """One verdict of one pass on one subject.

    Attributes:
        pass_name: the pass that speaks.
        subject: the node or value it speaks of, by its name at that time.
        arguments: what fills the reason's places.
        origin: names of the source operators that the subject came from.
    """

    kind: RemarkKind
    pass_name: str
    reason: Reason
    subject: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    origin: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.reason.text({"subject": self.subject, **self.arguments})

    def to_json(self) -> dict[str, object]:
        """The record as report.json stores it."""
        return {
            "kind": self.kind.value,
            "pass": self.pass_name,
            "reason": self.reason.slug,
            "subject": self.subject,
            "text": self.text,
            "origin": list(self.origin),
        }
