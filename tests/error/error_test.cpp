// SPDX-License-Identifier: Apache-2.0
//
// Every tests/error/*.tc states the diagnostics that it must give, and nothing else may be given:
//
//   # expected-error@+1 {{E0203}} {{part of the message}}      line relative to the comment;
//   without '@' the comment's own line # expected-warning@-1 {{W0202}} {{...}} # sizes: N=3 K=4
//   first line: sizes and integer consts; the file is then also specialised and proved
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tc/lang/parser.h"
#include "tc/lang/ranges.h"
#include "tc/lang/sema.h"

namespace tc::lang {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TC_SOURCE_DIR;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> sorted_files(const fs::path& folder,
                                   const std::set<std::string>& extensions) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (extensions.count(entry.path().extension().string())) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

struct Expectation {
  int line;
  Severity severity;
  std::string code;
  std::string text;
};

std::vector<Expectation> expectations(const std::string& text) {
  static const std::regex pattern(
      R"(expected-(error|warning)(?:@([+-]\d+))?\s*\{\{(\w+)\}\}\s*\{\{(.*?)\}\})");
  std::vector<Expectation> out;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    for (auto match = std::sregex_iterator(line.begin(), line.end(), pattern);
         match != std::sregex_iterator(); ++match) {
      const int offset = (*match)[2].matched ? std::stoi((*match)[2]) : 0;
      out.push_back({number + offset, (*match)[1] == "error" ? Severity::Error : Severity::Warning,
                     (*match)[3], (*match)[4]});
    }
  }
  return out;
}

/// Sizes and integer consts of the first line; nullopt: it gives none.
std::optional<std::map<std::string, std::int64_t>> given_sizes(const std::string& text) {
  const std::string first = text.substr(0, text.find('\n'));
  static const std::regex header(R"(#\s*sizes:(.*))");
  static const std::regex item(R"((\w+)=(-?\d+))");
  std::smatch match;
  if (!std::regex_match(first, match, header)) return std::nullopt;
  const std::string list = match[1];
  std::map<std::string, std::int64_t> out;
  for (auto entry = std::sregex_iterator(list.begin(), list.end(), item);
       entry != std::sregex_iterator(); ++entry)
    out[(*entry)[1]] = std::stoll((*entry)[2]);
  return out;
}

void check_at_sizes(const TypedDef& def, const std::map<std::string, std::int64_t>& values,
                    DiagnosticSink& sink) {
  Bindings bindings;
  for (const Size& size : def.sizes)
    if (values.count(size.name)) bindings.sizes[size.name] = values.at(size.name);
  for (const Const& constant : def.consts)
    if (values.count(constant.name))
      bindings.consts[constant.name].integer = values.at(constant.name);
  if (const auto specialised = specialise(def, bindings, sink)) prove(*specialised, bindings, sink);
}

DiagnosticSink diagnose(const SourceBuffer& source) {
  DiagnosticSink sink;
  const ast::Program program = parse(source, sink);
  if (sink.has_errors()) return sink;
  const auto sizes = given_sizes(std::string(source.text()));
  for (const TypedDef& def : analyse_all(program, sink)) {
    if (sizes)
      check_at_sizes(def, *sizes, sink);
    else
      derive_preconditions(def, sink);
  }
  return sink;
}

class ErrorFile : public testing::TestWithParam<fs::path> {};

TEST_P(ErrorFile, GivesWhatItExpects) {
  const SourceBuffer source(GetParam().filename().string(), read_file(GetParam()));
  const std::vector<Expectation> expected = expectations(std::string(source.text()));
  EXPECT_FALSE(expected.empty()) << "a file without expectations tests nothing";
  std::vector<bool> met(expected.size(), false);
  for (const Diagnostic& given : diagnose(source).sorted()) {
    const int line = source.position(given.range.begin).line;
    bool found = false;
    for (std::size_t i = 0; i < expected.size() && !found; ++i) {
      const Expectation& want = expected[i];
      found = !met[i] && want.line == line && want.severity == given.severity &&
              want.code == given.code && given.message.find(want.text) != std::string::npos;
      if (found) met[i] = true;
    }
    EXPECT_TRUE(found) << "not expected:\n" << render(source, given);
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(met[i]) << "missing in line " << expected[i].line << ": " << expected[i].code << " "
                        << expected[i].text;
}

INSTANTIATE_TEST_SUITE_P(Files, ErrorFile,
                         testing::ValuesIn(sorted_files(kRoot / "tests/error", {".tc"})),
                         [](const auto& info) {
                           std::string name = info.param.stem().string();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return name;
                         });

std::set<std::string> codes_in(const std::vector<fs::path>& files, const std::regex& pattern) {
  std::set<std::string> out;
  for (const fs::path& file : files) {
    const std::string text = read_file(file);
    for (auto match = std::sregex_iterator(text.begin(), text.end(), pattern);
         match != std::sregex_iterator(); ++match)
      out.insert((*match)[1]);
  }
  return out;
}

/// Every code in the sources is documented, every documented one occurs in the sources and in a
/// test.
TEST(Codes, AreDocumentedAndPinned) {
  std::set<std::string> used;
  for (const char* folder : {"tc/lang", "tc/support", "tc/compiler", "cli"})
    used.merge(
        codes_in(sorted_files(kRoot / folder, {".cpp"}), std::regex(R"re("([EW]0\d{3})")re")));
  const std::set<std::string> documented =
      codes_in(sorted_files(kRoot / "docs", {".md"}), std::regex(R"re(\b([EW]0[1-5]\d{2})\b)re"));
  std::set<std::string> pinned = codes_in(sorted_files(kRoot / "tests/error", {".tc"}),
                                          std::regex(R"re(\{\{([EW]0\d{3})\}\})re"));
  // What only a huge text gives is pinned by a unit test, what only a machine gives by a test of
  // the command line.
  pinned.merge(
      codes_in(sorted_files(kRoot / "tests/unit", {".cpp"}), std::regex(R"re("([EW]0\d{3}))re")));
  pinned.merge(codes_in(sorted_files(kRoot / "tests/integration", {".py"}),
                        std::regex(R"re(\b([EW]0\d{3})\b)re")));
  // Given only for a def that the caller names, not by any text.
  const std::set<std::string> by_request = {"E0235"};
  for (const std::string& code : used) {
    EXPECT_TRUE(documented.count(code)) << code << " is not in docs/errors.md";
    EXPECT_TRUE(pinned.count(code) || by_request.count(code))
        << code << " has no file in tests/error and no other test";
  }
  for (const std::string& code : documented)
    EXPECT_TRUE(used.count(code)) << code << " is documented but never given";
}

}  // namespace
}  // namespace tc::lang
