"""Rules of a grammar in Lark that no text can complete: whichever way they are written, they hold themselves.

The compiler takes them: ``start: "a" b`` with ``b: b "x"`` admits an ``a``, and then nothing more; with
``b: "x" b`` the answer never ends. Only the rules' own structure is looked at, and what is not understood
is taken to be in order: whether a grammar is well written, and what its terminals match, is the compiler's
to say.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_TOKENS = re.compile(
    r"""
    (?P<space>[ \t\r]+|//[^\n]*)
    |(?P<line>\n)
    |(?P<text>"(?:\\.|[^"\\\n])*"i?|/(?:\\.|[^/\\\n])+/[a-z]*|<[^<>\n]+>)
    |(?P<data>%(?:json|regex)\b)
    |(?P<name>[!?]?_*[A-Za-z]\w*)
    |(?P<number>-?\d+)
    |(?P<sign>->|\.\.|::|.)
    """,
    re.VERBOSE,
)
_SPACES = re.compile(r"\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


class _NotUnderstoodError(Exception):
    """Something this module does not know."""


def find_endless(source: str) -> str | None:
    """Find a rule that an answer may come to and that can never be completed.

    Args:
        source: a grammar in llguidance's Lark dialect.

    Returns:
        The rule's name; None if there is no such rule, or the grammar has what this module does not know.
    """
    try:
        rules = _rules([*_tokens(source)])
        endless = _endless(rules)
    except (_NotUnderstoodError, RecursionError):
        return None
    met = [name for name in _reachable(rules) if name in endless]
    # Of several the one that is so by itself.
    alone = (name for name in met if not _ends(rules[name], {name}))
    return next(alone, met[-1] if met else None)


def _tokens(source: str) -> Iterator[_Token]:
    """The tokens, JSON after ``%json`` as one, spaces left out."""
    at, decoder = 0, json.JSONDecoder()
    while at < len(source):
        found = _TOKENS.match(source, at)
        if found is None or found.lastgroup is None:
            raise _NotUnderstoodError
        kind, text, at = found.lastgroup, found.group(), found.end()
        if kind == "data":
            try:
                at = decoder.raw_decode(source, _SPACES.match(source, at).end())[1]  # type: ignore[union-attr]
            except (ValueError, RecursionError) as error:
                raise _NotUnderstoodError from error
            kind = "text"
        if kind != "space":
            yield _Token(kind, text)


def _rules(tokens: Sequence[_Token]) -> dict[str, Sequence[_Token]]:
    """The body of each rule; terminals are left out, for they cannot hold themselves."""
    heads: list[tuple[str, int, int]] = []
    for at, token in enumerate(tokens):
        begins = at == 0 or tokens[at - 1].kind == "line"
        if begins and token.text == "%":
            heads.append(("", at, at))  # %ignore and the like
        elif begins and token.kind == "name" and at + 1 < len(tokens):
            if tokens[at + 1].text in {"::", "{", "["}:  # parameters, limits
                raise _NotUnderstoodError
            if tokens[at + 1].text == ":":
                heads.append((token.text.lstrip("!?"), at, at + 2))
    ends = [begin for _, begin, _ in heads[1:]] + [len(tokens)]
    bodies = {name: _body(tokens[body:end]) for (name, _, body), end in zip(heads, ends, strict=False)}
    return {name: body for name, body in bodies.items() if name and name == name.lower()}


def _body(tokens: Sequence[_Token]) -> list[_Token]:
    """A rule's right side without its lines and the names of its alternatives."""
    return [
        token
        for before, token in zip((None, *tokens), tokens, strict=False)
        if token.kind != "line" and token.text != "->" and (before is None or before.text != "->")
    ]


def _endless(rules: Mapping[str, Sequence[_Token]]) -> set[str]:
    """The rules that no text completes."""
    endless, shrinks = set(rules), True
    while shrinks:
        ending = {name for name in endless if _ends(rules[name], endless)}
        endless -= ending
        shrinks = bool(ending)
    return endless


def _reachable(rules: Mapping[str, Sequence[_Token]]) -> list[str]:
    """The rules that an answer may come to, ``start`` first."""
    found, waiting = ["start"] if "start" in rules else [], ["start"]
    while waiting:
        for name in sorted(_used(rules.get(waiting.pop(), ()))):
            if name in rules and name not in found:
                found.append(name)
                waiting.append(name)
    return found


def _used(body: Sequence[_Token]) -> set[str]:
    return {token.text for token in body if token.kind == "name"}


def _ends(body: Sequence[_Token], endless: set[str]) -> bool:
    """Whether a body can be completed without the rules in ``endless``."""
    result, at = _alternatives(body, 0, endless)
    if at != len(body):
        raise _NotUnderstoodError
    return result


def _alternatives(body: Sequence[_Token], at: int, endless: set[str]) -> tuple[bool, int]:
    """Whether one of them can be completed, and where they end."""
    some, each = False, True
    while at < len(body) and body[at].text not in _CLOSING.values():
        if body[at].text == "|":
            some, each, at = some or each, True, at + 1
        else:
            item, at = _item(body, at, endless)
            each = each and item
    return some or each, at


def _item(body: Sequence[_Token], at: int, endless: set[str]) -> tuple[bool, int]:
    """Whether an atom with what follows it, as ``?`` or ``{2,3}``, can be completed, and where it ends."""
    token = body[at]
    if token.kind in {"text", "name"}:
        found, at = token.text not in endless, at + 1
    elif token.text in {"(", "["}:
        found, end = _alternatives(body, at + 1, endless)
        if end >= len(body) or body[end].text != _CLOSING[token.text]:
            raise _NotUnderstoodError
        found, at = found or token.text == "[", end + 1
    else:
        raise _NotUnderstoodError
    return _repeated(body, at, found=found)


def _repeated(body: Sequence[_Token], at: int, *, found: bool) -> tuple[bool, int]:
    """What stands after an atom."""
    while at < len(body):
        sign, after = body[at].text, [each.text for each in body[at + 1 : at + 2]]
        if sign in {"?", "*"}:
            found, at = True, at + 1
        elif sign == "+":
            at += 1
        elif sign == "..":  # of two texts
            at += 2
        elif sign == "{":
            found = found or after in (["0"], [","])
            while at < len(body) and body[at].text != "}":
                at += 1
            at += 1
        elif sign == "~":
            found, at = found or after == ["0"], at + 2
        else:
            break
    return found, at
