// SPDX-License-Identifier: Apache-2.0
//
// What build() makes of the usual shapes: tiles, storage, masks, folded initialisation, loops,
// order of dims.
#include <algorithm>

#include <gtest/gtest.h>

#include "pipeline.h"
#include "tc/tile/structure.h"

namespace tc::tile::testing {
namespace {

MappingOptions tiles(std::vector<std::int64_t> sizes) {
  MappingOptions options;
  options.tile = std::move(sizes);
  return options;
}

TEST(Build, MatrixProduct) {
  const auto program =
      tile_text("def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
                {{100, 40}, {40, 48}}, tiles({32, 16}));
  EXPECT_EQ(print(program), R"(tile matmul
scratch 0
argument input A 0
argument input B 1
argument output C 0
kernel matmul_0 {
  buffer A float32[100, 40] align 64
  buffer B float32[40, 48] align 64
  buffer C float32[100, 48] align 64 writable
  grid m_tile in 0:100 step 32
  grid n_tile in 0:48 step 16
  contract S0 {
    # C(m,n) +=! A(m,k) * B(k,n)
    m in m_tile:min(100, m_tile + 32) extent 32
    n in n_tile:n_tile + 16 extent 16
    k in 0:40 extent 40 reduction
    C[m, n] +=! A[m, k] * B[k, n]
  }
}
launch 0(0, 1, 2)
)");
}

TEST(Build, Softmax) {
  const auto program = tile_text(
      "def softmax(float(N,D) I) -> (O) { m(n) max=! I(n,d)\n s(n) +=! exp(I(n,d) - m(n))\n"
      "O(n,d) = exp(I(n,d) - m(n)) / s(n) }",
      {{64, 33}}, tiles({8}));
  EXPECT_EQ(print(program), R"(tile softmax
scratch 0
argument input I 0
argument output O 0
kernel softmax_0 {
  buffer I float32[64, 33] align 64
  buffer O float32[64, 33] align 64 writable
  grid n_tile in 0:64 step 8
  alloc m float32[8] align 64 writable
  reduce S0 {
    # m(n) max=! I(n,d)
    n in n_tile:n_tile + 8 extent 8
    d in 0:33 extent 33 reduction
    m[n - n_tile] max=! I[n, d]
  }
  alloc s float32[8] align 64 writable
  reduce S1 {
    # s(n) +=! exp(I(n,d) - m(n))
    n in n_tile:n_tile + 8 extent 8
    d in 0:33 extent 33 reduction
    s[n - n_tile] +=! exp(I[n, d] - m[n - n_tile])
  }
  map S2 {
    # O(n,d) = exp(I(n,d) - m(n)) / s(n)
    n in n_tile:n_tile + 8 extent 8
    d in 0:33 extent 33
    O[n, d] = exp(I[n, d] - m[n - n_tile]) / s[n - n_tile]
  }
}
launch 0(0, 1)
)");
}

TEST(Build, TemporariesBeyondTheLimitAreScratch) {
  MappingOptions options = tiles({8});
  options.local_bytes = 32;
  const auto program = tile_text(
      "def softmax(float(N,D) I) -> (O) { m(n) max=! I(n,d)\n s(n) +=! exp(I(n,d) - m(n))\n"
      "O(n,d) = exp(I(n,d) - m(n)) / s(n) }",
      {{64, 33}}, options);
  const std::string text = print(program);
  EXPECT_NE(text.find("alloc m float32[8]"), std::string::npos) << text;
  EXPECT_NE(text.find("argument scratch s offset 0 size 256"), std::string::npos) << text;
  EXPECT_NE(text.find("buffer s float32[64] align 64 scratch writable"), std::string::npos) << text;
}

TEST(Build, PaddedConvolutionMasksOnlyWhatMayBeOutside) {
  const auto program =
      tile_text("def conv(float(N,C,H,W) x, float(M,C,3,3) K) -> (y) { y(n,m,h,w) +=! "
                "pad(x(n,c,h+p-1,w+q-1), 0) * K(m,c,p,q) where h in 0:H, w in 0:W }",
                {{2, 8, 16, 16}, {4, 8, 3, 3}}, tiles({1}));
  const auto& op = operation(program, "S0");
  EXPECT_EQ(op.kind, OpKind::Contract);
  EXPECT_TRUE(op.from_identity);
  EXPECT_NE(
      print(program).find("x[n, c, h + p - 1, w + q - 1]?(h + p - 1 >= 0 && h + p - 1 < 16 && "
                          "(w + q - 1 >= 0 && w + q - 1 < 16), 0.0f) * K[m, c, p, q]"),
      std::string::npos)
      << print(program);
}

TEST(Build, GatherIsCheckedOrTrusted) {
  const std::string text = "def lut(float(E,D) L, int32(B,S) I) -> (O) { O(b,d) +=! L(I(b,s), d) }";
  const auto checked = tile_text(text, {{5, 4}, {6, 3}});
  EXPECT_NE(
      print(checked).find("L[int64(I[b, s]), d]?(int64(I[b, s]) >= 0 && int64(I[b, s]) < 5, nanf)"),
      std::string::npos)
      << print(checked);
  MappingOptions options;
  options.bounds = Bounds::Trust;
  const auto trusted = tile_text(text, {{5, 4}, {6, 3}}, options);
  EXPECT_NE(print(trusted).find("O[b, d] +=! L[int64(I[b, s]), d]\n"), std::string::npos)
      << print(trusted);
}

TEST(Build, IndicesOfSmallTypesNeedNoCheckThatTheTypeGives) {
  const auto program =
      tile_text("def f(float(256) L, uint8(B) I) -> (O) { O(b) = L(I(b)) }", {{256}, {8}});
  EXPECT_NE(print(program).find("O[b] = L[int64(I[b])]\n"), std::string::npos) << print(program);
  EXPECT_EQ(operation(program, "S0").kind, OpKind::Gather);
}

TEST(Build, ScatterIsConditional) {
  const auto program =
      tile_text("def hist(int32(H) h, int32(N) im) -> (h) { h(im(i)) += 1 }", {{6}, {20}});
  const auto& op = operation(program, "S0");
  EXPECT_EQ(op.kind, OpKind::Scatter);
  EXPECT_TRUE(op.dims[0].reduction);
  EXPECT_EQ(op.conditions.size(), 1U);
}

TEST(Build, Triangle) {
  const auto program = tile_text("def f(float(N,N) x) -> (y) { y(i) +=! x(i,j) where j in 0:i+1 }",
                                 {{32, 32}}, tiles({8}));
  const auto& op = operation(program, "S0");
  ASSERT_EQ(op.dims.size(), 2U);
  EXPECT_EQ(op.dims[1].max_extent, 32);
  EXPECT_TRUE(op.dims[1].reduction);
  EXPECT_NE(print(program).find("j in 0:i + 1 extent 32 reduction"), std::string::npos)
      << print(program);
}

TEST(Build, DimsFollowTheirBounds) {
  // j is named first on the left, but its range depends on i.
  const auto program = tile_text("def f(float(N,N) x) -> (y) { y(j,i) = 0 where i in 0:N, j in "
                                 "0:N\n y(j,i) = x(j,i) where i in 0:N, j in 0:i+1 }",
                                 {{6, 6}});
  const auto& op = operation(program, "S1");
  EXPECT_EQ(op.dims[0].var.name, "i");
  EXPECT_EQ(op.dims[1].var.name, "j");
}

TEST(Build, ArgmaxIsOneTupleReduction) {
  const auto program =
      tile_text("def f(float(N,D) x) -> (k) { k(i) argmax=! x(i,j) }", {{16, 7}}, tiles({4}));
  const auto& op = operation(program, "S0");
  ASSERT_EQ(op.targets.size(), 2U);
  EXPECT_EQ(op.combine, Combine::ArgMax);
  EXPECT_TRUE(op.from_identity);
  EXPECT_EQ(op.targets[0].buffer->space, kernel::Space::Local);
  EXPECT_EQ(program.kernels[0].body.size(), 2U) << print(program);
}

TEST(Build, RecurrentNetworkInOneKernel) {
  MappingOptions options = tiles({2});
  const auto program =
      tile_text("def rnn(float(T,B,K) a, float(K,K) U, float(B,K) h0) -> (h) { h(0,b,k) = "
                "h0(b,k)\n for t in 1:T {\n"
                " g(b,k) +=! h(t-1,b,j) * U(k,j)\n h(t,b,k) = tanh(a(t,b,k) + g(b,k)) } }",
                {{4, 6, 5}, {5, 5}, {6, 5}}, options);
  ASSERT_EQ(program.kernels.size(), 1U) << print(program);
  const auto& kernel = program.kernels[0];
  ASSERT_EQ(kernel.body.size(), 3U) << print(program);
  EXPECT_TRUE(std::holds_alternative<Local>(kernel.body[1]));
  const auto& loop = std::get<std::shared_ptr<const Loop>>(kernel.body[2]);
  EXPECT_EQ(loop->body.size(), 2U);
  EXPECT_TRUE(std::get<Op>(loop->body[0]).from_identity);
}

TEST(Build, RecurrentNetworkWithALoopAroundLaunches) {
  MappingOptions options;
  options.fusion = Fusion::Min;
  const auto built =
      build_text("def rnn(float(T,B,K) a, float(K,K) U, float(B,K) h0) -> (h) { h(0,b,k) = "
                 "h0(b,k)\n for t in 1:T {\n"
                 " g(b,k) +=! h(t-1,b,j) * U(k,j)\n h(t,b,k) = tanh(a(t,b,k) + g(b,k)) } }",
                 {{4, 6, 5}, {5, 5}, {6, 5}}, options);
  const auto& program = built.program;
  const std::string text = print(program);
  EXPECT_EQ(verify(program), std::vector<std::string>{}) << text;
  ASSERT_EQ(program.steps.size(), 2U) << text;
  const auto& loop = std::get<kernel::Loop>(program.steps[1].node);
  EXPECT_EQ(loop.body.size(), 2U) << text;
  EXPECT_NE(text.find("loop t in 1:4 {"), std::string::npos) << text;
  EXPECT_NE(text.find("argument scratch g"), std::string::npos) << text;
}

TEST(Build, LocalsOfALaunchLoopOnlyIfNothingIsCarried) {
  MappingOptions options;
  const std::string carried = "def f(float(T,B) x) -> (y) { c(b) = x(0,b)\n for t in 1:T { c(b) = "
                              "c(b) * 2 + x(t,b)\n y(t,b) = c(b) } }";
  options.fusion = Fusion::Min;
  EXPECT_NE(print(tile_text(carried, {{5, 4}}, options)).find("argument scratch c"),
            std::string::npos);
}

TEST(Build, KroneckerChainKeepsItsTemporariesInTheTile) {
  const auto program = tile_text(
      "def kron(float(D0,N0) A, float(D1,N1) B, float(D2,N2) C, float(M,N0,N1,N2) X) -> (Y) {\n"
      "  U(m,n0,n1,d2) +=! X(m,n0,n1,n2) * C(d2,n2)\n  V(m,n0,d1,d2) +=! U(m,n0,n1,d2) * B(d1,n1)\n"
      "  Y(m,d0,d1,d2) +=! V(m,n0,d1,d2) * A(d0,n0)\n}",
      {{16, 32}, {16, 32}, {16, 32}, {256, 32, 32, 32}});
  EXPECT_EQ(program.scratch_bytes, 0) << print(program);
  ASSERT_EQ(program.kernels.size(), 1U);
  EXPECT_EQ(program.kernels[0].grid.size(), 1U);
  EXPECT_EQ(program.kernels[0].body.size(), 5U) << print(program);
}

TEST(Build, TransposedAccessesGetSquareTiles) {
  const auto program =
      tile_text("def tr(float(A,B,C) X) -> (Y) { Y(a,c,b) = X(a,b,c) }", {{4, 500, 512}});
  const auto& grid = program.kernels[0].grid;
  ASSERT_GE(grid.size(), 2U);
  EXPECT_LE(grid[grid.size() - 1].step, 64);
  EXPECT_LE(grid[grid.size() - 2].step, 64);
}

TEST(Build, RowsOfFourBitOutputsAreNotSplit) {
  const auto program = tile_text("def f(int32(N,M) x) -> (int4(N,M) y) { y(i,j) = x(i,j) }",
                                 {{64, 4000}}, tiles({16, 16}));
  ASSERT_EQ(program.kernels[0].grid.size(), 1U);
  EXPECT_EQ(program.kernels[0].grid[0].var.name, "i_tile");
}

TEST(Build, SmallWorkIsOneTask) {
  const auto program = tile_text("def f(float(N) x) -> (y) { y(i) = x(i) }", {{5000}});
  EXPECT_TRUE(program.kernels[0].grid.empty());
}

TEST(Build, LargeWorkIsShared) {
  const auto program = tile_text("def f(float(N) x) -> (y) { y(i) = x(i) }", {{1 << 22}});
  ASSERT_EQ(program.kernels[0].grid.size(), 1U);
  EXPECT_EQ((1 << 22) / program.kernels[0].grid[0].step, 8);
  MappingOptions options;
  options.tasks = 32;
  const auto many = tile_text("def f(float(N) x) -> (y) { y(i) = x(i) }", {{1 << 22}}, options);
  EXPECT_EQ((1 << 22) / many.kernels[0].grid[0].step, 32);
}

TEST(Build, StridesAndAlignmentComeFromThePlacement) {
  auto built = build_text("def f(float(N,M) x) -> (y) { y(i,j) = x(i,j) }", {{6, 8}});
  built.placement.inputs[0].strides = {1, -6};
  built.placement.inputs[0].alignment = 4;
  const auto program = build(built.scop, built.schedule, built.placement, {}, machine());
  ASSERT_TRUE(program);
  EXPECT_NE(print(*program).find("buffer x float32[6, 8] strides [1, -6] align 4\n"),
            std::string::npos)
      << print(*program);
}

TEST(Build, InPlaceTensorsAreOneWritableArgument) {
  const auto program =
      tile_text("def f(float(N) x, float(N) y) -> (y) { y(i) += x(i) }", {{6}, {6}});
  ASSERT_EQ(program.arguments.size(), 2U);
  EXPECT_EQ(program.arguments[1].kind, kernel::Argument::Kind::Output);
  EXPECT_TRUE(program.kernels[0].buffers[1]->writable);
}

TEST(Build, NothingToDoIsNoKernel) {
  const auto program = tile_text("def f(float(N,M) x) -> (y) { y(i,j) = x(i,j) }", {{0, 8}});
  EXPECT_TRUE(program.kernels.empty());
  EXPECT_TRUE(program.steps.empty());
}

TEST(Build, EmptyReductionsLeaveTheirInit) {
  const auto program = tile_text("def f(float(M,K) A) -> (y) { y(m) +=! A(m,k) }", {{3, 0}});
  ASSERT_EQ(program.kernels.size(), 1U);
  ASSERT_EQ(program.kernels[0].body.size(), 1U) << print(program);
  EXPECT_EQ(std::get<Op>(program.kernels[0].body[0]).kind, OpKind::Map);
}

TEST(Build, SharedLeftSideIsAReductionOfOneOfThem) {
  const auto program =
      tile_text("def f(float(N) a, float(M) b) -> (y) { y(i+j) +=! a(i) * b(j) }", {{5}, {4}});
  const auto& op = operation(program, "S0");
  EXPECT_FALSE(op.from_identity);
  EXPECT_EQ(op.kind, OpKind::Contract);
  EXPECT_EQ(
      std::count_if(op.dims.begin(), op.dims.end(), [](const Dim& dim) { return dim.reduction; }),
      1);
}

TEST(Build, ScratchIsSharedByLifetimes) {
  MappingOptions options;
  options.fusion = Fusion::Min;
  const auto program = tile_text("def f(float(N) x) -> (y) { a(i) = x(i) + 1\n b(i) = a(i) * 2\n "
                                 "c(i) = b(i) + 3\n y(i) = c(i) }",
                                 {{1000}}, options);
  const std::string text = print(program);
  EXPECT_EQ(program.kernels.size(), 4U) << text;
  EXPECT_NE(text.find("argument scratch a offset 0 size 4000"), std::string::npos) << text;
  EXPECT_NE(text.find("argument scratch b offset 4032 size 4000"), std::string::npos) << text;
  EXPECT_NE(text.find("argument scratch c offset 0 size 4000"), std::string::npos) << text;
  EXPECT_EQ(program.scratch_bytes, 8064) << text;
}

TEST(Build, NoTemporaryIsCalledStatus) {
  MappingOptions options;
  options.fusion = Fusion::Min;
  const auto program = tile_text(
      "def f(float(N) x) -> (y) { status(i) = x(i) + 1\n y(i) = status(i) * 2 }", {{100}}, options);
  EXPECT_EQ(program.arguments.back().kind, kernel::Argument::Kind::Scratch);
  EXPECT_EQ(program.arguments.back().name, "status_");
}

TEST(Build, HugeScratchIsRejected) {
  MappingOptions options;
  options.fusion = Fusion::Min;
  auto built =
      build_text("def f(float(N) x, float(M) z) -> (y) { a(i,j) = x(i) + z(j)\n y(j,i) = a(i,j) }",
                 {{100}, {100}}, options);
  for (auto& tensor : built.scop.tensors)
    if (!tensor.is_param && !tensor.is_output)
      tensor.extent = {std::int64_t{1} << 22, std::int64_t{1} << 22};
  const auto program = build(built.scop, built.schedule, built.placement, options, machine());
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, RejectionKind::ScratchOverflow);
}

TEST(Build, IsDeterministic) {
  const std::string text = "def f(float(B,N) I, float(O,N) W, float(P,O) V) -> (Q) { R(i,o) +=! "
                           "I(i,n) * W(o,n)\n Q(i,p) +=! R(i,o) * V(p,o) }";
  const Shapes shapes = {{600, 50}, {40, 50}, {30, 40}};
  EXPECT_EQ(print(tile_text(text, shapes)), print(tile_text(text, shapes)));
}

}  // namespace
}  // namespace tc::tile::testing
