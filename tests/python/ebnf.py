# SPDX-License-Identifier: Apache-2.0
"""The EBNF of docs/language.md as data: reading it, deriving random sentences, recognising token sequences."""

from __future__ import annotations

import dataclasses
import re

# An expression of the grammar is a tuple: ("token", text), ("rule", name), ("sequence", items), ("choice", items),
# ("optional", item), ("repeat", item).

_PIECE = re.compile(r'\s*(?:"([^"]*)"|/((?:[^/\\]|\\.)*)/|([A-Za-z_]+)|([=|;(){}\[\]]))')


@dataclasses.dataclass
class Grammar:
    start: str
    rules: dict[str, tuple]
    tokens: dict[str, re.Pattern[str]]


def parse(text: str) -> Grammar:
    """Reads productions `name = expression ;` and tokens `NAME = /pattern/ ;`."""
    pieces, at = [], 0
    text = text.strip()
    while at < len(text):
        found = _PIECE.match(text, at)
        assert found, f"not EBNF: {text[at:at + 40]!r}"
        literal, pattern, name, symbol = found.groups()
        pieces.append(
            ("literal", literal) if literal is not None
            else ("pattern", pattern) if pattern is not None
            else ("name", name) if name is not None
            else ("symbol", symbol))
        at = found.end()

    position = 0

    def is_symbol(*symbols):
        return position < len(pieces) and pieces[position][0] == "symbol" and pieces[position][1] in symbols

    def take(kind, value=None):
        nonlocal position
        got_kind, got = pieces[position]
        assert got_kind == kind and value in (None, got), f"expected {value or kind}, got {got!r}"
        position += 1
        return got

    def choice():
        items = [sequence()]
        while is_symbol("|"):
            take("symbol")
            items.append(sequence())
        return items[0] if len(items) == 1 else ("choice", tuple(items))

    def sequence():
        items = []
        while not is_symbol("|", ";", ")", "]", "}"):
            items.append(item())
        return items[0] if len(items) == 1 else ("sequence", tuple(items))

    def item():
        for opening, closing, kind in (("(", ")", None), ("[", "]", "optional"), ("{", "}", "repeat")):
            if is_symbol(opening):
                take("symbol")
                inner = choice()
                take("symbol", closing)
                return inner if kind is None else (kind, inner)
        if pieces[position][0] == "literal":
            return ("token", take("literal"))
        return ("rule", take("name"))

    start, rules, tokens = None, {}, {}
    while position < len(pieces):
        name = take("name")
        assert name not in rules and name not in tokens, f"two productions of {name}"
        take("symbol", "=")
        if pieces[position][0] == "pattern":
            tokens[name] = re.compile(take("pattern"))
        else:
            start = start or name
            rules[name] = choice()
        take("symbol", ";")
    grammar = Grammar(start, rules, tokens)
    for used in _names(grammar):
        assert used in rules or used in tokens, f"no production of {used}"
    return grammar


def _names(grammar):
    stack = list(grammar.rules.values())
    while stack:
        kind, content = stack.pop()
        if kind == "rule":
            yield content
        elif kind in ("sequence", "choice"):
            stack.extend(content)
        elif kind in ("optional", "repeat"):
            stack.append(content)


def literals(grammar: Grammar) -> list[str]:
    """Every quoted token, in no particular order."""
    found, stack = set(), list(grammar.rules.values())
    while stack:
        kind, content = stack.pop()
        if kind == "token":
            found.add(content)
        elif kind in ("sequence", "choice"):
            stack.extend(content)
        elif kind in ("optional", "repeat"):
            stack.append(content)
    return sorted(found)


class Deriver:
    """Random sentences of a grammar, as lists of tokens."""

    def __init__(self, grammar: Grammar, samples: dict[str, list[str]], random, budget: int):
        self.grammar, self.samples, self.random, self.budget = grammar, samples, random, budget
        self.height = self._heights()

    def _heights(self):
        """Least number of nested productions until only tokens are left, per rule: the way out when the budget is spent."""
        heights = {name: 0 for name in self.grammar.tokens}
        changed = True
        while changed:
            changed = False
            for name, body in self.grammar.rules.items():
                height = self._height(body, heights)
                if height is not None and height + 1 < heights.get(name, 10**9):
                    heights[name] = height + 1
                    changed = True
        return heights

    def _height(self, node, heights):
        kind, content = node
        if kind in ("token", "optional", "repeat"):
            return 0
        if kind == "rule":
            return heights.get(content)
        below = [self._height(child, heights) for child in content]
        if kind == "choice":
            return min((h for h in below if h is not None), default=None)
        return None if None in below else max(below, default=0)

    def sentence(self, rule: str):
        self.left = self.budget
        out = []
        self._derive(("rule", rule), out)
        return out

    def _derive(self, node, out):
        kind, content = node
        if kind == "token":
            out.append(content)
            self.left -= 1
        elif kind == "rule":
            if content in self.grammar.tokens:
                out.append(self.random.choice(self.samples[content]))
                self.left -= 1
            else:
                self._derive(self.grammar.rules[content], out)
        elif kind == "sequence":
            for child in content:
                self._derive(child, out)
        elif kind == "choice":
            if self.left > 0:
                self._derive(self.random.choice(content), out)
            else:
                self._derive(min(content, key=lambda child: self._height(child, self.height)), out)
        elif kind == "optional":
            if self.left > 0 and self.random.random() < 0.5:
                self._derive(content, out)
        else:
            while self.left > 0 and self.random.random() < 0.4:
                self._derive(content, out)


def terminals(grammar: Grammar, token: str) -> set[str]:
    """The terminals that a token is; a word that the grammar quotes or another pattern takes is no name."""
    found = {'"' + token} if token in literals(grammar) else set()
    found |= {name for name, pattern in grammar.tokens.items() if pattern.fullmatch(token)}
    return found - {"IDENT"} if len(found) > 1 else found


def recognises(grammar: Grammar, tokens: list[str]) -> bool:
    """Earley's algorithm. Sets of states are small, so plain dicts in order of insertion do."""
    kinds = [terminals(grammar, token) for token in tokens]
    rules = {name: list(_alternatives(body)) for name, body in _plain(grammar).items()}
    nullable = set()
    grew = True
    while grew:
        grew = False
        for name, bodies in rules.items():
            if name not in nullable and any(all(symbol in nullable for symbol in body) for body in bodies):
                nullable.add(name)
                grew = True
    sets = [dict() for _ in range(len(kinds) + 1)]
    sets[0] = {(grammar.start, body, 0, 0): None for body in rules[grammar.start]}
    for index, states in enumerate(sets):
        queue = list(states)
        for rule, body, dot, origin in queue:
            if dot == len(body):
                new = [(r, b, d + 1, o) for r, b, d, o in sets[origin] if d < len(b) and b[d] == rule]
            elif body[dot] in rules:
                new = [(body[dot], b, 0, index) for b in rules[body[dot]]]
                if body[dot] in nullable:
                    new.append((rule, body, dot + 1, origin))
            else:
                if index < len(kinds) and body[dot] in kinds[index]:
                    sets[index + 1][(rule, body, dot + 1, origin)] = None
                continue
            for state in new:
                if state not in states:
                    states[state] = None
                    queue.append(state)
    return any(r == grammar.start and d == len(b) and o == 0 for r, b, d, o in sets[-1])


def _plain(grammar):
    """The productions without repetition: { x } becomes a rule of its own."""
    plain = dict(grammar.rules)

    def strip(node):
        kind, content = node
        if kind in ("sequence", "choice"):
            return (kind, tuple(strip(child) for child in content))
        if kind == "optional":
            return ("choice", (("sequence", ()), strip(content)))
        if kind == "repeat":
            name = f"repeat {len(plain)}"
            plain[name] = None
            plain[name] = ("choice", (("sequence", ()), ("sequence", (strip(content), ("rule", name)))))
            return ("rule", name)
        return node

    for name in list(grammar.rules):
        plain[name] = strip(grammar.rules[name])
    return plain


def _alternatives(node):
    """Every way to write a node without choices as a tuple of symbols; quoted tokens keep a quote, names are bare."""
    kind, content = node
    if kind == "token":
        yield ('"' + content,)
    elif kind == "rule":
        yield (content,)
    elif kind == "choice":
        for child in content:
            yield from _alternatives(child)
    else:
        tails = [()]
        for child in content:
            tails = [tail + more for tail in tails for more in _alternatives(child)]
        yield from tails
