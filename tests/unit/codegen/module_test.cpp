// SPDX-License-Identifier: Apache-2.0
//
// Objects: determinism, damage, freestanding code, launch tables, threads, compile time.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <omp.h>

#include "jit.h"
#include "tc/kernel/seal.h"

namespace tc::test {
namespace {

using codegen::native::Output;
using codegen::native::Request;

const char* const kSoftmax = R"(kernel softmax {
  buffer X float32[64, 100] align 64
  buffer Y float32[64, 100] align 64 writable
  grid i 64
  register m float32x16[1] = broadcast(-inff, 16)
  for j in 0:100 step 16 {
    $m[0] = max($m[0], X[i, ramp(j, 1, 16)]?(ramp(j, 1, 16) < broadcast(100, 16), broadcast(-inff, 16)))
  }
  let top = reduce_max($m[0])
  register s float32x16[1] = broadcast(0.0f, 16)
  for j in 0:100 step 16 {
    let mask = ramp(j, 1, 16) < broadcast(100, 16)
    let e = exp(X[i, ramp(j, 1, 16)]?(mask, broadcast(-inff, 16)) - broadcast(top, 16))
    $s[0] = $s[0] + e
    Y[i, ramp(j, 1, 16)]?(mask) = e
  }
  let total = 1.0f / reduce_add($s[0])
  for j in 0:100 step 16 {
    let mask = ramp(j, 1, 16) < broadcast(100, 16)
    Y[i, ramp(j, 1, 16)]?(mask) = Y[i, ramp(j, 1, 16)]?(mask) * broadcast(total, 16)
  }
}
)";

std::string object_of(const std::string& text) {
  auto object =
      codegen::native::emit(single_launch(parse_kernel(text)), runtime::cpu::host_target(), {});
  EXPECT_TRUE(object.has_value());
  return *object;
}

TEST(Object, SameBytesEveryTime) {
  EXPECT_EQ(object_of(kSoftmax), object_of(kSoftmax));
  EXPECT_EQ(emit_text(kSoftmax, Output::LlvmText), emit_text(kSoftmax, Output::LlvmText));
  EXPECT_NE(emit_text(kSoftmax, Output::Assembly),
            emit_text(kSoftmax, Output::Assembly, *cpu_target("x86-64-v2")));
}

TEST(Object, CompilesAndLoadsQuickly) {
  using Clock = std::chrono::steady_clock;
  object_of(kSoftmax);
  double compile = 1e9, load = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    const std::string object = object_of(kSoftmax);
    const auto middle = Clock::now();
    auto module = runtime::cpu::Module::load(object, {"softmax"});
    ASSERT_TRUE(module.has_value());
    compile = std::min(compile, std::chrono::duration<double>(middle - start).count());
    load = std::min(load, std::chrono::duration<double>(Clock::now() - middle).count());
  }
  std::printf("softmax: compiled in %.1f ms, loaded in %.2f ms\n", compile * 1e3, load * 1e3);
}

TEST(Object, DamageIsRejected) {
  const std::string object = object_of(kSoftmax);
  EXPECT_FALSE(runtime::cpu::Module::load("", {"softmax"}).has_value());
  EXPECT_FALSE(runtime::cpu::Module::load("not an object at all", {"softmax"}).has_value());
  EXPECT_FALSE(runtime::cpu::Module::load(object, {"missing"}).has_value());
  for (std::size_t size = 1; size < object.size(); size += object.size() / 40 + 1)
    EXPECT_FALSE(runtime::cpu::Module::load(object.substr(0, size), {"softmax"}).has_value())
        << size;
  for (std::size_t at = 0; at < object.size(); at += 97) {
    std::string flipped = object;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(runtime::cpu::Module::load(flipped, {"softmax"}).has_value()) << at;
  }
  // Whole, but for another machine.
  std::string foreign(*kernel::unseal(object));
  foreign[18] = 40;  // e_machine
  foreign = kernel::seal(foreign);
  EXPECT_FALSE(runtime::cpu::Module::load(foreign, {"softmax"}).has_value());
}

TEST(Object, ManyThreadsRunOneModule) {
  const Jit jit(kSoftmax);
  std::vector<float> x(6400);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 37) * 0.25f;
  struct alignas(64) Rows {
    float in[6400], out[6400];
  };
  auto expected = std::make_unique<Rows>();
  std::copy(x.begin(), x.end(), expected->in);
  jit.run(expected->in, expected->out);
  float sum = 0;
  for (int j = 0; j < 100; ++j)
    sum += expected->out[j];
  EXPECT_NEAR(sum, 1.0f, 1e-5);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      auto rows = std::make_unique<Rows>();
      std::copy(x.begin(), x.end(), rows->in);
      for (int round = 0; round < 20; ++round)
        jit.run(rows->in, rows->out);
      for (int i = 0; i < 6400; ++i)
        ASSERT_EQ(rows->out[i], expected->out[i]);
    });
  for (auto& thread : threads)
    thread.join();
#pragma omp parallel num_threads(2)
  {
    auto rows = std::make_unique<Rows>();
    std::copy(x.begin(), x.end(), rows->in);
    jit.run(rows->in, rows->out);
    EXPECT_EQ(rows->out[6399], expected->out[6399]);
  }
}

TEST(Object, RunsAfterAFork) {
  const Jit jit(
      "kernel f {\n buffer Z int32[1000] align 4 writable\n grid i 1000\n Z[i] = int32(i)\n}\n");
  std::vector<std::int32_t> z(1000);
  jit.run(z.data());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::fill(z.begin(), z.end(), 0);
    jit.run(z.data());
    _exit(z[999] == 999 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

const char* const kSteps = R"(plan steps
scratch 256
argument input x 0
argument output y 0
argument scratch t offset 0 size 64
argument scratch u offset 64 size 64
kernel fill {
  buffer x float32[16] align 4
  buffer t float32[16] align 64 scratch writable
  grid i 16
  t[i] = x[i] * 2.0f
}
kernel step {
  buffer t float32[16] align 64 scratch writable
  buffer y float32[4, 16] align 4 writable
  int s
  int r
  grid i 16
  y[s, i] = exp(t[i]) + float32(r)
  t[i] = t[i] + 1.0f
}
launch 0(0, 2)
loop s in 0:2 {
  loop r in s + 1:s * 2 + 2 {
    launch 1(2, 1; s + r - (s / 1), min(r, 5))
  }
}
)";

/// What the plan above leaves in y for inputs i / 8.
std::vector<float> steps_result() {
  std::vector<float> t(16), y(64, -1.0f);
  for (int i = 0; i < 16; ++i)
    t[i] = static_cast<float>(i) / 8 * 2;
  for (int s = 0; s < 2; ++s)
    for (int r = s + 1; r < s * 2 + 2; ++r)
      for (int i = 0; i < 16; ++i) {
        y[r * 16 + i] = std::exp(t[i]) + static_cast<float>(r);
        t[i] += 1;
      }
  return y;
}

TEST(Plan, LoopsPassTheirCounters) {
  auto plan = kernel::parse_plan(kSteps);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_EQ(kernel::verify(*plan), std::vector<std::string>());
  auto object = codegen::native::emit(*plan, runtime::cpu::host_target(), {});
  ASSERT_TRUE(object.has_value());
  auto module = runtime::cpu::Module::load(*object, {"fill", "step"});
  ASSERT_TRUE(module.has_value()) << module.error().message;
  // Through the text of the cache.
  const std::string text = runtime::cpu::to_text(runtime::cpu::launch_table(*plan));
  auto table = runtime::cpu::launch_table_from_text(text);
  ASSERT_TRUE(table.has_value()) << table.error();
  EXPECT_EQ(runtime::cpu::to_text(*table), text);
  alignas(64) float scratch[64];
  std::vector<float> x(16), y(64, -1.0f);
  for (int i = 0; i < 16; ++i)
    x[i] = static_cast<float>(i) / 8;
  void* pointers[] = {x.data(), y.data(), scratch, scratch + 16};
  runtime::cpu::run(*table, **module, pointers);
  const auto expected = steps_result();
  for (int i = 0; i < 64; ++i)
    EXPECT_FLOAT_EQ(y[i], expected[i]) << i;
}

TEST(Plan, DamagedTablesAreErrors) {
  const std::string text =
      runtime::cpu::to_text(runtime::cpu::launch_table(*kernel::parse_plan(kSteps)));
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_FALSE(runtime::cpu::launch_table_from_text(text.substr(0, size)).has_value() &&
                 size < text.find("launch 0"))
        << size;
  std::string wrong = text;
  wrong.replace(wrong.find("launch 0"), 8, "launch 7");
  EXPECT_FALSE(runtime::cpu::launch_table_from_text(wrong).has_value());
}

/// Builds a C program around a freestanding object and runs it.
int run_c_program(const std::string& object, const std::string& header,
                  const std::string& main_text) {
  char folder[] = "/tmp/freestandingXXXXXX";
  if (!mkdtemp(folder)) return -1;
  const std::string base = folder;
  std::ofstream(base + "/kernel.o", std::ios::binary) << object;
  std::ofstream(base + "/kernel.h") << header;
  std::ofstream(base + "/main.c") << main_text;
  const std::string command = "cc -Wall -Werror -o " + base + "/program " + base + "/main.c " +
                              base + "/kernel.o -lm && " + base + "/program";
  const int status = std::system(command.c_str());
  const int ignored = std::system(("rm -rf " + base).c_str());
  (void)ignored;
  return status;
}

TEST(Freestanding, LinksIntoACProgram) {
  auto plan = kernel::parse_plan(kSteps);
  ASSERT_TRUE(plan.has_value());
  Request request;
  request.linkage = Request::Linkage::Freestanding;
  auto object = codegen::native::emit(*plan, runtime::cpu::host_target(), request);
  ASSERT_TRUE(object.has_value()) << object.error().message;
  const std::string header = codegen::native::c_header(*plan);
  EXPECT_NE(header.find("void steps(const float* x, float* y, void* scratch);"), std::string::npos)
      << header;
  const std::string main_text = R"(#include "kernel.h"
#include <math.h>
#include <stdio.h>
static float x[16], y[64];
static char scratch[256] __attribute__((aligned(64)));
int main(void) {
  for (int i = 0; i < 16; ++i) x[i] = i / 8.0f;
  for (int i = 0; i < 64; ++i) y[i] = -1;
  steps(x, y, scratch);
  /* step (0, 1) writes row 1, then steps (1, 2) and (1, 3) rows 2 and 3 */
  for (int i = 0; i < 16; ++i) {
    if (y[i] != -1) return 1;
    if (fabsf(y[16 + i] - (expf(x[i] * 2) + 1)) > 1e-4f * y[16 + i]) return 2;
    if (fabsf(y[48 + i] - (expf(x[i] * 2 + 2) + 3)) > 1e-4f * y[48 + i]) return 3;
  }
  return 0;
}
)";
  EXPECT_EQ(run_c_program(*object, header, main_text), 0);
}

TEST(Freestanding, LargeLocalsAndComposedBuiltins) {
  auto plan = single_launch(parse_kernel(R"(kernel big {
  buffer X float32[10000] align 4
  buffer Z float32[10000] align 4 writable
  alloc T float32[10000] align 64 writable
  for i in 0:10000 {
    T[i] = sigmoid(X[i]) + sinpi(X[i]) + normcdf(X[i]) + exp10(X[i] * 0.1f) + norm3d(X[i], 1.0f, 2.0f)
  }
  for i in 0:10000 {
    Z[i] = T[9999 - i]
  }
}
)"));
  plan.name = "main";
  Request request;
  request.linkage = Request::Linkage::Freestanding;
  auto object = codegen::native::emit(plan, runtime::cpu::host_target(), request);
  ASSERT_TRUE(object.has_value()) << object.error().message;
  const std::string main_text = R"(#include "kernel.h"
#include <math.h>
static float x[10000], z[10000];
int main(void) {
  for (int i = 0; i < 10000; ++i) x[i] = (i - 5000) / 1000.0f;
  main_(x, z);
  for (int i = 0; i < 10000; ++i) {
    double v = x[i];
    double e = 1 / (1 + exp(-v)) + sin(3.14159265358979 * v) + 0.5 * erfc(-v * sqrt(0.5)) + pow(10, v * 0.1) + sqrt(v * v + 5);
    if (fabs(z[9999 - i] - e) > 1e-5 * (1 + fabs(e))) return 1;
  }
  return 0;
}
)";
  EXPECT_EQ(run_c_program(*object, codegen::native::c_header(plan), main_text), 0);
}

TEST(Freestanding, ComposedBuiltinsAreWithinFourUlps) {
  auto plan = single_launch(parse_kernel(R"(kernel composed {
  buffer X float32[40000] align 4
  buffer S float32[40000] align 4 writable
  buffer C float32[40000] align 4 writable
  buffer N float32[40000] align 4 writable
  for i in 0:40000 step 8 {
    S[ramp(i, 1, 8)] = sinpi(X[ramp(i, 1, 8)])
    C[ramp(i, 1, 8)] = cospi(X[ramp(i, 1, 8)])
    N[ramp(i, 1, 8)] = normcdf(X[ramp(i, 1, 8)])
  }
}
)"));
  Request request;
  request.linkage = Request::Linkage::Freestanding;
  auto object = codegen::native::emit(plan, runtime::cpu::host_target(), request);
  ASSERT_TRUE(object.has_value()) << object.error().message;
  const std::string main_text = R"(#include "kernel.h"
#include <math.h>
#include <stdio.h>
static float x[40000], s[40000], c[40000], n[40000];
static double sin_pi(double v) {
  double r = remainder(v, 2);
  if (r > 0.5) r = 1 - r;
  if (r < -0.5) r = -1 - r;
  return sin(3.14159265358979323846 * r);
}
static int wrong(const char* name, float v, float got, double exact) {
  int exponent = exact == 0 ? -126 : ilogb(exact);
  double unit = ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
  if (exact == 0 ? got == 0 : fabs(got - exact) <= 4 * unit) return 0;
  printf("%s(%.9g) = %.9g, not %.9g\n", name, v, got, exact);
  return 1;
}
int main(void) {
  int bad = 0;
  /* Quarters are among them, and the left tail of the distribution as far as numbers are normal. */
  for (int i = 0; i < 40000; ++i) x[i] = (i - 26000) / 2048.0f;
  composed_plan(x, s, c, n);
  for (int i = 0; i < 40000; ++i) {
    double v = x[i];
    bad += wrong("sinpi", x[i], s[i], sin_pi(v));
    bad += wrong("cospi", x[i], c[i], sin_pi(0.5 - fabs(remainder(v, 2))));
    bad += wrong("normcdf", x[i], n[i], 0.5 * erfc(-v * 0.70710678118654752440));
  }
  for (int i = 0; i < 8; ++i) x[i] = i % 2 ? INFINITY : -INFINITY;
  x[2] = NAN, x[3] = -0.0f, x[4] = 1e30f, x[5] = -3;
  composed_plan(x, s, c, n);
  bad += !isnan(s[0]) + !isnan(c[1]) + (n[0] != 0) + (n[1] != 1) + !isnan(n[2]) + !isnan(s[2]);
  bad += s[3] != 0 || !signbit(s[3]) || c[3] != 1 || n[3] != 0.5f;
  bad += (s[4] != 0) + (c[4] != 1) + (s[5] != 0 || !signbit(s[5])) + (c[5] != -1);
  return bad != 0;
}
)";
  EXPECT_EQ(run_c_program(*object, codegen::native::c_header(plan), main_text), 0);
}

TEST(Freestanding, BuiltinsWithoutACounterpartAreRejected) {
  auto plan = single_launch(
      parse_kernel("kernel k {\n buffer Z float32[1] align 4 writable\n Z[0] = erfinv(Z[0])\n}\n"));
  Request request;
  request.linkage = Request::Linkage::Freestanding;
  auto object = codegen::native::emit(plan, runtime::cpu::host_target(), request);
  ASSERT_FALSE(object.has_value());
  EXPECT_EQ(object.error().kind, RejectionKind::Unsupported);
  EXPECT_NE(object.error().message.find("erfinv"), std::string::npos);
}

TEST(Target, HostIsDescribed) {
  const Target host = runtime::cpu::host_target();
  EXPECT_FALSE(host.arch.empty());
  EXPECT_GE(host.cores, 1);
  EXPECT_GE(host.l2_bytes, 128 << 10);
  EXPECT_EQ(host, runtime::cpu::host_target());
  Target unknown = host;
  unknown.arch = "pdp11";
  auto result = codegen::native::emit(single_launch(parse_kernel("kernel k {\n}\n")), unknown, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, RejectionKind::TargetMissing);
}

}  // namespace
}  // namespace tc::test
