// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gtest/gtest.h>

#include <ostream>
#include <sstream>

#include "tests/unit/poly/programs.h"

namespace tc::poly::testing {
namespace {

constexpr const char* kSoftmax = "def f(float(N,D) I) -> (O) { m(n) max=! I(n,r_d)  s(n) +=! "
                                 "exp(I(n,r_d) - m(n))  O(n,d) = exp(I(n,d) - m(n)) / s(n) }";
constexpr const char* kChain = "def f(float(M,K) A, float(K,N) B, float(N,P) C) -> (D) { T(m,n) "
                               "+=! A(m,r_k)*B(r_k,n)  D(m,p) +=! T(m,r_n)*C(r_n,p) }";
constexpr const char* kRnn =
    "def f(float(T,B,K) a, float(K,K) U, float(B,K) h0) -> (h) {\n  h(0,b,k) = h0(b,k)\n  for t in "
    "1:T {\n"
    "    g(b,k) +=! h(t-1,b,r_j) * U(k,r_j)\n    h(t,b,k) = tanh(a(t,b,k) + g(b,k))\n  }\n}";
constexpr const char* kSwiglu = "def f(float(M,K) X, float(N,K) G0, float(N,K) U0) -> (Y) { G(m,n) "
                                "+=! X(m,r_k)*G0(n,r_k)  U(m,n) +=! X(m,r_k)*U0(n,r_k)\n"
                                "  Y(m,n) = G(m,n) / (1.0 + exp(-G(m,n))) * U(m,n) }";
constexpr const char* kAttention =
    "def f(float(B,H,S,D) Q, float(B,H,T,D) K, float(B,H,T,D) V) -> (O) {\n"
    "  P(b,h,i,j) +=! Q(b,h,i,r_d) * K(b,h,j,r_d)\n  m(b,h,i) max=! P(b,h,i,r_j)\n  s(b,h,i) +=! "
    "exp(P(b,h,i,r_j) - m(b,h,i))\n"
    "  A(b,h,i,d) +=! exp(P(b,h,i,r_j) - m(b,h,i)) * V(b,h,r_j,d)\n  O(b,h,i,d) = A(b,h,i,d) / "
    "s(b,h,i)\n}";
constexpr const char* kWide4 =
    "def f(float(A,B,C,D) x) -> (y, z) { y(a,b,c,d) = x(a,b,c,d) * 2  z(a,b,c) +=! y(a,b,c,r) }";

struct ShapeCase {
  const char* name;
  const char* text;
  Sizes sizes;
  const char* max;
  const char* preserve3;
  const char* min;
};

void PrintTo(const ShapeCase& value, std::ostream* stream) {
  *stream << value.name;
}

class Shapes : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(Shapes, FollowTheStrategy) {
  const Polyhedral poly(GetParam().text, GetParam().sizes);
  EXPECT_EQ(shape(poly.scop, poly.schedule(Fusion::Max)), GetParam().max);
  EXPECT_EQ(shape(poly.scop, poly.schedule(Fusion::Preserve3Coincident)), GetParam().preserve3);
  EXPECT_EQ(shape(poly.scop, poly.schedule(Fusion::Min)), GetParam().min);
  for (const Fusion fusion : {Fusion::Max, Fusion::Preserve3Coincident, Fusion::Min})
    EXPECT_EQ(poly.violations(poly.schedule(fusion)), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    All, Shapes,
    ::testing::Values(
        ShapeCase{"softmax",
                  kSoftmax,
                  {{"N", 1000}, {"D", 512}},
                  "{n; S0_init S0 S1_init S1 S2}",
                  "{n; S0_init S0 S1_init S1} {n,d; S2}",
                  "{n; S0_init S0} {n; S1_init S1} {n,d; S2}"},
        // The band is that of the statement with the most work: its left-hand side.
        ShapeCase{"long_chain",
                  kChain,
                  {{"M", 4096}, {"K", 512}, {"N", 512}, {"P", 512}},
                  "{m; S0_init S0 S1_init S1}",
                  "{m,n; S0_init S0} {m,p; S1_init S1}",
                  "{m,n; S0_init S0} {m,p; S1_init S1}"},
        // Eight rows a task would read the big matrices again and again.
        ShapeCase{"short_chain",
                  kChain,
                  {{"M", 128}, {"K", 1024}, {"N", 1024}, {"P", 1024}},
                  "{m,n; S0_init S0} {m,p; S1_init S1}",
                  "{m,n; S0_init S0} {m,p; S1_init S1}",
                  "{m,n; S0_init S0} {m,p; S1_init S1}"},
        ShapeCase{"swiglu",
                  kSwiglu,
                  {{"M", 512}, {"K", 512}, {"N", 512}},
                  "{m,n; S0_init S0 S1_init S1 S2}",
                  "{m,n; S0_init S0 S1_init S1 S2}",
                  "{m,n; S0_init S0} {m,n; S1_init S1} {m,n; S2}"},
        ShapeCase{"attention",
                  kAttention,
                  {{"B", 4}, {"H", 16}, {"S", 4096}, {"T", 4096}, {"D", 128}},
                  "{b,h,i; S0_init S0 S1_init S1 S2_init S2 S3_init S3 S4}",
                  "{b,h,i; S0_init S0 S1_init S1 S2_init S2 S3_init S3 S4}",
                  "{b,h,i,j; S0_init S0} {b,h,i; S1_init S1} {b,h,i; S2_init S2} {b,h,i,d; S3_init "
                  "S3} {b,h,i,d; S4}"},
        // Four members: the fourth may go under preserve3.
        ShapeCase{"fourth_member",
                  kWide4,
                  {{"A", 32}, {"B", 32}, {"C", 32}, {"D", 32}},
                  "{a,b,c; S0 S1_init S1}",
                  "{a,b,c; S0 S1_init S1}",
                  "{a,b,c,d; S0} {a,b,c; S1_init S1}"},
        // Independent readers of one tensor share a kernel only under max.
        ShapeCase{"readers",
                  "def f(float(N,D) x) -> (a, b) { a(n,d) = x(n,d) + 1  b(n,d) = x(n,d) * 2 }",
                  {{"N", 300}, {"D", 400}},
                  "{n,d; S0 S1}",
                  "{n,d; S0} {n,d; S1}",
                  "{n,d; S0} {n,d; S1}"},
        ShapeCase{"stencils",
                  "def f(float(N) a) -> (c) { b(i) = a(i)+a(i+1)  c(i) = b(i)+b(i+1) }",
                  {{"N", 1000000}},
                  "{i; S0} {i; S1}",
                  "{i; S0} {i; S1}",
                  "{i; S0} {i; S1}"},
        ShapeCase{"transposed_use",
                  "def f(float(N,M) a) -> (c) { b(i,j) = a(i,j)*2  c(j,i) = b(i,j) + 1 }",
                  {{"N", 500}, {"M", 600}},
                  "{j,i; S0 S1}",
                  "{j,i; S0 S1}",
                  "{i,j; S0} {j,i; S1}"},
        // S2 joins S0 past the independent S1.
        ShapeCase{"reordered",
                  "def f(float(N) a, float(M) b) -> (x, y, z) { x(i) = a(i)  y(j) = b(j)  z(i) = "
                  "x(i) + 1 }",
                  {{"N", 100000}, {"M", 200000}},
                  "{i; S0 S2} {j; S1}",
                  "{i; S0 S2} {j; S1}",
                  "{i; S0} {j; S1} {i; S2}"},
        ShapeCase{"rnn_long_batch",
                  kRnn,
                  {{"T", 100}, {"B", 32}, {"K", 256}},
                  "{b; S0 for t(S1_init S1 S2)}",
                  "{b,k; S0} launch t[{b,k; S1_init S1 S2}]",
                  "{b,k; S0} launch t[{b,k; S1_init S1} {b,k; S2}]"},
        ShapeCase{"rnn_short_batch",
                  kRnn,
                  {{"T", 100}, {"B", 2}, {"K", 1024}},
                  "{b,k; S0} launch t[{b,k; S1_init S1 S2}]",
                  "{b,k; S0} launch t[{b,k; S1_init S1 S2}]",
                  "{b,k; S0} launch t[{b,k; S1_init S1} {b,k; S2}]"},
        ShapeCase{"qrnn",
                  "def f(float(T,B) f, float(T,B) z) -> (h) { h(0,b) = z(0,b)  for t in 1:T { "
                  "h(t,b) = f(t,b)*h(t-1,b) + (1-f(t,b))*z(t,b) } }",
                  {{"T", 1000}, {"B", 512}},
                  "{b; S0 for t(S1)}",
                  "{b; S0 for t(S1)}",
                  "{b; S0} {b; for t(S1)}"},
        ShapeCase{
            "heat",
            "def f(float(N) x) -> (u) { u(0,i) = x(i)\n"
            " for t in 1:50 { u(t,i) = pad(u(t-1,i-1),0) + pad(u(t-1,i+1),0) where i in 0:N } }",
            {{"N", 1000000}},
            "{i; S0} launch t[{i; S1}]",
            "{i; S0} launch t[{i; S1}]",
            "{i; S0} launch t[{i; S1}]"},
        // Each recurrence has a loop and a kernel of its own.
        ShapeCase{"independent_recurrences",
                  "def f(float(T,B) x, float(T,N) z) -> (h, g) { h(0,b) = x(0,b)  g(0,n) = z(0,n)\n"
                  "  for t in 1:T { h(t,b) = x(t,b)+2*h(t-1,b)  g(t,n) = g(t-1,n) + z(t,n) } }",
                  {{"T", 100}, {"B", 64}, {"N", 48}},
                  "{b; S0 for t(S2)} {n; S1 for t(S3)}",
                  "{b; S0 for t(S2)} {n; S1 for t(S3)}",
                  "{b; S0} {n; S1} {b; for t(S2)} {n; for t(S3)}"},
        // Too small to pay for a second launch.
        ShapeCase{"tiny",
                  "def f(float(N) x) -> (y) { s +=! x(r_n)  y(n) = x(n) - s }",
                  {{"N", 100}},
                  "{; S0_init S0 S1}",
                  "{; S0_init S0} {n; S1}",
                  "{; S0_init S0} {n; S1}"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Fusion, KeepsThePiecesThatTheTasksNeed) {
  const Polyhedral poly(kSoftmax, {{"N", 8}, {"D", 4000000}});
  EXPECT_EQ(shape(poly.scop, poly.schedule(Fusion::Max, 4)), "{n; S0_init S0 S1_init S1 S2}");
  EXPECT_EQ(shape(poly.scop, poly.schedule(Fusion::Max, 64)),
            "{n; S0_init S0 S1_init S1} {n,d; S2}");
}

TEST(Fusion, BandOfReversedAndShiftedUses) {
  const Polyhedral reversed(
      "def f(float(N) a) -> (c) { b(N-1-i) = a(i) where i in 0:N  c(i) = 2*b(i) }",
      {{"N", 100000}});
  const Group group = std::get<Group>(reversed.schedule().steps.at(0));
  ASSERT_EQ(group.band.size(), 1U);
  EXPECT_EQ(group.band[0].lo, 0);
  EXPECT_EQ(group.band[0].hi, 100000);
  EXPECT_EQ(group.band[0].alignment[0].sign, -1);
  EXPECT_EQ(group.band[0].alignment[0].offset, 99999);
  EXPECT_EQ(group.band[0].alignment[1].sign, 1);

  // Statements of different extents share a member; its range is the hull.
  const Polyhedral shifted(
      "def f(float(N) a) -> (b, c) { b(i) = a(i)  c(i) = b(i+7) where i in 3:N-7 }",
      {{"N", 100000}});
  const Group hull = std::get<Group>(shifted.schedule().steps.at(0));
  ASSERT_EQ(hull.band.size(), 1U);
  EXPECT_EQ(hull.band[0].lo, 0);
  EXPECT_EQ(hull.band[0].hi, 100000);
  EXPECT_EQ(hull.band[0].alignment[1].offset, 7);
}

TEST(Fusion, AReductionOverASharedLeftSideHasNoBand) {
  const Polyhedral poly("def f(float(I) a, float(J) b) -> (y) { y(i+j) +=! a(i)*b(j) }",
                        {{"I", 400}, {"J", 600}});
  EXPECT_EQ(shape(poly.scop, poly.schedule()), "{; S0_init S0}");
  const Polyhedral injective("def f(float(I,J) a) -> (y) { y(2*i+j) +=! a(i,j) where j in 0:2 }",
                             {{"I", 400}, {"J", 2}});
  EXPECT_EQ(injective.schedule().steps.size(), 1U);
}

// ---- equivalent spellings ----

struct Spelling {
  const char* name;
  Sizes sizes;
  std::vector<const char*> texts;
};

void PrintTo(const Spelling& value, std::ostream* stream) {
  *stream << value.name;
}

class Spellings : public ::testing::TestWithParam<Spelling> {};

TEST_P(Spellings, GiveOneSchedule) {
  const Polyhedral first(GetParam().texts.at(0), GetParam().sizes);
  for (const char* text : GetParam().texts) {
    const Polyhedral other(text, GetParam().sizes);
    for (const Fusion fusion : {Fusion::Max, Fusion::Preserve3Coincident, Fusion::Min}) {
      const isl::union_map a =
          to_schedule_tree(first.scop, first.schedule(fusion), first.context).map();
      const isl::union_map b(first.context.get(), [&] {
        std::ostringstream stream;
        stream << to_schedule_tree(other.scop, other.schedule(fusion), other.context).map();
        return stream.str();
      }());
      EXPECT_TRUE(a.is_equal(b)) << text << "\n" << a << "\n" << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Spellings,
    ::testing::Values(
        Spelling{"softmax",
                 {{"N", 1000}, {"D", 512}},
                 {kSoftmax,
                  "def g(float(N,D) x) -> (y) { top(a) max=! x(a,k) where k in 0:D, a in 0:N  "
                  "sum(a) +=! exp(x(a,k) - top(a))\n"
                  "  y(a,b) = exp(x(a,b) - top(a)) / sum(a) }",
                  "def f(float(N,D) I) -> (O) { m(n) max=! I(n,r)  s(n) +=! e where e = exp(I(n,r) "
                  "- m(n))\n"
                  "  O(n,d) = exp(I(n,d) - m(n)) / s(n) where d in 0:D }"}},
        Spelling{"matmul",
                 {{"M", 300}, {"K", 200}, {"N", 100}},
                 {"def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
                  "def f(float(M,K) A, float(K,N) B) -> (C) { C(i,j) +=! B(r,j) * A(i,r) }",
                  "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m+0,k) * B(k,n-0) where "
                  "k in 0:K }"}},
        Spelling{"inlined_call",
                 {{"N", 700}, {"D", 300}},
                 {"def f(float(N,D) x) -> (y) { s(n) +=! x(n,d)  y(n,d) = x(n,d) / s(n) }",
                  "def f(float(N,D) x) -> (y) { s = rows(x)  y(n,d) = x(n,d) / s(n) }  def "
                  "rows(float(A,B) v) -> (w) { w(a) +=! v(a,b) }"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Schedule, IsDeterministic) {
  const auto text = [] {
    const Polyhedral poly(kAttention, {{"B", 2}, {"H", 4}, {"S", 128}, {"T", 128}, {"D", 32}});
    return poly.text(poly.schedule());
  };
  EXPECT_EQ(text(), text());
}

TEST(Schedule, QuotaIsARejection) {
  Polyhedral poly("def f(float(I,J) a) -> (y) { y(2*i+j) +=! a(i,j) where j in 0:3 }",
                  {{"I", 40}, {"J", 3}});
  poly.context.set_quota(1);
  const auto result = compute_schedule(poly.scop, poly.dep, poly.rel, {});
  poly.context.set_quota(0);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, RejectionKind::SchedulerQuota);
}

// ---- which reductions are split ----

struct SplitCase {
  const char* name;
  const char* text;
  Sizes sizes;
  int cores;
  std::int64_t option;
  std::int64_t parts;  ///< of the first split reduction; 0: none is split
};

void PrintTo(const SplitCase& value, std::ostream* stream) {
  *stream << value.name;
}

class Splits : public ::testing::TestWithParam<SplitCase> {};

TEST_P(Splits, WhereParallelismIsMissing) {
  MappingOptions options;
  options.split_reduction = GetParam().option;
  const Scop scop = split_where_needed(build_scop(front_end(GetParam().text, GetParam().sizes)),
                                       options, {GetParam().cores});
  std::int64_t parts = 0;
  for (const Tensor& tensor : scop.tensors) {
    if (parts == 0 && tensor.name.find(".part") != std::string::npos) parts = tensor.extent.front();
  }
  EXPECT_EQ(parts, GetParam().parts) << to_string(scop);
  const Polyhedral poly(scop);
  const Schedule schedule = poly.schedule();
  EXPECT_EQ(poly.violations(schedule), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    All, Splits,
    ::testing::Values(
        SplitCase{
            "full_sum", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 1 << 28}}, 16, 0, 32},
        SplitCase{"small_sum", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 1000}}, 16, 0, 0},
        SplitCase{"one_core", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 1 << 28}}, 1, 0, 0},
        SplitCase{
            "forbidden", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 1 << 28}}, 16, 1, 0},
        SplitCase{"asked_for", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 1000}}, 1, 7, 7},
        SplitCase{"uneven", "def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 10}}, 1, 6, 5},
        SplitCase{"few_columns",
                  "def f(float(N,D) x) -> (s) { s(d) +=! x(n,d) }",
                  {{"N", 1 << 20}, {"D", 8}},
                  16,
                  0,
                  32},
        SplitCase{"many_columns",
                  "def f(float(N,D) x) -> (s) { s(d) +=! x(n,d) }",
                  {{"N", 65536}, {"D", 2048}},
                  16,
                  0,
                  0},
        SplitCase{"rows",
                  "def f(float(N,D) x) -> (s) { s(n) +=! x(n,d) }",
                  {{"N", 65536}, {"D", 2048}},
                  16,
                  0,
                  0},
        SplitCase{"few_rows",
                  "def f(float(N,D) x) -> (s) { s(n) +=! x(n,d) }",
                  {{"N", 4}, {"D", 1 << 22}},
                  16,
                  0,
                  8},
        SplitCase{
            "argmax", "def f(float(N) x) -> (k) { k argmax=! x(n) }", {{"N", 1 << 24}}, 16, 0, 32},
        SplitCase{"triangular",
                  "def f(float(N,N) x) -> (s) { s +=! x(i,j) where j in 0:i+1 }",
                  {{"N", 4096}},
                  16,
                  0,
                  32},
        SplitCase{"recurrence",
                  "def f(float(T,N) x) -> (s) { s = 0.0  for t in 0:T { s += x(t,n) } }",
                  {{"T", 3}, {"N", 1 << 24}},
                  16,
                  0,
                  0}),
    [](const auto& info) { return std::string(info.param.name); });

/// Parts of the first split reduction on a device with 132 multiprocessors; 0: none.
std::int64_t device_parts(const char* text, const Sizes& sizes, std::int64_t option = 0) {
  MappingOptions options;
  options.split_reduction = option;
  const Scop scop =
      split_where_needed(build_scop(front_end(text, sizes)), options, {528, 64, 264, 64});
  for (const Tensor& tensor : scop.tensors)
    if (tensor.name.find(".part") != std::string::npos) return tensor.extent.front();
  return 0;
}

constexpr const char* kProduct =
    "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }";

TEST(Split, ProductsWithFewTiles) {
  // 32 tiles of 64 x 64 leave room for 8 parts.
  EXPECT_EQ(device_parts(kProduct, {{"M", 128}, {"N", 1024}, {"K", 1024}}), 8);
  // Enough tiles.
  EXPECT_EQ(device_parts(kProduct, {{"M", 1024}, {"N", 1024}, {"K", 1024}}), 0);
  // Parts of 64 points at least.
  EXPECT_EQ(device_parts(kProduct, {{"M", 128}, {"N", 128}, {"K", 2048}}), 32);
  EXPECT_EQ(device_parts(kProduct, {{"M", 128}, {"N", 1024}, {"K", 100}}), 0);
  // Eight rows share too little to be a product of tiles, and their elements are enough tasks.
  EXPECT_EQ(device_parts(kProduct, {{"M", 8}, {"N", 4096}, {"K", 8192}}), 0);
  EXPECT_EQ(device_parts(kProduct, {{"M", 128}, {"N", 1024}, {"K", 1024}}, 1), 0);
}

TEST(Split, ProductsOfThreeFactors) {
  EXPECT_EQ(device_parts("def f(float(I,J,K) A, float(J,R) B, float(K,R) C) -> (D) {"
                         "  D(i,r) +=! A(i,j,k) * B(j,r) * C(k,r) }",
                         {{"I", 512}, {"J", 512}, {"K", 512}, {"R", 64}}),
            32);
}

TEST(Split, SumsAcrossRowsCountColumnTiles) {
  constexpr const char* text = "def f(float(N,D) x) -> (s) { s(d) +=! x(n,d) }";
  EXPECT_EQ(device_parts(text, {{"N", 65536}, {"D", 2048}}), 32);
  EXPECT_EQ(device_parts(text, {{"N", 1 << 20}, {"D", 64}}), 1056);
}

TEST(Split, AnyNumberOfPartsIsTaken) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(device_parts("def f(float(N) x) -> (s) { s +=! x(n) }", {{"N", 10}}, most), 10);
  EXPECT_EQ(device_parts(kProduct, {{"M", 37}, {"N", 43}, {"K", 41}}, most), 41);
}

TEST(Split, PartsStayParallel) {
  const Scop scop =
      split_where_needed(build_scop(front_end("def f(float(N,D) x) -> (s) { s(d) +=! x(n,d) }",
                                              {{"N", 1 << 20}, {"D", 64}})),
                         {}, {16});
  const Polyhedral poly(scop);
  EXPECT_EQ(shape(poly.scop, poly.schedule()), "{p,d; S0_part_init S0_part} {d; S0_init S0}");
}

}  // namespace
}  // namespace tc::poly::testing
