"""Minified style sheets and scripts say what their sources say, and carry no comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from pygments.lexers import CssLexer, JavascriptLexer
from pygments.token import Comment, String

from hooks.output.minified import SUFFIXES, minified
from tests.publish.fixture_data import ROOT

ASSETS = sorted(path for path in (ROOT / "docs/assets").rglob("*") if path.suffix in SUFFIXES)


def program(text: str) -> str:
    """A script's tokens without comments, and without space outside of strings, templates and regular expressions."""
    found = [token for token in JavascriptLexer().get_tokens(text) if token[0] not in Comment]
    return "\n".join(part for kind, part in found if kind in String or part.strip())


@pytest.mark.parametrize(
    "path", [path for path in ASSETS if path.suffix == ".js"], ids=lambda path: path.name
)
def test_a_script_keeps_its_tokens(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    written = minified(path.name, source)
    assert program(written) == program(source)
    assert len(written) < len(source)


def test_a_template_literal_in_another_is_noticed_where_it_would_change() -> None:
    source = 'const text = `a ${more ? `one,  two` : ""}`;'
    assert program(minified("x.js", source)) != program(source)


@pytest.mark.parametrize("path", ASSETS, ids=lambda path: path.name)
def test_no_comment_is_left(path: Path) -> None:
    written = minified(path.name, path.read_text(encoding="utf-8"))
    lexer = CssLexer() if path.suffix == ".css" else JavascriptLexer()
    found = [part for kind, part in lexer.get_tokens(written) if kind in Comment]
    assert [part for part in found if part != "!important"] == []  # a comment to the lexer alone


def test_what_only_looks_like_a_comment_stays() -> None:
    source = r"""
    // gone
    const address = "https://example.org/*all*/", text = `// ${address /* gone */} /* kept */`;
    const path = address.replace(/\/\/+/g, '/*'); /* gone */
    """
    written = minified("x.js", source)
    assert "gone" not in written.replace("/* gone */} /* kept", "")
    for kept in ('"https://example.org/*all*/"', "/* kept */`", r"/\/\/+/g", "'/*'"):
        assert kept in written


def test_a_style_sheet_keeps_strings_addresses_and_sums() -> None:
    source = """
    /* gone */
    .a::before { content: "/* kept */ // kept"; }
    .b { background: url(//example.org/a.svg); width: calc(100% - 2px); /* gone */ }
    .c :hover { color: red; }
    """
    written = minified("x.css", source)
    assert "gone" not in written
    for kept in ('"/* kept */ // kept"', "url(//example.org/a.svg)", "calc(100% - 2px)", ".c :hover"):
        assert kept in written


def test_a_licence_stays() -> None:
    assert minified("x.js", "/*! MIT */ let a; // b") == "/*! MIT */let a;"
    assert minified("x.css", "/*! MIT */ a { top: 0; } /* b */") == "/*! MIT */a{top:0}"
