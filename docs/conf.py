# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation: `make docs`. Its pages are the Markdown files, which read on their own, too."""

from pygments.lexer import RegexLexer, words
from pygments.lexers.special import TextLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text

project = "Tensor Comprehensions"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
highlight_language = "text"
html_theme = "furo"
html_title = "Tensor Comprehensions"
html_copy_source = False


class ComprehensionLexer(RegexLexer):
    """The language of docs/language.md."""

    name = "Tensor Comprehensions"
    aliases = ["tc"]
    tokens = {
        "root": [
            (r"#.*?$", Comment.Single),
            (r"\s+", Text),
            (words(("def", "where", "in", "exists", "for", "const"), suffix=r"\b"), Keyword),
            (r"\b(bool|u?int(4|8|16|32|64)|float(16|32|64)?|bfloat16|float8_e4m3fn|float8_e5m2|half|double)\b", Keyword.Type),
            (r"(argmin|argmax|min|max)=!?", Operator),
            (r"\d+\.?\d*([eE][+-]?\d+)?|\.\d+", Number),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"->|<=>|[-+*/%<>=!&|?:]+", Operator),
            (r"[(){},;.]", Punctuation),
            (r".", Text),
        ]
    }


def add_title(app, name, source):
    """The page of options is what the command line prints: a table alone."""
    if name == "options":
        source[0] = "# Mapping options\n\n" + source[0]


def setup(app):
    app.connect("source-read", add_title)
    app.add_lexer("tc", ComprehensionLexer)
    # The grammar has regular expressions, which the highlighter of EBNF does not know.
    app.add_lexer("ebnf", TextLexer)
