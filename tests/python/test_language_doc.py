# SPDX-License-Identifier: Apache-2.0
"""docs/language.md says what the program accepts: its grammar, its examples, its table of builtin functions.

The program is $TENSORC or build/bin/tensorc of the checkout; the seed is $TC_TEST_SEED or 20240, and printed.
"""

from __future__ import annotations

import os
import pathlib
import random
import re
import subprocess

import pytest

import ebnf

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENSORC = os.environ.get("TENSORC", str(ROOT / "build" / "bin" / "tensorc"))
PAGE = (ROOT / "docs" / "language.md").read_text()
SEED = int(os.environ.get("TC_TEST_SEED", "20240"))

# Spellings that random sentences use, per token of the grammar.
SAMPLES = {
    "IDENT": ["a", "B", "i", "r_k", "x0", "N", "exp", "info", "nano", "_", "main", "float3", "forx", "whereabouts"],
    "INTEGER": ["0", "1", "007", "42", "2147483648", "0x1F", "0Xff"],
    "FLOAT": ["1.", ".5", "0.25", "1e3", "1.5E-4", "2.e+1", ".5e1", "inf", "nan"],
    "SCALAR": ["bool", "int8", "int32", "uint64", "half", "float", "double", "float16", "bfloat16", "float8_e4m3fn",
               "float8_e5m2", "int4", "uint4", "float32", "float64", "uint8"],
}


def fenced(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def grammar():
    blocks = fenced("ebnf")
    assert len(blocks) == 1
    return ebnf.parse(blocks[0])


def tensorc(*arguments, text=None):
    return subprocess.run([TENSORC, *arguments], input=text, capture_output=True, text=True, timeout=300)


def codes(done):
    """All codes of a run, each with the line of the text that it points at."""
    return [(code, int(line)) for line, code in re.findall(r"^[^\n]*?:(\d+):\d+: (?:error|warning): .*\[([EW]\d{4})\]$",
                                                           done.stderr, re.MULTILINE)]


def layout(tokens, choose):
    """Tokens with random white space; none only where it cannot glue two tokens into another one."""
    pieces = []
    for token in tokens:
        # Directly behind a name, `.` and a decimal number belong together.
        if token.isdigit() and pieces[-1:] == ["."] and choose.random() < 0.5:
            pieces[-2:] = [f"{pieces[-2]}.{token}"]
        else:
            pieces.append(token)
    text = ""
    for before, piece in zip(["("] + pieces, pieces):
        loose = piece in "(){},;" or before in "(){},;"
        text += choose.choice(["", " "]) if loose else choose.choice([" ", " ", "\n", "\t", "  # comment\n"])
        text += piece
    return text


def test_samples_are_tokens():
    tokens = grammar().tokens
    assert set(tokens) == set(SAMPLES)
    for name, spellings in SAMPLES.items():
        for spelling in spellings:
            assert tokens[name].fullmatch(spelling), f"{name} {spelling}"


def test_sentences_of_the_grammar_parse():
    print("seed", SEED)
    choose = random.Random(SEED)
    language = grammar()
    deriver = ebnf.Deriver(language, SAMPLES, choose, budget=120)
    sentences = [layout(deriver.sentence("def"), choose) for _ in range(1000)]
    text = "\n".join(sentences) + "\n"
    done = tensorc("fmt", "-", text=text)
    assert done.returncode == 0, f"seed {SEED}\n{done.stderr[:4000]}"
    # What was printed is a sentence as well, and already formatted.
    again = tensorc("fmt", "-", text=done.stdout)
    assert again.returncode == 0 and again.stdout == done.stdout, f"seed {SEED}"
    # A few at a time: the errors of a hundred sentences would be more than are shown.
    for first in range(0, 100, 5):
        checked = tensorc("check", "-", text="\n".join(sentences[first : first + 5]) + "\n")
        assert checked.returncode in (0, 1), f"seed {SEED}\n{checked.stderr[-2000:]}"
        syntax = [code for code, _ in codes(checked) if code.startswith("E01") and code != "E0119"]
        assert not syntax, f"seed {SEED}\n{checked.stderr[:4000]}"


def test_the_parser_accepts_nothing_else():
    """Random sentences with one token dropped, added, doubled or exchanged: grammar and parser agree on each."""
    print("seed", SEED)
    choose = random.Random(SEED)
    language = grammar()
    deriver = ebnf.Deriver(language, SAMPLES, choose, budget=25)
    anything = ebnf.literals(language) + [spelling for spellings in SAMPLES.values() for spelling in spellings[:2]]
    rejected = 0
    for _ in range(60):
        tokens = deriver.sentence("def")
        at = choose.randrange(len(tokens))
        tokens[at:at + 1] = choose.choice([
            [], [tokens[at], tokens[at]], [choose.choice(anything)], [choose.choice(anything), tokens[at]]])
        legal = ebnf.recognises(language, tokens)
        text = " ".join(tokens)
        done = tensorc("fmt", "-", text=text)
        assert done.returncode == (0 if legal else 1), f"seed {SEED}, grammar says {legal}:\n{text}\n{done.stderr}"
        rejected += not legal
    assert 0 < rejected < 60, "the mutations reach both sides"


@pytest.mark.parametrize("program", fenced("tc"), ids=lambda program: re.search(r"def (\w+)", program)[1])
def test_example(program):
    """`# E0410 with N=4: ...` behind a line names the code that this line gives, once the sizes are known if there are some."""
    lines = program.splitlines()
    static, sized = [], []
    for number, line in enumerate(lines, start=1):
        found = re.search(r"# ([EW]\d{4})( with ([^:]*))?:", line)
        if not found:
            continue
        if found[3]:
            sized.append(((found[1], number), found[3].split()))
        else:
            static.append((found[1], number))
    done = tensorc("check", "-", text=program)
    assert sorted(codes(done)) == sorted(static), done.stderr
    assert done.returncode == (1 if any(code.startswith("E") for code, _ in static) else 0)
    for expected, sizes in sized:
        flags = [flag for size in sizes for flag in ("-D", size)]
        done = tensorc("compile", "-", "--emit", "tile", *flags, text=program)
        assert (done.returncode, codes(done)) == (1, [expected]), done.stderr


def test_every_code_that_the_page_names_is_listed():
    listed = set(re.findall(r"^\| ([EW]\d{4}) \|", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE))
    assert set(re.findall(r"[EW]\d{4}", PAGE)) <= listed


def test_builtin_functions_are_those_of_the_compiler():
    source = (ROOT / "tc" / "lang" / "builtins.cpp").read_text()
    expected = {name: int(arity) for name, arity in re.findall(r'^\s*\{"(\w+)", (\d), \w+\},$', source, re.MULTILINE)}
    rows = re.findall(r"^\| (\d) \| (.*?) \|", PAGE, re.MULTILINE)
    written = {name: int(arity) for arity, names in rows for name in re.findall(r"`(\w+)`", names)}
    assert written == expected
