// SPDX-License-Identifier: Apache-2.0
//
// Schedules broken on purpose, each with the violation that the proof must find; and schedules
// edited as text.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/unit/poly/programs.h"

namespace tc::poly::testing {
namespace {

constexpr const char* kRowsThenScale =
    "def f(float(N,D) x) -> (y) { s(n) +=! x(n,r_d)  y(n,d) = x(n,d) / s(n) }";
constexpr const char* kStencils =
    "def f(float(N) a) -> (c) { b(i) = a(i)+a(i+1)  c(i) = b(i)+b(i+1) }";
constexpr const char* kRecurrence = "def f(float(T,B) x) -> (h) { h(0,b) = x(0,b)  for t in 1:T { "
                                    "g(b) = 2*h(t-1,b)  h(t,b) = x(t,b)+g(b) } }";

/// Some violation contains all of the words.
void expect_violation(const std::vector<std::string>& violations,
                      const std::vector<std::string>& words) {
  for (const std::string& violation : violations) {
    if (std::all_of(words.begin(), words.end(),
                    [&](const std::string& w) { return violation.find(w) != std::string::npos; }))
      return;
  }
  ADD_FAILURE() << "no violation with '" << words.at(0) << "' among "
                << ::testing::PrintToString(violations);
}

Group only_group(const Schedule& schedule) {
  return std::get<Group>(schedule.steps.at(0));
}

TEST(Verify, SwappedStatements) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  Group group = only_group(poly.schedule());
  ASSERT_EQ(group.body.size(), 3U);
  std::swap(group.body[0], group.body[1]);
  expect_violation(poly.violations({{group}}),
                   {"flow dependence S0_init[", "-> S0[", "backward in a sequence"});
  std::swap(group.body[1], group.body[2]);
  expect_violation(poly.violations({{group}}), {"flow dependence S0_init[", "-> S0["});
}

TEST(Verify, KernelsInTheWrongOrder) {
  const Polyhedral poly(kStencils, {{"N", 100000}});
  Schedule schedule = poly.schedule();
  ASSERT_EQ(schedule.steps.size(), 2U);
  std::swap(schedule.steps[0], schedule.steps[1]);
  expect_violation(poly.violations(schedule),
                   {"flow dependence S0[", "-> S1[", "backward in a sequence"});
}

TEST(Verify, ADroppedStatement) {
  const Polyhedral poly(kStencils, {{"N", 100000}});
  Schedule schedule = poly.schedule();
  schedule.steps.pop_back();
  expect_violation(poly.violations(schedule), {"statement S1 is never executed", "S1["});
}

TEST(Verify, AStatementTwice) {
  const Polyhedral poly(kStencils, {{"N", 100000}});
  Schedule schedule = poly.schedule();
  schedule.steps.push_back(schedule.steps.back());
  expect_violation(poly.violations(schedule), {"statement S1 is executed 2 times"});
}

TEST(Verify, AnIllegalMerge) {
  const Polyhedral poly(kStencils, {{"N", 100000}});
  Group group;
  group.statements = {0, 1};
  group.band = {{"i", 0, 99999, {{0, 1, 0}, {0, 1, 0}}}};
  group.body = {0, 1};
  expect_violation(poly.violations({{group}}), {"flow dependence S0[", "-> S1[", "crosses tiles"});
}

TEST(Verify, AReductionIndexInTheBand) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  Group group;
  group.statements = {0, 1, 2};
  group.band = {{"n", 0, 100, {{0, 1, 0}, {0, 1, 0}, {0, 1, 0}}}};
  group.body = {0, 1, 2};
  EXPECT_EQ(poly.violations({{group}}), std::vector<std::string>());
  Group init{{0}, {{"n", 0, 100, {{0, 1, 0}}}}, {0}},
      reduce{{1}, {{"r_d", 0, 50, {{1, 1, 0}}}}, {0}}, scale{{2}, {}, {0}};
  expect_violation(poly.violations({{init, reduce, scale}}),
                   {"reduction dependence S0[", "crosses tiles"});
}

TEST(Verify, InstancesOutsideTheBand) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  Group group = only_group(poly.schedule());
  group.band.at(0).hi = 99;
  expect_violation(poly.violations({{group}}), {"misses instance S0_init[99]"});
}

TEST(Verify, ALoopOutOfOrder) {
  const Polyhedral poly(kRecurrence, {{"T", 100}, {"B", 64}});
  const Schedule schedule = poly.schedule();
  EXPECT_EQ(poly.violations(schedule), std::vector<std::string>());
  // The iterations without their loop.
  Group start{{0}, {}, {0}}, first{{1}, {}, {0}}, second{{2}, {}, {0}};
  expect_violation(poly.violations({{start, first, second}}),
                   {"does not stand under exactly its own loops"});
  // The two statements of an iteration swapped.
  const For& source = *std::get<std::shared_ptr<const For>>(poly.scop.body.at(1));
  const auto swapped = std::make_shared<const Ordered>(
      Ordered{source.var, source.name, source.lo, source.hi, {1, 0}});
  Group loop{{1, 2}, {}, {swapped}};
  expect_violation(poly.violations({{start, loop}}),
                   {"flow dependence S1[", "-> S2[", "backward in a sequence"});
}

TEST(Verify, ABandAcrossIterations) {
  const Polyhedral poly("def f(float(N) x) -> (u) { u(0,i) = x(i)\n for t in 1:50 { u(t,i) = "
                        "pad(u(t-1,i-1),0) + pad(u(t-1,i+1),0) where i in 0:N } }",
                        {{"N", 1000}});
  const For& loop = *std::get<std::shared_ptr<const For>>(poly.scop.body.at(1));
  const auto ordered =
      std::make_shared<const Ordered>(Ordered{loop.var, loop.name, loop.lo, loop.hi, {0}});
  Group start{{0}, {}, {0}}, steps{{1}, {{"i", 0, 1000, {{0, 1, 0}}}}, {ordered}};
  expect_violation(poly.violations({{start, steps}}), {"flow dependence S1[", "crosses tiles"});
}

// ---- text ----

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in\n" << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ScheduleText, ShowsTheTree) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  EXPECT_EQ(poly.text(poly.schedule()),
            "domain: \"{ S0_init[n] : 0 <= n <= 99; S0[n, r_d] : 0 <= n <= 99 and 0 <= r_d <= 49; "
            "S1[n, d] : 0 <= n <= 99 and 0 <= d <= 49 }\"\n"
            "child:\n"
            "  mark: \"kernel\"\n"
            "  child:\n"
            "    schedule: \"[{ S0_init[n] -> [(n)]; S0[n, r_d] -> [(n)]; S1[n, d] -> [(n)] }]\"\n"
            "    permutable: 1\n"
            "    coincident: [ 1 ]\n"
            "    child:\n"
            "      sequence:\n"
            "      - filter: \"{ S0_init[n] }\"\n"
            "      - filter: \"{ S0[n, r_d] }\"\n"
            "      - filter: \"{ S1[n, d] }\"\n");
}

TEST(ScheduleText, MembersMayBeSwapped) {
  const Polyhedral poly("def f(float(N,D) x) -> (y) { y(n,d) = x(n,d) }", {{"N", 10}, {"D", 20}});
  const std::string text = poly.text(poly.schedule());
  const auto edited =
      parse_schedule(poly.scop,
                     replaced(text, "[{ S0[n, d] -> [(n)] }, { S0[n, d] -> [(d)] }]",
                              "[{ S0[n, d] -> [(d)] }, { S0[n, d] -> [(n)] }]"),
                     poly.context);
  ASSERT_TRUE(edited.has_value()) << edited.error();
  EXPECT_EQ(shape(poly.scop, *edited), "{d,n; S0}");
  EXPECT_EQ(poly.violations(*edited), std::vector<std::string>());
}

TEST(ScheduleText, BandsOfAKernelMayBeNested) {
  const Polyhedral poly("def f(float(N,D) x) -> (y) { y(n,d) = x(n,d) }", {{"N", 10}, {"D", 20}});
  const auto edited = parse_schedule(
      poly.scop,
      "domain: \"{ S0[n, d] : 0 <= n < 10 and 0 <= d < 20 }\"\n"
      "child:\n  mark: kernel\n  child:\n    schedule: \"[{ S0[n, d] -> [(d + 3)] }]\"\n"
      "    coincident: [ 1 ]\n    child:\n      schedule: \"[{ S0[n, d] -> [(-n)] }]\"\n      "
      "coincident: [ 1 ]\n",
      poly.context);
  ASSERT_TRUE(edited.has_value()) << edited.error();
  EXPECT_EQ(shape(poly.scop, *edited), "{d,n; S0}");
  EXPECT_EQ(poly.violations(*edited), std::vector<std::string>());
}

TEST(ScheduleText, KernelsMayBeSplit) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  const std::string domain =
      "domain: \"{ S0_init[n] : 0 <= n <= 99; S0[n, r_d] : 0 <= n <= 99 and 0 <= r_d <= 49; "
      "S1[n, d] : 0 <= n <= 99 and 0 <= d <= 49 }\"\n";
  const auto edited = parse_schedule(
      poly.scop,
      domain + "child:\n  sequence:\n  - filter: \"{ S0_init[n]; S0[n, r_d] }\"\n    child:\n"
               "      mark: kernel\n      child:\n        sequence:\n"
               "        - filter: \"{ S0_init[n] }\"\n        - filter: \"{ S0[n, r_d] }\"\n"
               "  - filter: \"{ S1[n, d] }\"\n    child:\n      mark: kernel\n      child: leaf\n",
      poly.context);
  ASSERT_TRUE(edited.has_value()) << edited.error();
  EXPECT_EQ(shape(poly.scop, *edited), "{; S0_init S0} {; S1}");
  EXPECT_EQ(poly.violations(*edited), std::vector<std::string>());
}

struct BadEdit {
  const char* name;
  const char* from;
  const char* to;
  const char* error;
};

void PrintTo(const BadEdit& value, std::ostream* stream) {
  *stream << value.name;
}

class BadEdits : public ::testing::TestWithParam<BadEdit> {};

TEST_P(BadEdits, AreRefusedWithTheReason) {
  const Polyhedral poly(kRowsThenScale, {{"N", 100}, {"D", 50}});
  const std::string text = poly.text(poly.schedule());
  const auto edited =
      parse_schedule(poly.scop, replaced(text, GetParam().from, GetParam().to), poly.context);
  ASSERT_FALSE(edited.has_value());
  EXPECT_NE(edited.error().find(GetParam().error), std::string::npos) << edited.error();
}

INSTANTIATE_TEST_SUITE_P(
    All, BadEdits,
    ::testing::Values(
        BadEdit{"not_yaml", "domain:", "domain", "not a schedule tree"},
        BadEdit{"number_for_a_text", "domain: ", "domain: 5 ", "line 1: 'domain' needs a text"},
        BadEdit{"list_for_a_text", "mark: \"kernel\"", "mark: [ \"kernel\" ]",
                "line 3: 'mark' needs a text"},
        BadEdit{"quoted_key", "domain: ", "\"domain\": 9999999999999999999999 ",
                "line 1: 'domain' needs a text"},
        BadEdit{"open_text", "mark: \"kernel\"", "mark: \"kernel", "line 3: a text without"},
        BadEdit{"domain", "0 <= d <= 49", "0 <= d <= 48", "the domain of statement S1 differs"},
        BadEdit{"unknown_statement", "- filter: \"{ S1[n, d] }\"", "- filter: \"{ S9[n, d] }\"",
                "no statement 'S9'"},
        BadEdit{"dimensions", "- filter: \"{ S1[n, d] }\"", "- filter: \"{ S1[n] }\"",
                "another number of dimensions"},
        BadEdit{"part_of_a_statement", "- filter: \"{ S1[n, d] }\"",
                "- filter: \"{ S1[n, d] : n < 7 }\"", "only a part of statement S1"},
        BadEdit{"mark", "mark: \"kernel\"", "mark: \"colonel\"",
                "expected a sequence or a mark 'kernel'"},
        BadEdit{"coincident", "coincident: [ 1 ]", "coincident: [ 0 ]",
                "member 0 of a kernel's band is not coincident"},
        BadEdit{"skewed", "S1[n, d] -> [(n)]", "S1[n, d] -> [(n + d)]",
                "plus or minus one index plus a constant"},
        BadEdit{"scaled", "S1[n, d] -> [(n)]", "S1[n, d] -> [(2n)]",
                "plus or minus one index plus a constant"},
        BadEdit{"twice", "- filter: \"{ S1[n, d] }\"",
                "- filter: \"{ S1[n, d] }\"\n      - filter: \"{ S1[n, d] }\"",
                "statement S1 runs twice"},
        BadEdit{"missing", "      - filter: \"{ S1[n, d] }\"\n", "",
                "statement S1 is in no sequence of its kernel"},
        BadEdit{"unordered", "      - filter: \"{ S0[n, r_d] }\"\n      - filter: \"{ S1[n, d] }\"",
                "      - filter: \"{ S0[n, r_d]; S1[n, d] }\"",
                "statements S0 and S1 of one kernel are in no sequence"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ScheduleText, LoopsReadBack) {
  const Polyhedral poly(kRecurrence, {{"T", 100}, {"B", 64}});
  const std::string text = poly.text(poly.schedule());
  EXPECT_NE(text.find("mark: \"for:t\""), std::string::npos) << text;
  const auto renamed = parse_schedule(poly.scop, replaced(text, "for:t", "for:u"), poly.context);
  ASSERT_FALSE(renamed.has_value());
  EXPECT_NE(renamed.error().find("is 't', not 'u'"), std::string::npos) << renamed.error();
}

TEST(ScheduleText, ProgramsWithoutInstances) {
  const Polyhedral poly("def f(float(N) x) -> (y) { y(n) = x(n) }", {{"N", 0}});
  const Schedule schedule = poly.schedule();
  EXPECT_EQ(poly.violations(schedule), std::vector<std::string>());
  const auto again = parse_schedule(poly.scop, poly.text(schedule), poly.context);
  ASSERT_TRUE(again.has_value()) << again.error();
}

}  // namespace
}  // namespace tc::poly::testing
