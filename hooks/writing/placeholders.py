"""The grammar of what stands between two pairs of braces on a page. Looks nothing up.

Each form has its word, what follows it, and the options it takes; docs/reference/authoring.md shows all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.errors import PublishError, nearest
from hooks.numbers import expressions, formatting

_STRING = r'"(?:\\.|[^"\\])*"'
PATTERN = rf'\{{\{{((?:{_STRING}|[^"{{}}\n]|\n(?![ \t]*\n)|\}}(?!\}})|\{{(?!\{{))*?)\}}\}}'
"""A whole placeholder, which no empty line parts; its one group is what stands between the braces."""

ESCAPED = r"\\(?:(\{\{)(?:([^{}\x02\x03\n\\]*)(\}\}))?|(\}\}))"
"""A backslash before braces: the braces themselves are meant, and those that close them."""

_OPTION = re.compile(r"\s+([a-z]+)=(\S+)\s*\Z")


@dataclass(frozen=True)
class Form:
    """One form: what its argument is, the options it takes, whether it stands in a paragraph of its own."""

    name: str
    argument: str | None
    options: tuple[str, ...] = ()
    block: bool = False


FORMS = {
    form.name: form
    for form in (
        Form("number", "ID", ("run", "as", "digits", "label")),
        Form("model", "NAME.FACT", ("as", "digits")),
        Form("cite", "SOURCE.VALUE", ("as", "digits")),
        Form("when", "CONDITION", ("run",)),
        Form("otherwise", None),
        Form("end", None),
        Form("claim", "CONDITION", ("run",)),
        Form("chart", "NAME", ("run", "of", "datasheet"), block=True),
        Form("table", "NAME", ("run",), block=True),
        Form("tokens", '"TEXT"', ("tokenizer", "focus")),
        Form("token-count", '"TEXT"', ("tokenizer",)),
        Form("own-text", '"TEXT"', ("tokenizer",), block=True),
        Form("calculator", None, block=True),
        Form("plain", '"TEXT"'),
        Form("replay", '"TEXT"', block=True),
        Form("measured-in", None),
        Form("machine-switch", None),
        Form("references", None),
    )
}
"""Every form that an author writes between braces. `number` is written as its id alone."""

REFERENCE = Form("reference", "[@KEY]")
"""A citation of a work. It has square brackets, as other programs write it."""

STYLES = ("plain", "interval", *formatting.STYLES)
"""What `as=` takes. `plain` is text alone, without provenance; `interval` puts the half-width beside the number."""

_CHOICES = {"as": STYLES, "label": ("off",), "focus": ("off",)}


@dataclass(frozen=True)
class Placeholder:
    """A parsed placeholder."""

    form: Form
    argument: str
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def digits(self) -> int | None:
        """The option `digits`."""
        return int(self.options["digits"]) if "digits" in self.options else None

    @property
    def style(self) -> str | None:
        """The option `as`, where it names a way to show a number."""
        style = self.options.get("as")
        return None if style in ("plain", "interval") else style

    @property
    def with_interval(self) -> bool:
        """Whether the number comes with its interval."""
        return self.options.get("as") == "interval"


def parse(inside: str) -> Placeholder:
    """Parse what stands between the braces.

    Raises:
        PublishError: The form or an option is unknown, or its argument is missing or wrong.
    """
    if inside.startswith("[@"):
        return Placeholder(REFERENCE, inside)
    text = " ".join(inside.split()) if '"' not in inside else inside.strip()
    word = text.split(maxsplit=1)[0] if text else ""
    if word in FORMS and word != "number":
        form, rest = FORMS[word], text[len(word) :]
    elif expressions.ID.fullmatch(word):
        form, rest = FORMS["number"], f" {text}"
    else:
        raise PublishError(
            f"unknown placeholder `{text[:60]}`" if text else "an empty placeholder",
            expected=_usage(),
            found=text[:60] or "nothing",
            nearest=nearest(word, FORMS),
            mend="mend the word, or write the braces as `\\{{` to print them",
        )
    argument, options = _options(rest, form)
    return Placeholder(form, _argument(argument, form), options)


def _usage() -> str:
    forms = (f"{form.name} {form.argument}" if form.argument else form.name for form in FORMS.values())
    return ", ".join(form.replace("number ", "") for form in forms)


def _options(rest: str, form: Form) -> tuple[str, dict[str, str]]:
    options: dict[str, str] = {}
    quoted = re.match(rf"\s*{_STRING}", rest)  # what looks like an option inside it is text
    text, rest = (quoted[0].strip(), rest[quoted.end() :]) if quoted else ("", rest)
    while match := _OPTION.search(rest):
        name, value = match.groups()
        known = {option: f"{option}=…" for option in form.options}
        if name not in known:
            raise PublishError(
                f"`{form.name}` takes no option `{name}`",
                expected=", ".join(known.values()) or "no options",
                found=match[0].strip(),
                nearest=nearest(name, known),
                mend="leave it out, or use one of those",
            )
        if name in _CHOICES and value not in _CHOICES[name]:
            raise PublishError(
                f"unknown value of `{name}`",
                expected=", ".join(_CHOICES[name]),
                found=value,
                nearest=nearest(value, _CHOICES[name]),
                mend="use one of those",
            )
        if name == "digits" and not re.fullmatch(r"[1-9]|1[0-5]", value):
            raise PublishError(
                "unknown value of `digits`", expected="1 to 15", found=value, mend="use one of those"
            )
        if name in options:
            raise PublishError(
                f"`{name}` stands there twice",
                expected="once",
                found=rest.strip(),
                mend="leave one of them out",
            )
        options[name] = value
        rest = rest[: match.start()]
    return f"{text}{rest}".strip(), options


def _argument(argument: str, form: Form) -> str:
    wrong = PublishError(
        f"`{form.name}` needs {form.argument}" if form.argument else f"`{form.name}` takes nothing",
        expected=f"{{{{ {' '.join(filter(None, (form.name, form.argument)))} }}}}",
        found=argument or "nothing",
        mend="write it as docs/reference/authoring.md shows",
    )
    if bool(argument) != bool(form.argument):
        raise wrong
    if form.argument == '"TEXT"':
        try:
            text = json.loads(argument, strict=False)
        except json.JSONDecodeError:
            raise wrong from None
        if not isinstance(text, str) or not text:
            raise wrong
        return text
    if form.argument in ("ID", "NAME", "NAME.FACT", "SOURCE.VALUE") and len(argument.split()) > 1:
        raise wrong
    return argument
