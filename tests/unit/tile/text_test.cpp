// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tc/tile/ir.h"

namespace tc::tile {
namespace {

void expect_fixed_point(const std::string& text) {
  const auto program = parse(text);
  ASSERT_TRUE(program) << program.error().line << ":" << program.error().column << ": "
                       << program.error().message;
  EXPECT_EQ(print(*program), text);
  EXPECT_EQ(verify(*program), std::vector<std::string>{});
  const auto again = parse(print(*program));
  ASSERT_TRUE(again);
  EXPECT_EQ(print(*again), text);
}

TEST(TileText, MatrixProduct) {
  expect_fixed_point(R"(tile matmul
scratch 0
argument input A 0
argument input B 1
argument output C 0
kernel matmul_0 {
  buffer A float32[100, 40] strides [1, 100] align 4
  buffer B float32[40, 32] align 64
  buffer C float32[100, 32] align 64 writable
  grid m_tile in 0:100 step 64
  contract S0 {
    # C(m,n) +=! A(m,r_k) * B(r_k,n)
    m in m_tile:min(m_tile + 64, 100) extent 64
    n in 0:32 extent 32
    k in 0:40 extent 40 reduction
    C[m, n] +=! A[m, k] * B[k, n]
    layout order [0, 1, 2] vector 1 lanes 8 unroll [6, 2, 1]
  }
}
launch 0(0, 1, 2)
)");
}

TEST(TileText, LocalsLoopsParametersAndTuples) {
  expect_fixed_point(R"(tile all
scratch 128
argument input x 0
argument output k 0
argument scratch t offset 64 size 40
kernel all_0 {
  buffer x float16[10, 7] align 2
  buffer k int32[10] align 4 writable
  buffer t float32[10] align 64 scratch writable
  int step
  alloc best float32[10] align 64 writable
  reduce S0 {
    i in 0:10 extent 10
    j in 0:7 extent 7 reduction
    (best[i], k[i]) argmax=! (x[i, j], int32(j))
  }
  loop s in 0:4 step 2 {
    map S1 {
      i in 0:10 extent 10
      where (i + s) % 3 == step || i > 4
      t[i] = best[i] + x[i, s]?(i < 9, 0.0f)
    }
    barrier block
  }
  alloc spare float32[10] align 64 writable
  load S2 {
    i in 0:10 extent 10
    spare[i] = t[i]
  }
  reduce S3 {
    i in 0:10 extent 10
    t[i] max= spare[i]
  }
}
loop step in 0:5 {
  launch 0(0, 1, 2; step)
}
)");
}

TEST(TileText, NamesThatAreWordsOfTheText) {
  expect_fixed_point(R"(tile words
scratch 0
argument output where 0
kernel words_0 {
  buffer where float32[4, 4] align 4 writable
  map map {
    where in 0:4 extent 4
    reduction in 0:4 extent 4
    where[where, reduction] = 0.0f
  }
}
launch 0(0)
)");
}

TEST(TileText, AtomicUpdates) {
  expect_fixed_point(R"(tile counts
scratch 0
argument input at 0
argument output h 0
kernel counts_0 {
  buffer at int32[9] align 4
  buffer h int32[4] align 4 writable
  grid b in 0:9 step 4
  scatter S0 {
    i in b:min(b + 4, 9) extent 4 reduction
    atomic h[int64(at[i])] += 1i32
  }
}
launch 0(0, 1)
)");
}

TEST(TileText, ABufferNamedAtomicIsNoAtomicUpdate) {
  const auto program = parse(R"(tile fill
scratch 0
argument output h 0
kernel fill_0 {
  buffer atomic int32[4] align 4 writable
  map S0 {
    i in 0:4 extent 4
    atomic[i] = 0i32
  }
}
launch 0(0)
)");
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(verify(*program), std::vector<std::string>{});
  const auto& op = std::get<Op>(program->kernels[0].body[0]);
  EXPECT_FALSE(op.atomic);
  EXPECT_EQ(op.targets[0].buffer->name, "atomic");
}

TEST(TileText, ScalarsAndRankZero) {
  expect_fixed_point(R"(tile sum
scratch 0
argument input x 0
argument output s 0
kernel sum_0 {
  buffer x int8[9] align 1
  buffer s int32[] align 4 writable
  reduce S0 {
    i in 0:9 extent 9 reduction
    s[] +=! x[i]
  }
}
launch 0(0, 1)
)");
}

TEST(TileText, ConditionsBeforeTuplesAndNegatedValues) {
  expect_fixed_point(R"(tile hits
scratch 0
argument input x 0
argument output any 0
argument output best 1
argument output at 2
kernel hits_0 {
  buffer x bool[9] align 1
  buffer any bool[] align 1 writable
  buffer best int32[] align 4 writable
  buffer at int64[] align 8 writable
  reduce S0 {
    i in 0:9 extent 9 reduction
    where 1 <= i
    any[] max= (!x[i])
  }
  reduce S1 {
    i in 0:9 extent 9 reduction
    where (1 <= i)
    (best[], at[]) argmax=! (int32(i), i)
  }
}
launch 0(0, 1, 2, 3)
)");
}

void expect_error(const std::string& text, int line, const std::string& message) {
  const auto program = parse(text);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().line, line) << program.error().message;
  EXPECT_NE(program.error().message.find(message), std::string::npos) << program.error().message;
}

TEST(TileText, Errors) {
  expect_error("kernel x {", 1, "expected 'tile'");
  expect_error("tile x\nscratch 0\nargument bits a 0\n", 3, "no kind of argument");
  expect_error("tile x\nscratch 0\nkernel k {\n  dance S0 {\n", 4, "'dance' is no operation");
  expect_error("tile x\nscratch 0\nkernel k {\n", 4, "expected '}'");
  const std::string head =
      "tile x\nscratch 0\nkernel k {\n  buffer a float32[4] align 4 writable\n  map S {\n    i in "
      "0:4 extent 4\n";
  expect_error(head + "    a[i, i] = 0f\n", 7, "has 1 dimensions, not 2");
  expect_error(head + "    b[i] = 0f\n", 7, "unknown buffer 'b'");
  expect_error(head + "    a[j] = 0f\n", 7, "unknown variable 'j'");
  expect_error(head + "    a[i] = 0f + 1\n  }\n}\n", 8, "one element type");
}

}  // namespace
}  // namespace tc::tile
