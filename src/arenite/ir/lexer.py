"""Tokens of the text form of graphs."""

import bisect
import re
from dataclasses import dataclass
from enum import Enum

from arenite._base.errors import ModelError


class TokenKind(Enum):
    """What a token is; the value is what an error message calls it."""

    VALUE = "a value (%name)"
    NODE = "a name (@name)"
    STRING = "a string"
    HEX = 'bytes (x"...")'
    HASH = "a content hash"
    NUMBER = "a number"
    WORD = "a word"
    PUNCTUATION = "punctuation"
    END = "the end of the text"


@dataclass(frozen=True)
class Token:
    """A token. `text` has quotes, escapes and sigils taken off; `offset` counts characters."""

    kind: TokenKind
    text: str
    offset: int

    def __str__(self) -> str:
        if self.kind is TokenKind.END:
            return str(self.kind.value)
        return f"'{self.text if len(self.text) <= 40 else self.text[:37] + '...'}'"


_STRING = r'"(?:[^"\\\n]|\\[^\n])*"'
_TOKEN = re.compile(
    rf"""(?P<SKIP>[ \t\r\n]+|\#[^\n]*)
      |%(?P<VALUE>{_STRING}|[A-Za-z0-9_./;\-]+)
      |@(?P<NODE>{_STRING}|[A-Za-z0-9_./;\-]+)
      |x"(?P<HEX>(?:[0-9a-f][0-9a-f])*)"
      |(?P<HASH>sha256:[0-9a-f]{{64}})
      |(?P<STRING>{_STRING})
      |(?P<PUNCTUATION>->|[(){{}}\[\],:=*])
      |(?P<NUMBER>-?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|inf|nan)(?![A-Za-z0-9_]))
      |(?P<WORD>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|U[0-9a-f]{8}|.)")


class Lexer:
    """Splits a text into tokens, and tells where an offset is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def error(self, offset: int, problem: str) -> ModelError:
        """An error that names line and column (both from 1); what it quotes can be printed."""
        line = bisect.bisect_right(self._line_starts, offset)
        column = offset - self._line_starts[line - 1] + 1
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in problem)
        return ModelError(f"{line}:{column}: {shown}")

    def tokens(self) -> list[Token]:
        """All tokens, END last.

        Raises:
            ModelError: a character starts no token, or an escape is none.
        """
        found: list[Token] = []
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None or match.lastgroup is None:
                raise self.error(position, f"unexpected character {self._text[position]!r}")
            position = match.end()
            if match.lastgroup != "SKIP":
                kind = TokenKind[match.lastgroup]
                found.append(Token(kind, self._unquoted(match[match.lastgroup], match.start()), match.start()))
        found.append(Token(TokenKind.END, "", len(self._text)))
        return found

    def _unquoted(self, text: str, offset: int) -> str:
        if not text.startswith('"'):
            return text

        def character(match: re.Match[str]) -> str:
            code = str(match[1])
            if code in ('"', "\\"):
                return code
            number = int(code[1:], 16) if len(code) > 1 else -1
            if not 0 <= number <= 0x10FFFF:
                raise self.error(offset, f"unknown escape \\{code} in a string")
            return chr(number)

        return _ESCAPE.sub(character, text[1:-1])
