# SPDX-License-Identifier: Apache-2.0
"""The lessons of docs/tutorial and the code of docs/python.md, run from top to bottom."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md"))


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def test_every_lesson_is_listed():
    index = (ROOT / "docs" / "tutorial" / "README.md").read_text()
    assert len(LESSONS) == 7
    assert re.findall(r"\]\((\d_\w+\.md)\)", index) == [lesson.name for lesson in LESSONS]


@pytest.mark.parametrize("page", [lesson for lesson in LESSONS if blocks(lesson, "python")], ids=lambda page: page.stem)
def test_lesson(page):
    scope = {"__name__": page.stem}
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), scope)


def test_the_example_of_the_first_page():
    (example,) = blocks(ROOT / "README.md", "python")
    exec(example, {})


def test_the_example_of_the_page_about_the_package():
    (first, *_) = blocks(ROOT / "docs" / "python.md", "python")
    scope = {}
    exec(first, scope)
    assert (scope["C"] == 32).all()


def test_the_program_in_cpp(tmp_path):
    build = pathlib.Path(os.environ.get("TC_BUILD_DIR", ROOT / "build"))
    (text,) = blocks(ROOT / "docs" / "tutorial" / "7_deployment.md", "cpp")
    source, program = tmp_path / "axpy.cpp", tmp_path / "axpy"
    source.write_text(text)
    subprocess.run(["c++", "-std=c++20", f"-I{ROOT}", source, f"-L{build / 'lib'}", "-ltc", f"-Wl,-rpath,{build / 'lib'}", "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "7\n"
