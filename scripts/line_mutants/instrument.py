# SPDX-License-Identifier: BSD-3-Clause
"""Mutates every line of a C++ source in place: conditions always true or false, statements deleted, comparisons and sums off by one, loops
left after their first iteration. One build contains all drawn mutants; line_mutant.hpp chooses among them by $MUTANT."""
import re

from clang.cindex import CursorKind as Kind
from clang.cindex import Index, TypeKind

numbers = {TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG, TypeKind.SHORT, TypeKind.USHORT,
           TypeKind.UCHAR, TypeKind.SCHAR, TypeKind.FLOAT, TypeKind.DOUBLE}
of_bounds = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
of_sums = {"+": "-", "-": "+", "*": "+", "/": "*"}


def closing(text, opening):
    """Where the parenthesis that opens at `opening` is closed; skips string and character literals."""
    depth, quote, i = 0, None, opening
    while True:
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = None
        elif c == '"' or (c == "'" and not text[i - 1].isalnum()):
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return i
        i += 1


class Source:
    """One file. `first` is the number of its first mutant."""

    def __init__(self, root, path, arguments, first):
        self.path, self.full, self.first = path, f"{root}/{path}", first
        self.mutants = []  # of the whole file, in the order found
        self.text = open(self.full, encoding="utf-8").read()
        if not self.text.isascii():  # clang counts bytes
            self.text = open(self.full, "rb").read().decode("latin-1")
        self.unit = Index.create().parse(self.full, args=arguments)
        self.insertions, self.conditions = [], set()

    def errors(self):
        return [each.spelling for each in self.unit.diagnostics if each.severity >= 3]

    def write(self, lines, random_source):
        """Keeps one mutant for each of `lines`, of that line or of the next one that has some; returns them in the order of their numbers."""
        for cursor in self.unit.cursor.get_children():
            if self.here(cursor):
                self.visit(cursor, in_body=False, in_switch=False)
        kept = []
        for line in sorted(lines):
            at = min((each["line"] for each in self.mutants if each["line"] >= line), default=None)
            choices = [i for i, each in enumerate(self.mutants) if each["line"] == at and i not in kept]
            if choices:
                kept.append(random_source.choice(choices))
        numbers = {i: self.first + place for place, i in enumerate(kept)}
        insertions = [each for each in self.insertions if any(i in numbers for i in each[5])]
        before, after = {}, {}
        # Nesting: of two that begin at one place the longer is outside; if both have the same extent, the one made first is outside.
        for start, end, number, prefix, _, _ in sorted(insertions, key=lambda each: (each[0], -each[1], each[2])):
            before.setdefault(start, []).append(self.numbered(prefix, numbers))
        for start, end, number, _, suffix, _ in sorted(insertions, key=lambda each: (each[1], -each[0], -each[2])):
            after.setdefault(end, []).append(self.numbered(suffix, numbers))
        parts = ['#include "line_mutant.hpp"\n#line 1\n']
        for i in range(len(self.text) + 1):
            parts += after.get(i, []) + before.get(i, []) + [self.text[i:i + 1]]
        encoding = "utf-8" if self.text.isascii() else "latin-1"
        open(self.full, "w", encoding=encoding).write("".join(parts))
        return [self.mutants[i] for i in kept]

    @staticmethod
    def numbered(text, numbers):
        """Replaces the markers <mutant i> by numbers; markers of mutants that are not kept become -2, which is never chosen."""
        return re.sub(r"<mutant (\d+)>", lambda found: str(numbers.get(int(found[1]), -2)), text)

    def here(self, cursor):
        return cursor.extent.start.file is not None and cursor.extent.start.file.name == self.full

    def source(self, cursor):
        return self.text[cursor.extent.start.offset:cursor.extent.end.offset]

    def add(self, cursor, *kinds):
        """Adds one new mutant for each kind; returns the first."""
        first = len(self.mutants)
        text = " ".join(self.source(cursor).split())
        for kind in kinds:
            self.mutants.append({"file": self.path, "line": cursor.extent.start.line, "kind": kind, "text": text[:200]})
        return first

    def wrap(self, start, end, prefix, suffix, mutants):
        self.insertions.append((start, end, len(self.insertions), prefix, suffix, mutants))

    def instead(self, cursor, kind, other):
        first = self.add(cursor, kind)
        self.wrap(cursor.extent.start.offset, cursor.extent.end.offset, f"(line_mutant::on(<mutant {first}>) ? ({other}) : (", "))", [first])

    def between(self, left, right):
        return self.text[left.extent.end.offset:right.extent.start.offset].strip(" ()\n\t")

    def condition(self, cursor):
        """Always true and always false; each operand of && and || by itself."""
        inner = cursor
        while inner.kind in (Kind.UNEXPOSED_EXPR, Kind.PAREN_EXPR) and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        parts = list(inner.get_children())
        if inner.kind == Kind.BINARY_OPERATOR and len(parts) == 2 and self.between(*parts) in ("&&", "||"):
            for part in parts:
                self.condition(part)
            return
        if inner.kind == Kind.UNARY_OPERATOR and self.source(inner).startswith("!"):
            return self.condition(parts[0])
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        whole_words = not re.match(r"\w", self.text[end:end + 1]) and not re.match(r"\w\w", self.text[start - 1:start + 1])
        declared = re.match(r"\s*(=(?!=)|\{)", self.text[end:]) and re.fullmatch(r"\w+", self.source(cursor))
        if inner.kind == Kind.CXX_BOOL_LITERAL_EXPR or (start, end) in self.conditions or end <= start or not whole_words or declared:
            return
        self.conditions.add((start, end))
        first = self.add(cursor, "always", "never")
        self.wrap(start, end, f"line_mutant::condition(<mutant {first}>, <mutant {first + 1}>, static_cast<bool>(", "))", [first, first + 1])

    def statement(self, cursor, in_switch):
        inner = cursor
        while inner.kind == Kind.UNEXPOSED_EXPR and len(list(inner.get_children())) == 1:
            inner = next(inner.get_children())
        jump = cursor.kind == Kind.CONTINUE_STMT or (cursor.kind == Kind.BREAK_STMT and not in_switch) or (
            cursor.kind == Kind.RETURN_STMT and not list(cursor.get_children()))
        if inner.kind == Kind.CXX_THROW_EXPR or not (jump or cursor.kind.is_expression()):
            return
        end = cursor.extent.end.offset
        end += len(self.text[end:]) - len(self.text[end:].lstrip())
        if self.text[end] != ";":
            return
        first = self.add(cursor, "deleted")
        self.wrap(cursor.extent.start.offset, end + 1, f"{{ if (!line_mutant::on(<mutant {first}>)) {{ ", " } }", [first])

    def branch(self, cursor, parts, in_switch):
        if re.match(r"if\s+const", self.source(cursor)):
            return
        end = closing(self.text, self.text.index("(", cursor.extent.start.offset))
        conditions = [part for part in parts if part.extent.end.offset <= end]
        if conditions and conditions[-1].kind.is_expression():
            self.condition(conditions[-1])
        for part in parts:
            if part.extent.start.offset > end and part.kind != Kind.COMPOUND_STMT:
                self.statement(part, in_switch)

    def loop(self, body):
        if body.kind != Kind.COMPOUND_STMT:
            return self.statement(body, False)
        first = self.add(body, "first iteration only")
        end = body.extent.end.offset - 1
        self.wrap(end, end, "", f" if (line_mutant::on(<mutant {first}>)) break; ", [first])

    def arithmetic(self, cursor, left, right):
        operator = self.between(left, right)
        if operator in ("&&", "||"):
            return self.condition(cursor)
        of_numbers = left.type.get_canonical().kind in numbers
        if "[&" in self.source(cursor) or "[=" in self.source(cursor) or not of_numbers:
            return  # a lambda has another type in each of two copies
        if operator in of_bounds:
            other = of_bounds[operator]
        elif operator in of_sums and cursor.type.get_canonical().kind in numbers:
            other = of_sums[operator]
        else:
            return
        self.instead(cursor, f"{operator} becomes {other}", f"({self.source(left)}) {other} ({self.source(right)})")

    def visit(self, cursor, in_body, in_switch):
        kind, parts, text = cursor.kind, list(cursor.get_children()), self.source(cursor)
        if kind in (Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.PARM_DECL):
            return
        declares = kind in (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.VAR_DECL, Kind.FUNCTION_TEMPLATE, Kind.DECL_STMT)
        if declares and re.search(r"\b(constexpr|consteval)\b", re.split(r"[{=]", text)[0]):
            return
        if kind == Kind.COMPOUND_STMT:
            in_body = True
            for part in parts:
                self.statement(part, in_switch)
        if in_body and parts:
            if kind == Kind.IF_STMT:
                self.branch(cursor, parts, in_switch)
            elif kind == Kind.CONDITIONAL_OPERATOR:
                self.condition(parts[0])
            elif kind == Kind.RETURN_STMT and parts[0].type.get_canonical().kind == TypeKind.BOOL:
                self.condition(parts[0])
            elif kind == Kind.BINARY_OPERATOR and len(parts) == 2:
                self.arithmetic(cursor, *parts)
            elif kind == Kind.UNARY_OPERATOR and text.startswith("!"):
                self.condition(cursor)
            elif kind in (Kind.CXX_FOR_RANGE_STMT, Kind.FOR_STMT):
                self.loop(parts[-1])
                in_switch = False
            elif kind == Kind.WHILE_STMT and len(parts) == 2 and parts[0].kind.is_expression():
                self.condition(parts[0])
                in_switch = False
            elif kind == Kind.CALL_EXPR and re.match(r"std::(min|max)\(", text) and "[&" not in text and len(list(cursor.get_arguments())) == 2:
                other = "max" if text[5:8] == "min" else "min"
                self.instead(cursor, f"{text[5:8]} becomes {other}", f"std::{other}{text[8:]}")
            elif kind == Kind.SWITCH_STMT:
                in_switch = True
            elif kind in (Kind.CASE_STMT, Kind.DEFAULT_STMT):
                for part in parts[1:] if kind == Kind.CASE_STMT else parts:
                    self.statement(part, True)
            elif kind == Kind.LAMBDA_EXPR:
                in_switch = False
        for i, part in enumerate(parts):
            if not (kind == Kind.CASE_STMT and i == 0) and self.here(part):
                self.visit(part, in_body, in_switch)
