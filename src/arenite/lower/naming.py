"""Names that are safe in C, in C++, as macros and as file names."""

import hashlib
import re
import unicodedata

MAX_NAME = 48
"""C99 promises 31 significant characters of an external name; every toolchain for these targets takes far more."""

# Keywords of C23 and C++20 with their alternative spellings, and names that standard headers may define as macros.
_RESERVED = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    co_await co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    linux unix arm i386 near far interrupt errno main
"""
# A model's header is found beside its sources, so it must not be called like one of the C library's.
_HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar unistd wchar wctype
"""
# Windows refuses these whatever the extension.
_DEVICES = re.compile(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]")


def c_name(text: str, fallback: str = "model") -> str:
    """An identifier made from any text: at most 48 of [A-Za-z0-9_], no leading digit or underscore, no `__`.

    Accents are dropped, everything else that does not fit becomes `_`. A name that is taken by C, C++, a standard
    header or Arenite's own files is put behind `fallback` and `_`. The result is a fixed point: naming it again
    changes nothing.
    """
    # Decomposed, an accent is a character of its own behind its letter.
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    name = re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_")
    if not name:
        name = fallback
    if name[0].isdigit() or _is_taken(name):
        name = f"{fallback}_{name}"
    if len(name) > MAX_NAME:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = f"{name[: MAX_NAME - 9].rstrip('_')}_{digest}"
    return name


def _is_taken(name: str) -> bool:
    lowered = name.lower()
    return (
        lowered in (*_RESERVED.split(), *_HEADERS.split())
        or lowered.startswith("arenite")
        or _DEVICES.fullmatch(name) is not None
    )
