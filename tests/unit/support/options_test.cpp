// SPDX-License-Identifier: Apache-2.0
#include "tc/support/options.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace tc {
namespace {

TEST(Options, JsonRoundTrip) {
  MappingOptions options;
  options.fusion = Fusion::Preserve3Coincident;
  options.tile = {32, 0, INT64_MAX};
  options.tasks = 7;
  options.vector_bits = 128;
  options.register_rows = 32;
  options.register_vectors = 8;
  options.contract_block_k = 64;
  options.stage = false;
  options.local_bytes = 1 << 20;
  options.split_reduction = 4;
  options.bounds = Bounds::Trust;
  options.deterministic = false;
  options.fast_math = true;
  for (const MappingOptions& o : {options, MappingOptions{}, *named_options("naive")}) {
    const Result<MappingOptions, std::string> read = options_from_json(to_json(o));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, o);
    EXPECT_EQ(to_json(*read), to_json(o));
  }
}

TEST(Options, JsonNamesEveryField) {
  const std::string json = to_json(MappingOptions{});
  EXPECT_EQ(json.find("{\"version\":1,\"fusion\":\"max\",\"tile\":[]"), 0u) << json;
  for_each_field([&](const auto& field) {
    EXPECT_NE(json.find(std::string("\"") + field.name + "\":"), std::string::npos) << field.name;
  });
}

TEST(Options, MissingFieldsKeepTheirDefaults) {
  const Result<MappingOptions, std::string> read =
      options_from_json(R"({"version": 1, "tasks": 3})");
  ASSERT_TRUE(read) << read.error();
  MappingOptions expected;
  expected.tasks = 3;
  EXPECT_EQ(*read, expected);
}

TEST(Options, ErrorsNameTheOffender) {
  struct Case {
    const char* json;
    const char* part;
  };
  const Case cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "one JSON object"},
      {"3", "one JSON object"},
      {"{}", "no \"version\""},
      {R"({"version": 2})", "'version' is 2; legal values: 1"},
      {R"({"version": "1"})", "'version'"},
      {R"({"version": 1, "tiles": [1]})", "no option is named 'tiles'; there are: fusion, tile"},
      {R"({"version": 1, "tile": 3})", "'tile' is 3; legal values: list of integers >= 0"},
      {R"({"version": 1, "tile": [1, -1]})", "'tile' is [1,-1]"},
      {R"({"version": 1, "tile": [1.5]})", "'tile'"},
      {R"({"version": 1, "tasks": 1.0})", "'tasks' is 1.0"},
      {R"({"version": 1, "tasks": true})", "'tasks' is true"},
      {R"({"version": 1, "tasks": -1})", "'tasks' is -1; legal values: integer >= 0"},
      {R"({"version": 1, "tasks": 9223372036854775808})", "'tasks'"},
      {R"({"version": 1, "fusion": "most"})",
       "'fusion' is \"most\"; legal values: max | preserve3 | min"},
      {R"({"version": 1, "fusion": 1})", "'fusion' is 1"},
      {R"({"version": 1, "stage": 1})", "'stage' is 1; legal values: true | false"},
      {R"({"version": 1, "vector_bits": 96})", "'vector_bits' is 96"},
      {R"({"version": 1, "vector_bits": 32})", "'vector_bits' is 32"},
      {R"({"version": 1, "register_rows": 33})", "'register_rows' is 33; legal values: 0 to 32"},
      {R"({"version": 1, "bounds": null})", "'bounds' is null"},
      {R"({"version": 1, "tasks": 1, "tasks": 2})", "'tasks' is given twice"},
  };
  for (const Case& c : cases) {
    const Result<MappingOptions, std::string> read = options_from_json(c.json);
    ASSERT_FALSE(read) << c.json;
    EXPECT_NE(read.error().find(c.part), std::string::npos) << c.json << "\n" << read.error();
  }
}

TEST(Options, ValidateChecksEveryDomain) {
  EXPECT_EQ(validate(MappingOptions{}), "");
  MappingOptions options;
  options.register_vectors = 9;
  EXPECT_EQ(validate(options), "option 'register_vectors' is 9; legal values: 0 to 8");
  options = {};
  options.local_bytes = -1;
  EXPECT_NE(validate(options), "");
}

TEST(Options, NamedSets) {
  EXPECT_EQ(*named_options("default"), MappingOptions{});
  const MappingOptions naive = *named_options("naive");
  EXPECT_EQ(naive.fusion, Fusion::Min);
  EXPECT_EQ(naive.tile, std::vector<std::int64_t>(8, 1));
  EXPECT_EQ(naive.vector_bits, 1);
  EXPECT_FALSE(naive.stage);
  EXPECT_EQ(validate(naive), "");
  const Result<MappingOptions, std::string> unknown = named_options("quick");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().find("'quick'"), std::string::npos);
}

TEST(Options, MarkdownHasOneRowPerField) {
  const std::string text = options_markdown();
  for_each_field([&](const auto& field) {
    EXPECT_NE(text.find(std::string("| `") + field.name + "` |"), std::string::npos) << field.name;
  });
  EXPECT_NE(text.find("max \\| preserve3 \\| min"), std::string::npos);
}

TEST(Options, PageIsTheMarkdown) {
  std::ifstream file(TC_SOURCE_DIR "/docs/options.md");
  ASSERT_TRUE(file);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, options_markdown()) << "'tensorc info --options' prints the page";
}

}  // namespace
}  // namespace tc
