// SPDX-License-Identifier: Apache-2.0
//
// What compile() makes of requests: consts, several defs, failures, determinism, dumps,
// reproducers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tc/compiler/reproducer.h"
#include "tc/tc.h"

namespace tc {
namespace {

TensorMeta floats(std::vector<std::int64_t> sizes) {
  return {DType::Float32, std::move(sizes), {}, 4};
}

TEST(Compile, NeedsEveryConst) {
  const char* text = "def f(float(N) x, const int32 stride) -> (y) { y(i) = x(stride * i) }";
  Metadata metadata{{floats({10})}, {}, {}, {}};
  auto missing = compile(text, "f", metadata);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("stride"), std::string::npos);
  metadata.consts["stride"] = {3, 3};
  auto executor = compile(text, "f", metadata);
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  EXPECT_EQ(executor->output_metadata()[0].sizes, std::vector<std::int64_t>{4});
  metadata.consts["other"] = {1, 1};
  EXPECT_FALSE(compile(text, "f", metadata).has_value());
}

TEST(Compile, ChoosesTheDef) {
  const char* text =
      "def f(float(N) x) -> (y) { y(i) = x(i) } def g(float(N) x) -> (y) { y(i) = -x(i) }";
  const Metadata metadata{{floats({4})}, {}, {}, {}};
  EXPECT_TRUE(compile(text, "g", metadata).has_value());
  for (const char* wrong : {"", "h"}) {
    auto failure = compile(text, wrong, metadata);
    ASSERT_FALSE(failure.has_value());
    EXPECT_EQ(failure.error().kind, Failure::Kind::Argument);
  }
}

TEST(Compile, NamesOfTargetLanguagesAreFine) {
  const Metadata metadata{{floats({4})}, {}, {}, {}};
  for (const char* name : {"main", "kernel", "__global__", "malloc", "restrict", "int64_t"}) {
    const std::string text = std::string("def ") + name + "(float(N) x) -> (y) { y(i) = x(i) }";
    auto executor = compile(text, name, metadata);
    EXPECT_TRUE(executor.has_value()) << name << ": " << executor.error().message;
  }
}

TEST(Compile, TellsKindsOfFailureApart) {
  const Metadata metadata{{floats({4})}, {}, {}, {}};
  EXPECT_EQ(compile("def f(", "f", metadata).error().kind, Failure::Kind::Program);
  EXPECT_EQ(compile("def f(float(N,M) x) -> (y) { y(i,j) = x(i,j) }", "f", metadata).error().kind,
            Failure::Kind::Argument);
  Target cuda;
  cuda.kind = TargetKind::Cuda;
  EXPECT_EQ(
      compile("def f(float(N) x) -> (y) { y(i) = x(i) }", "f", metadata, {}, cuda).error().kind,
      Failure::Kind::Target);
  MappingOptions bad;
  bad.register_rows = 1000;
  EXPECT_EQ(compile("def f(float(N) x) -> (y) { y(i) = x(i) }", "f", metadata, bad).error().kind,
            Failure::Kind::Argument);
}

TEST(Compile, IsDeterministic) {
  const char* text = "def f(float(N,K) a, float(K,M) b, float(M) c) -> (o, p) { o(n,m) +=! "
                     "a(n,r_k) * b(r_k,m) o(n,m) = tanh(o(n,m) + c(m)) p(n) max=! o(n,r_m) }";
  const Metadata metadata{{floats({70, 90}), floats({90, 110}), floats({110})}, {}, {}, {}};
  auto first = compile(text, "f", metadata);
  auto second = compile(text, "f", metadata);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  for (const char* stage : {"typed", "schedule", "tile", "kernel", "llvm", "asm"}) {
    auto a = first->stage_text(stage);
    auto b = second->stage_text(stage);
    ASSERT_TRUE(a.has_value()) << stage << ": " << a.error().message;
    EXPECT_FALSE(a->empty()) << stage;
    EXPECT_EQ(*a, *b) << stage;
  }
  EXPECT_FALSE(first->stage_text("cuda").has_value());
  EXPECT_FALSE(first->stage_text("nonsense").has_value());
}

TEST(Compile, DumpsEveryStage) {
  CompileContext context;
  context.dump_dir = std::filesystem::temp_directory_path() / "tc-dump-test";
  std::filesystem::remove_all(context.dump_dir);
  ASSERT_TRUE(compile("def dumped(float(N) x) -> (y) { y(i) = x(i) }", "",
                      {{floats({4})}, {}, {}, {}}, {}, std::nullopt, context)
                  .has_value());
  for (const char* stage : {"scop", "schedule", "tile", "kernel", "llvm"}) {
    EXPECT_GT(std::filesystem::file_size(context.dump_dir / (std::string("dumped.") + stage)), 0)
        << stage;
  }
  std::filesystem::remove_all(context.dump_dir);
}

TEST(Compile, ReportsOutOfRangeGathersWhenAsked) {
  const char* text =
      "def look(float(E,D) table, int32(B) which) -> (y) { y(b,d) = table(which(b), d) }";
  Metadata metadata{{floats({3, 2}), {DType::Int32, {4}, {}, 4}}, {}, {}, {}};
  MappingOptions options;
  options.bounds = Bounds::Error;
  auto executor = compile(text, "look", metadata, options);
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  float table[] = {1, 2, 3, 4, 5, 6};
  float y[8];
  alignas(64) static unsigned char scratch[1 << 16];
  ASSERT_LE(executor->scratch_bytes(), static_cast<std::int64_t>(sizeof scratch));
  std::int32_t good[] = {0, 2, 1, 0};
  void* pointers[] = {table, good, y, scratch};
  executor->run_unchecked(pointers);
  EXPECT_FALSE(executor->check(scratch).has_value());
  EXPECT_EQ(y[2], 5);
  std::int32_t bad[] = {0, 3, -1, 0};
  pointers[1] = bad;
  executor->run_unchecked(pointers);
  auto problem = executor->check(scratch);
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->find("out of range"), std::string::npos);
  EXPECT_EQ(y[0], 1);
  EXPECT_TRUE(y[2] != y[2]) << "an out-of-range gather reads NaN";
}

TEST(Reproducer, RoundTrip) {
  compiler::CompileInput input;
  input.text = "def f(float(N) x, const float s) -> (y) { y(i) = s * x(i) }";
  input.def = "f";
  input.metadata.inputs = {floats({7})};
  input.metadata.outputs = {std::nullopt};
  input.metadata.consts["s"] = {0, 0.1};
  input.metadata.sizes["N"] = 7;
  input.options.tile = {3};
  const std::string file =
      compiler::write_reproducer(std::filesystem::temp_directory_path(), input, "something broke");
  ASSERT_FALSE(file.empty());
  auto read = compiler::read_reproducer(file);
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(read->text, input.text);
  EXPECT_EQ(read->metadata.inputs, input.metadata.inputs);
  EXPECT_EQ(read->metadata.consts, input.metadata.consts);
  EXPECT_EQ(read->options, input.options);
  EXPECT_EQ(read->target, input.target);
  std::ofstream(file) << "{}";
  EXPECT_FALSE(compiler::read_reproducer(file).has_value());
  std::filesystem::remove(file);
  EXPECT_FALSE(compiler::read_reproducer(file).has_value());
}

}  // namespace
}  // namespace tc
