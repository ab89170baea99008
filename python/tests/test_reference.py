"""docs/reference/python.md is made from the docstrings. QUICLAB_BLESS=1 writes it."""

import inspect
import os

import quiclab
from quiclab import figures

from .conftest import REPOSITORY

FILE = REPOSITORY / "docs/reference/python.md"
HEAD = """\
# The Python package

Made from the docstrings by `QUICLAB_BLESS=1` and the test `test_reference` in `python/tests`. The
[guide](../guides/from-python.md) shows how to use it.
"""


def section(level: int, name: str, thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    signature = "" if isinstance(thing, property) or not callable(thing) else signature_of(thing)
    return f"\n{'#' * level} {name}\n\n```text\n{signature}{text.strip()}\n```\n"


def signature_of(thing: object) -> str:
    if not inspect.isfunction(thing) and not inspect.ismethod(thing):
        return ""
    names, is_bare = [], False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_bare:
            names.append("*")
            is_bare = True
        is_rest = parameter.kind is parameter.VAR_KEYWORD
        stars = "**" if is_rest else "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        text = stars + parameter.name
        is_bare = is_bare or parameter.kind is parameter.VAR_POSITIONAL
        default = parameter.default
        names.append(text if default is parameter.empty else f"{text}={default!r}")
    return f"{thing.__name__}({', '.join(names)})\n\n"


def reference() -> str:
    text = HEAD
    for name in quiclab.__all__:
        thing = getattr(quiclab, name)
        text += section(2, f"quiclab.{name}", thing)
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    text += section(3, f"{name}.{member}", getattr(value, "__func__", value))
    text += section(2, "quiclab.figures", figures)
    for name, value in vars(figures).items():
        if inspect.isfunction(value) and not name.startswith("_"):
            text += section(3, f"figures.{name}", value)
    return text


def test_the_reference_is_that_of_the_docstrings() -> None:
    if os.environ.get("QUICLAB_BLESS"):
        FILE.write_text(reference(), encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == reference(), "QUICLAB_BLESS=1 make test-python writes it again"
