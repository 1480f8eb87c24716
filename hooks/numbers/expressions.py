"""Formulas and conditions: dotted ids, numbers, arithmetic and comparisons. Knows no quantity.

An id is words joined by dots, where a word may hold digits, underscores and inner dashes:
`model.qwen2.5-1.5b.parameters`. A minus sign therefore needs a space before it.
A number may be a share: `10%`. The library simpleeval evaluates; it is given no attributes, no strings, no
powers, and the functions that are listed here and in `hooks.numbers.predicates`.
Limits on length, nesting and size keep any text from hanging a build.
"""

from __future__ import annotations

import ast
import operator
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import simpleeval

from hooks.errors import PublishError
from hooks.numbers.predicates import OVER_SERIES, PREDICATES, PredicateError, Value

LONGEST = 400
"""Characters in an expression. Longer ones belong into a quantity of their own."""

DEEPEST = 40
"""Parentheses, signs and calls inside one another."""

_WORD = r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*"
ID = re.compile(rf"(?<![\w.])[A-Za-z]\w*(?:-\w+)*(?:\.{_WORD})+")
"""A dotted id, as it stands in an expression."""


def _finite(operation: Callable[..., float]) -> Callable[..., float]:
    """The operation, refusing a result that no float can hold."""

    def checked(*values: float) -> float:
        result = operation(*values)
        if not abs(result) <= sys.float_info.max:
            raise OverflowError("a result that is not finite")
        return result

    return checked


_OPERATORS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: _finite(operator.add),
    ast.Sub: _finite(operator.sub),
    ast.Mult: _finite(operator.mul),
    ast.Div: _finite(operator.truediv),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    **{name: function for name, (function, _, _) in PREDICATES.items()},
}
_SHARE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*%")
_NODES = (ast.Expr, ast.Name, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.Call, ast.Constant)
_GRAMMAR = ", ".join(
    [
        "ids, numbers, 10%, + - * / ( ), < <= > >= == !=, and, or, not, min(…), max(…), abs(…)",
        *(usage for _, usage, _ in PREDICATES.values()),
    ]
)

_MEND = "write it with these; docs/reference/authoring.md has examples"


@dataclass(frozen=True)
class Expression:
    """A parsed expression: its source, the ids that it names, and its tree over stand-in names.

    `scalars` are the ids that stand where only a single number can, not a series.
    """

    source: str
    ids: tuple[str, ...]
    tree: ast.AST
    scalars: frozenset[str] = frozenset()

    @property
    def is_id(self) -> bool:
        """Whether it is one id and nothing else."""
        return self.ids == (self.source,)

    @property
    def is_condition(self) -> bool:
        """Whether it yields true or false by itself, without a bare number in its place."""
        return _is_condition(self.tree.value if isinstance(self.tree, ast.Expr) else self.tree)

    def evaluate(self, values: Mapping[str, Value]) -> float | bool:
        """The result with `values[id]` in place of each id; a series only for ids that are not in `scalars`.

        Raises:
            PublishError: A division by zero, or another operation that has no finite result.
        """
        names = {f"{_stand_in(self.source)}{index}": values[name] for index, name in enumerate(self.ids)}
        evaluator = _evaluator()
        evaluator.names = names
        try:
            result = evaluator.eval(self.source, previously_parsed=self.tree)
        except PredicateError as error:
            raise PublishError(
                f"`{self.source}` says nothing that could be checked",
                expected=", ".join(usage for _, usage, _ in PREDICATES.values()),
                found=str(error),
                mend=_MEND,
            ) from error
        except (simpleeval.InvalidExpression, ArithmeticError, TypeError, ValueError) as error:
            raise PublishError(
                f"`{self.source}` cannot be computed",
                expected=f"a finite result; {_GRAMMAR}",
                found=str(error),
                mend="see which part is zero or out of range, and guard it with max(…) or {{ when … }}",
            ) from error
        assert isinstance(result, (bool, int, float)), "the grammar has nothing else"
        return result


@cache
def _evaluator() -> Any:
    """The one evaluator; it is told the names before each use. Making one takes longer than most formulas."""
    made = simpleeval.SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS)
    made.nodes = {node: made.nodes[node] for node in _NODES}
    return made


@cache
def parse(source: str) -> Expression:
    """Parse an expression.

    Raises:
        PublishError: It is too long, is not an expression, or uses something outside the grammar.
    """
    source = " ".join(source.split())
    if len(source) > LONGEST:
        raise PublishError(
            f"an expression of {len(source)} characters",
            expected=f"at most {LONGEST}",
            mend="give its parts ids of their own in docs/quantities.toml",
        )
    ids: list[str] = []
    letter = _stand_in(source)

    def stand_in(match: re.Match[str]) -> str:
        if match[0] not in ids:
            ids.append(match[0])
        return f"{letter}{ids.index(match[0])}"

    plain = _SHARE.sub(r"(\1 / 100)", ID.sub(stand_in, source))
    try:
        body = ast.parse(plain, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise PublishError(
            f"`{source}` is not an expression",
            expected=_GRAMMAR,
            found=str(error).partition(" (")[0],
            mend=_MEND,
        ) from error
    _check(body, source, {f"{letter}{index}" for index in range(len(ids))})
    if _depth(body) > DEEPEST:
        raise PublishError(
            f"`{source}` is nested too deep",
            expected=f"at most {DEEPEST} operations inside one another",
            mend="give its parts ids of their own in docs/quantities.toml",
        )
    single = _names_of_numbers(body)
    scalars = frozenset(name for index, name in enumerate(ids) if f"{letter}{index}" in single)
    return Expression(source, tuple(ids), ast.Expr(body), scalars)


def _names_of_numbers(body: ast.AST) -> set[str]:
    """Names that stand anywhere but directly in a predicate that takes a series."""
    series = {
        id(argument)
        for node in ast.walk(body)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OVER_SERIES
        for argument in (node.args[:1] if node.func.id == "within" else node.args)
    }
    return {node.id for node in ast.walk(body) if isinstance(node, ast.Name) and id(node) not in series}


def _stand_in(source: str) -> str:
    """What stand-in names begin with: something that `source` does not hold, so that nobody can write one."""
    letters = "v"
    while letters in source:
        letters += "v"
    return letters


def _depth(body: ast.AST) -> int:
    """Nodes on the longest way down; counted without recursion, since the text may be nested at will."""
    deepest, waiting = 0, [(body, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]
    return deepest


def _check(body: ast.AST, source: str, names: set[str]) -> None:
    known = (*_NODES, *_OPERATORS, ast.boolop, ast.expr_context)
    called = {id(node.func) for node in ast.walk(body) if isinstance(node, ast.Call)}
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and node.id not in (_FUNCTIONS if id(node) in called else names):
            raise PublishError(
                f"`{source}` names `{node.id}`, which is no id",
                expected="ids with a dot, such as decode.seconds_per_token",
                found=node.id,
                mend="write the quantity's full id; docs/quantities.toml lists them",
            )
        if isinstance(node, ast.Call) and not (
            isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        ):
            raise PublishError(
                f"`{source}` calls something that is no function",
                expected=", ".join(_FUNCTIONS),
                found=source,
                mend=_MEND,
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PREDICATES:
            _, usage, count = PREDICATES[node.func.id]
            if count is not None and len(node.args) != count:
                raise PublishError(
                    f"`{node.func.id}` takes {count} arguments",
                    expected=usage,
                    found=f"{len(node.args)} in `{source}`",
                    mend=_MEND,
                )
        number = not isinstance(node, ast.Constant) or _is_number(node.value)
        if not (isinstance(node, known) and number):
            raise PublishError(
                f"`{source}` uses something that expressions do not have",
                expected=_GRAMMAR,
                found=ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__,
                mend=_MEND,
            )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max  # type: ignore[arg-type]


def _is_condition(node: ast.AST) -> bool:
    if isinstance(node, ast.BoolOp):
        return all(_is_condition(value) for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _is_condition(node.operand)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in PREDICATES
    return isinstance(node, ast.Compare)
