// SPDX-License-Identifier: Apache-2.0
//
// The text itself: what people read, names, index arithmetic, aliasing, the shape of launches.
#include <gtest/gtest.h>

#include "batch.h"
#include "tc/codegen/cuda/names.h"

namespace tc::test {
namespace {

TEST(Text, NamesAreNoKeywordsAndDiffer) {
  using codegen::cuda::identifier;
  EXPECT_EQ(identifier("A"), "A");
  EXPECT_EQ(identifier("for"), "for_");
  EXPECT_EQ(identifier("threadIdx"), "threadIdx_");
  EXPECT_EQ(identifier("thread_local"), "thread_local_");
  EXPECT_EQ(identifier("tc"), "tc_");
  EXPECT_EQ(identifier("NAN"), "NAN_");
  EXPECT_EQ(identifier("__shared__"), "shared_");
  EXPECT_EQ(identifier("x.1"), "x_1");
  EXPECT_EQ(identifier("1"), "v1");
  EXPECT_EQ(identifier("é"), "v");
  codegen::cuda::Identifiers names;
  EXPECT_EQ(names.unique("x_2"), "x_2");
  EXPECT_EQ(names.unique("x"), "x");
  EXPECT_EQ(names.unique("x"), "x_3");
  EXPECT_EQ(names.unique("for"), "for_");
  EXPECT_EQ(names.unique("for"), "for_2");
}

TEST(Text, Product) {
  EXPECT_EQ(emitted(R"(kernel matmul_0 {
  buffer A float32[64, 100] align 16
  buffer B float32[100, 64] align 16
  buffer C float32[64, 64] align 16 writable
  grid bm 2
  thread t 32
  # C(m,n) +=! A(m,r_k) * B(r_k,n)
  alloc tile float32[4, 64] strides [68, 1] shared writable
  register sum float32x4[2] = broadcast(0.0f, 4)
  for k in 0:100 step 4 {
    barrier block
    tile[t / 8, ramp(t % 8 * 8, 1, 4)] = B[k + t / 8, ramp(t % 8 * 8, 1, 4)]
    tile[t / 8, ramp(t % 8 * 8 + 4, 1, 4)] = B[k + t / 8, ramp(t % 8 * 8 + 4, 1, 4)]
    barrier block
    for kk in 0:4 {
      unrolled for j in 0:2 {
        $sum[j] = $sum[j] + broadcast(A[bm * 32 + t, k + kk], 4) * tile[kk, ramp(j * 4, 1, 4)]
      }
    }
  }
  C[bm * 32 + t, ramp(0, 1, 4)] = $sum[0]
  C[bm * 32 + t, ramp(4, 1, 4)]?(ramp(t, 1, 4) < broadcast(20, 4)) = $sum[1]
}
)")
                .text,
            R"(// matmul_0
#include "tc/codegen/cuda/device/arithmetic.cuh"
#include "tc/codegen/cuda/device/cast.cuh"
#include "tc/codegen/cuda/device/memory.cuh"

// 2 x 1 x 1 blocks of 32 threads, 1072 bytes of shared memory
TC_KERNEL(32) tc_matmul_0(
    const float* __restrict__ A,  // float32[64, 100]
    const float* __restrict__ B,  // float32[100, 64]
    float* __restrict__ C  // float32[64, 64]
) {
  const int bm = tc::block_index<0>();
  const int t = tc::thread_index();
  TC_SHARED(float, tile, 268, 16, 0);  // float32[4, 64] strides [68, 1]
  // C(m,n) +=! A(m,r_k) * B(r_k,n)
  tc::vec<float, 4> sum[2] = {};
  for (int k = 0; k < 100; k += 4) {
    tc::barrier_block();
    tc::store<4, 16>(tile, t / 8 * 68 + t % 8 * 8, tc::load<4, 16>(B, k * 64 + t / 8 * 64 + t % 8 * 8));
    tc::store<4, 16>(tile, t / 8 * 68 + t % 8 * 8 + 4, tc::load<4, 16>(B, k * 64 + t / 8 * 64 + t % 8 * 8 + 4));
    tc::barrier_block();
    for (int kk = 0; kk < 4; ++kk) {
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        sum[j] = sum[j] + tc::load(A, bm * 3200 + t * 100 + k + kk) * tc::load<4, 16>(tile, kk * 68 + j * 4);
      }
    }
  }
  tc::store<4, 16>(C, bm * 2048 + t * 64, sum[0]);
  tc::store<4, 16>(C, bm * 2048 + t * 64 + 4, sum[1], tc::ramp<4>(t, 1) < 20);
}
TC_KERNEL_END(tc_matmul_0)
)");
}

TEST(Text, IndexArithmeticIsIntWhereItFits) {
  // The last element of the first view lies at 2^31 and more, that of the second below.
  EXPECT_EQ(function_text(R"(kernel far {
  buffer X float32[4, 1024] strides [1000000000, 1]
  buffer Y float32[2, 1024] strides [1000000000, 1]
  buffer Z float32[4, 1024] writable
  grid i 4
  thread j 1024
  Z[i, j] = X[i, j] + Y[i % 2, j]
}
)"),
            R"(TC_KERNEL(1024) tc_far(
    const float* __restrict__ X,  // float32[4, 1024] strides [1000000000, 1]
    const float* __restrict__ Y,  // float32[2, 1024] strides [1000000000, 1]
    float* __restrict__ Z  // float32[4, 1024]
) {
  const int i = tc::block_index<0>();
  const int j = tc::thread_index();
  tc::store(Z, i * 1024 + j, tc::load(X, tc::int64(i) * 1000000000 + j) + tc::load(Y, i % 2 * 1000000000 + j));
}
TC_KERNEL_END(tc_far)
)");
}

TEST(Text, DivisionByConstants) {
  // Of what is known not to be negative; of what may be.
  EXPECT_EQ(function_text(R"(kernel div {
  buffer Z int64[64] writable
  grid i 64
  let a = i / 6
  let b = (i - 9) / 8
  let c = (i - 9) / 6
  let d = (i - 9) % 16
  Z[i] = a * 1000000000000 + b + c + d
}
)"),
            R"(TC_KERNEL(1) tc_div(
    tc::int64* __restrict__ Z  // int64[64]
) {
  const int i = tc::block_index<0>();
  const int a = i / 6;
  const int b = (i + 7) / 8 - 2;
  const int c = (i + 3) / 6 - 2;
  const int d = (i + 7) % 16;
  tc::store(Z, i, a * 1000000000000ll + b + c + d);
}
TC_KERNEL_END(tc_div)
)");
}

TEST(Text, NamesOfUsersAndComments) {
  EXPECT_EQ(function_text(R"(kernel for {
  buffer float float32[8]
  buffer EOF float32[8] writable
  grid int 8
  # ends in a backslash \
  let while = float[int]
  EOF[int] = while
}
)"),
            R"(TC_KERNEL(1) tc_for(
    const float* __restrict__ float_,  // float32[8]
    float* __restrict__ EOF_  // float32[8]
) {
  const int int_ = tc::block_index<0>();
  // ends in a backslash /
  const float while_ = tc::load(float_, int_);
  tc::store(EOF_, int_, while_);
}
TC_KERNEL_END(tc_for)
)");
}

TEST(Text, BuffersThatMayBeTheSameAreNotRestricted) {
  kernel::Plan plan =
      single_launch("kernel k {\n buffer A float32[8]\n buffer B float32[8]\n buffer C "
                    "float32[8] writable\n grid i 8\n C[i] = A[i] + B[i]\n}\n");
  // An update in place: the output is the parameter.
  plan.arguments[2].name = plan.arguments[0].name;
  const auto source = codegen::cuda::emit(plan, cuda_target(), {});
  ASSERT_TRUE(source);
  EXPECT_NE(source->text.find("const float* A,"), std::string::npos) << source->text;
  EXPECT_NE(source->text.find("const float* __restrict__ B,"), std::string::npos);
  EXPECT_NE(source->text.find("float* C "), std::string::npos);
}

TEST(Text, WhatThreadsExchangeIsNotRestricted) {
  const std::string text =
      function_text("kernel k {\n buffer A float32[64] writable\n thread i 64\n A[i] = "
                    "1.0f\n barrier block\n A[i] = A[63 - i]\n}\n");
  EXPECT_NE(text.find("float* A "), std::string::npos) << text;
}

TEST(Text, ParametersThatFitAreInts) {
  const char* text =
      "kernel k {\n buffer A float32[8, 64] writable\n int t\n grid i 64\n A[t, i] = 1.0f\n}\n";
  const auto parameter = [&](std::int64_t value) {
    const auto source = codegen::cuda::emit(single_launch(text, {value}), cuda_target(), {});
    return source->text.substr(source->text.find("tc_k("));
  };
  EXPECT_EQ(parameter(5), R"(tc_k(
    float* __restrict__ A,  // float32[8, 64]
    tc::int64 t_given  // 5..5
) {
  const int t = static_cast<int>(t_given);
  const int i = tc::block_index<0>();
  tc::store(A, t * 64 + i, 1.0f);
}
TC_KERNEL_END(tc_k)
)");
  EXPECT_NE(parameter(std::int64_t{1} << 40).find("    tc::int64 t\n"), std::string::npos);
}

TEST(Text, EmptyGridsAreSeen) {
  const auto source =
      emitted("kernel k {\n buffer A float32[1] writable\n grid i 4\n grid j 0\n A[i] = 1.0f\n}\n");
  EXPECT_TRUE(source.kernels[0].is_empty());
  EXPECT_FALSE(emitted("kernel k {\n buffer A float32[1] writable\n A[0] = 1.0f\n}\n")
                   .kernels[0]
                   .is_empty());
}

TEST(Text, GridsBeyondOneAxis) {
  const auto source =
      emitted("kernel k {\n buffer A float32[8] strides [0] writable\n grid i 3000000000\n grid j "
              "2\n A[0]?(i == 7 && j == 1) = 1.0f\n}\n");
  EXPECT_EQ(source.kernels[0].grid, (std::array<std::int64_t, 3>{2147483647, 3, 1}));
  EXPECT_NE(source.text.find("if (task >= 6000000000ll) return;"), std::string::npos)
      << source.text;
  kernel::Plan plan =
      single_launch("kernel k {\n buffer A float32[8] writable\n grid i 3000000000000000\n A[0] "
                    "= 1.0f\n}\n");
  const auto refused = codegen::cuda::emit(plan, cuda_target(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RejectionKind::TooManyThreads);
  EXPECT_EQ(refused.error().used, 3000000000000000);
}

/// A sum of `count` - 1 buffers in one more.
std::string with_buffers(int count, int ints) {
  std::string text = "kernel many {\n";
  std::string sum = "0.0f";
  for (int b = 0; b + 1 < count; ++b) {
    text += " buffer x" + std::to_string(b) + " float32[8]\n";
    sum += " + x" + std::to_string(b) + "[i]";
  }
  text += " buffer z float32[8] writable\n";
  for (int p = 0; p < ints; ++p)
    text += " int t" + std::to_string(p) + "\n";
  return text + " thread i 8\n z[i] = " + sum + "\n}\n";
}

TEST(Text, ParametersUpToWhatALaunchTakes) {
  constexpr int kMost = 4096 / 8;  // bytes of a launch, and of a pointer or an integer
  for (const int ints : {0, 3}) {
    const std::vector<std::int64_t> values(static_cast<std::size_t>(ints), 1);
    const auto made = [&](int count) {
      return codegen::cuda::emit(single_launch(with_buffers(count - ints, ints), values),
                                 cuda_target(), {});
    };
    ASSERT_TRUE(made(kMost));
    const auto refused = made(kMost + 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, RejectionKind::Unsupported);
    EXPECT_EQ(refused.error().used, kMost + 1);
    EXPECT_EQ(refused.error().limit, kMost);
    EXPECT_EQ(refused.error().message,
              "kernel 'many' has 513 parameters, at most 512 can be passed");
  }
}

TEST(Text, IsTheSameEveryTime) {
  const char* text =
      "kernel k {\n buffer A float32[8]\n buffer B float32[8] writable\n grid i 8\n B[i] = "
      "exp(A[i])\n}\n";
  EXPECT_EQ(emitted(text).text, emitted(text).text);
  EXPECT_NE(emitted(text).text.find("device/math.cuh"), std::string::npos);
}

TEST(Text, EveryIncludedHeaderIsKnown) {
  const auto& headers = codegen::cuda::device_headers();
  const auto known = [&](const std::string& name) {
    for (const auto& header : headers)
      if (header.name == name) return true;
    return name == "tc/emulation/device_hooks.h";  // on the host only
  };
  for (const auto& header : headers) {
    const std::string text(header.text);
    const std::string mark = "#include \"";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t begin = at + mark.size();
      const std::string name = text.substr(begin, text.find('"', begin) - begin);
      EXPECT_TRUE(known(name)) << header.name << " includes " << name;
    }
  }
}

}  // namespace
}  // namespace tc::test
