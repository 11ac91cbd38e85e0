// SPDX-License-Identifier: Apache-2.0
#include "tc/support/diagnostic.h"

#include <gtest/gtest.h>

namespace tc {
namespace {

std::string rendered(const std::string& text, SourceRange range) {
  const SourceBuffer source("f.tc", text);
  return render(source, Diagnostic{Severity::Error, "E0203", range, "bad thing", {}});
}

TEST(SourceBuffer, FindsLinesAndColumns) {
  const SourceBuffer source("f", "ab\ncd\r\n\nlast");
  struct Case {
    std::uint32_t offset;
    int line, column;
  };
  for (const Case& c :
       {Case{0, 1, 1}, {2, 1, 3}, {3, 2, 1}, {7, 3, 1}, {8, 4, 1}, {12, 4, 5}, {99, 4, 5}}) {
    const SourceBuffer::Position position = source.position(c.offset);
    EXPECT_EQ(position.line, c.line) << c.offset;
    EXPECT_EQ(position.column, c.column) << c.offset;
  }
  EXPECT_EQ(source.line_text(1), "ab");
  EXPECT_EQ(source.line_text(2), "cd");
  EXPECT_EQ(source.line_text(3), "");
  EXPECT_EQ(source.line_text(4), "last");
  EXPECT_EQ(source.line_text(0), "");
  EXPECT_EQ(source.line_text(5), "");
  EXPECT_EQ(source.text({3, 5}), "cd");
  EXPECT_EQ(source.text({10, 99}), "st");
  EXPECT_EQ(SourceBuffer("f", "").position(0).line, 1);
}

TEST(SourceRange, JoinsAndIgnoresEmptyOnes) {
  const SourceRange joined = SourceRange::join({5, 7}, {1, 2});
  EXPECT_EQ(joined.begin, 1u);
  EXPECT_EQ(joined.end, 7u);
  EXPECT_EQ(SourceRange::join({0, 0}, {5, 7}).begin, 5u);
  EXPECT_EQ(SourceRange::join({5, 7}, {9, 9}).end, 7u);
}

TEST(Render, PutsCaretsUnderTheWholeRange) {
  EXPECT_EQ(rendered("x\n  C(i) = A(i+j)\n", {11, 17}),
            "f.tc:2:10: error: bad thing [E0203]\n  C(i) = A(i+j)\n         ^^^^^^\n");
}

TEST(Render, CutsARangeAtTheEndOfItsFirstLine) {
  EXPECT_EQ(rendered("ab cd\nef\n", {3, 8}), "f.tc:1:4: error: bad thing [E0203]\nab cd\n   ^^\n");
}

TEST(Render, PointsBehindTheEnd) {
  EXPECT_EQ(rendered("ab", {2, 2}), "f.tc:1:3: error: bad thing [E0203]\nab\n  ^\n");
  EXPECT_EQ(rendered("", {0, 0}), "f.tc:1:1: error: bad thing [E0203]\n\n^\n");
  EXPECT_EQ(rendered("ab", {50, 60}), "f.tc:1:3: error: bad thing [E0203]\nab\n  ^\n");
}

TEST(Render, EmptyRangeInsideALinePointsAtTheNextCharacter) {
  EXPECT_EQ(rendered("abc", {1, 1}), "f.tc:1:2: error: bad thing [E0203]\nabc\n ^\n");
}

TEST(Render, AlignsCaretsBehindTabs) {
  EXPECT_EQ(rendered("\tab\tcd", {4, 6}),
            "f.tc:1:5: error: bad thing [E0203]\n        ab      cd\n                ^^\n");
}

TEST(Render, CountsUtf8ByCodePoint) {
  EXPECT_EQ(rendered("\xc3\xa9 x", {3, 4}),
            "f.tc:1:4: error: bad thing [E0203]\n\xc3\xa9 x\n  ^\n");
}

TEST(Render, EscapesHostileBytes) {
  EXPECT_EQ(rendered("\x1b[31m\xff x", {7, 8}),
            "f.tc:1:8: error: bad thing [E0203]\n\\x1b[31m\\xff x\n             ^\n");
  // Right-to-left override.
  EXPECT_EQ(rendered("\xe2\x80\xae!", {0, 3}),
            "f.tc:1:1: error: bad thing [E0203]\n\\u{202e}!\n^^^^^^^^\n");
}

TEST(Render, ShowsOnlyTheNeighbourhoodOnOverlongLines) {
  const std::string text =
      rendered(std::string(5000, 'x') + "!" + std::string(5000, 'y'), {5000, 5001});
  EXPECT_LT(text.size(), 700u);
  EXPECT_NE(text.find("..." + std::string(80, 'x') + "!y"), std::string::npos);
  EXPECT_NE(text.find("y...\n" + std::string(83, ' ') + "^\n"), std::string::npos);
}

TEST(Render, WritesNotesWithTheirPlaces) {
  const SourceBuffer source("f.tc", "one\ntwo\n");
  DiagnosticSink sink;
  Diagnostic& warning = sink.warning("W0001", {0, 3}, "look");
  warning.notes.push_back({{4, 7}, "here"});
  warning.notes.push_back({{}, "N = 3"});
  EXPECT_EQ(render(source, sink.sorted()), "f.tc:1:1: warning: look [W0001]\none\n^^^\nf.tc:2:1: "
                                           "note: here\ntwo\n^^^\nf.tc: note: N = 3\n");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  struct Case {
    std::string text, shown;
  };
  for (const Case& c : {Case{"plain", "plain"},
                        {"a\tb\n", "a\\x09b\\x0a"},
                        {"\x7f", "\\x7f"},
                        {"\xc2\x9b", "\\u{9b}"},
                        {"\xc0\xaf", "\\xc0\\xaf"},
                        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
                        {"\xe2\x82", "\\xe2\\x82"},
                        {std::string(1, '\0'), "\\x00"},
                        {"\xef\xbb\xbf", "\\u{feff}"}})
    EXPECT_EQ(printable(c.text), c.shown);
}

TEST(Render, ShortensEndlessWords) {
  const SourceBuffer source("f.tc", "abc");
  const std::string name = "begin" + std::string(100'000, 'x') + "end";
  DiagnosticSink sink;
  sink.error("E0001", {1, 2}, "the name '" + name + "' is unknown; use 'a' or  'b'");
  const std::string text = render(source, sink.sorted());
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("the name 'beginxx"), std::string::npos) << text;
  EXPECT_NE(text.find("xx...xx"), std::string::npos) << text;
  EXPECT_NE(text.find("xxend' is unknown; use 'a' or  'b' [E0001]"), std::string::npos) << text;
}

TEST(DiagnosticSink, SortsByPlaceAndDropsRepetitions) {
  DiagnosticSink sink;
  sink.warning("W0001", {9, 10}, "w");
  EXPECT_FALSE(sink.has_errors());
  sink.error("E0002", {5, 6}, "second");
  sink.error("E0001", {1, 2}, "first");
  sink.error("E0002", {5, 6}, "again");
  EXPECT_TRUE(sink.has_errors());
  EXPECT_EQ(sink.all().size(), 4u);
  const std::vector<Diagnostic> sorted = sink.sorted();
  ASSERT_EQ(sorted.size(), 3u);
  EXPECT_EQ(sorted[0].message, "first");
  EXPECT_EQ(sorted[1].message, "second");
  EXPECT_EQ(sorted[2].message, "w");
}

TEST(CompileError, HoldsAllDiagnosticsAndTheirText) {
  const SourceBuffer source("f.tc", "abc");
  DiagnosticSink sink;
  sink.warning("W0001", {0, 1}, "w");
  throw_if_errors(source, sink);
  sink.error("E0001", {1, 2}, "e");
  try {
    throw_if_errors(source, sink);
    FAIL() << "no exception";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().size(), 2u);
    EXPECT_NE(std::string(error.what()).find("error: e [E0001]"), std::string::npos);
  }
}

}  // namespace
}  // namespace tc
