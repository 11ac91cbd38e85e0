// SPDX-License-Identifier: Apache-2.0
//
// What compile() makes of requests: consts, several defs, failures, determinism, dumps,
// reproducers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tc/c_api.h"
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

struct WrongMetadata {
  const char* name;
  std::function<void(Metadata&)> change;
  const char* text;  ///< part of the message
};

TEST(Compile, RefusesMetadataThatNoTensorHas) {
  const char* text = "def f(float(N,M) x, float a) -> (y) { y(i,j) = x(i,j) * a }";
  const Metadata good{{floats({4, 5}), floats({})}, {}, {}, {}};
  ASSERT_TRUE(compile(text, "f", good).has_value());
  const auto output = [](std::vector<std::int64_t> strides, std::int64_t alignment = 4) {
    return TensorMeta{DType::Float32, {4, 5}, std::move(strides), alignment};
  };
  const WrongMetadata cases[] = {
      {"alignment 0", [](Metadata& m) { m.inputs[0].alignment = 0; }, "alignment 0"},
      {"alignment 3", [](Metadata& m) { m.inputs[0].alignment = 3; }, "alignment 3"},
      {"negative alignment", [](Metadata& m) { m.inputs[1].alignment = -4; }, "alignment -4"},
      {"output alignment", [](Metadata& m) { m.output_alignment = 6; },
       "alignment of outputs is 6"},
      {"strides", [](Metadata& m) { m.inputs[0].strides = {5}; }, "1 strides for 2 dimensions"},
      {"far", [](Metadata& m) { m.inputs[0].strides = {INT64_MAX, 1}; },
       "beyond the address space"},
      {"farther", [](Metadata& m) { m.inputs[0].strides = {INT64_MIN, 1}; }, "address space"},
      {"output strides", [&](Metadata& m) { m.outputs = {output({1})}; }, "1 strides"},
      {"far output", [&](Metadata& m) { m.outputs = {output({INT64_MAX, 1})}; }, "address space"},
      {"alignment of one", [&](Metadata& m) { m.outputs = {output({5, 1}, 3)}; }, "alignment 3"},
      {"two outputs", [&](Metadata& m) { m.outputs = {std::nullopt, output({5, 1})}; },
       "1 outputs"},
  };
  for (const WrongMetadata& wrong : cases) {
    Metadata metadata = good;
    wrong.change(metadata);
    auto executor = compile(text, "f", metadata);
    ASSERT_FALSE(executor.has_value()) << wrong.name;
    EXPECT_EQ(executor.error().kind, Failure::Kind::Argument) << wrong.name;
    EXPECT_NE(executor.error().message.find(wrong.text), std::string::npos)
        << wrong.name << ": " << executor.error().message;
  }
}

TEST(Compile, RefusesOutputsWhoseElementsMeet) {
  const auto compiles = [](std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides) {
    Metadata metadata{{floats(sizes)}, {}, {}, {}};
    metadata.outputs = {TensorMeta{DType::Float32, std::move(sizes), std::move(strides), 4}};
    const char* text = "def f(float(A,B,C) x) -> (y) { y(a,b,c) = x(a,b,c) }";
    return compile(text, "f", metadata).has_value();
  };
  EXPECT_TRUE(compiles({2, 3, 4}, {12, 4, 1}));
  EXPECT_TRUE(compiles({2, 3, 4}, {1, -2, 6}));
  EXPECT_TRUE(compiles({2, 1, 4}, {4, 0, 1}));
  EXPECT_TRUE(compiles({2, 0, 4}, {0, 0, 0}));
  EXPECT_TRUE(compiles({1, 3, 3}, {0, 3, 4}));   // 3 b + 4 c differs for all b, c below 3
  EXPECT_FALSE(compiles({1, 5, 4}, {0, 3, 4}));  // b = 4 and c = 3 meet
  EXPECT_FALSE(compiles({2, 3, 4}, {12, 3, 1}));
  EXPECT_FALSE(compiles({2, 3, 4}, {1, 1, 1}));
  EXPECT_FALSE(compiles({2, 3, 4}, {12, 4, -4}));
}

TEST(Compile, TakesAnyNumberAsABoolConst) {
  const char* text = "def f(int32(N) x, const bool c) -> (y) { y(i) = c == true ? x(i) : 0 }";
  Metadata metadata{{TensorMeta{DType::Int32, {3}, {}, 4}}, {}, {{"c", {5, 5}}}, {}};
  auto executor = compile(text, "f", metadata);
  ASSERT_TRUE(executor.has_value()) << executor.error().message;
  std::int32_t x[] = {1, 2, 3}, y[] = {0, 0, 0};
  void* pointers[] = {x, y, nullptr};
  ASSERT_FALSE(executor->run_unchecked(pointers).has_value());
  EXPECT_EQ(y[2], 3);
}

TEST(CInterface, NullNames) {
  const tc_const unnamed{nullptr, 1, 1};
  tc_executor* executor = nullptr;
  const char* text = "def f(const int32 a) -> (y) { y(i) = a where i in 0:3 }";
  EXPECT_EQ(
      tc_compile(text, nullptr, nullptr, 0, &unnamed, 1, nullptr, 0, nullptr, nullptr, &executor),
      TC_ERROR_ARGUMENT);
  EXPECT_STREQ(tc_last_error(), "the name of const 0 is null");
  EXPECT_EQ(
      tc_compile(text, nullptr, nullptr, 0, nullptr, 0, &unnamed, 1, nullptr, nullptr, &executor),
      TC_ERROR_ARGUMENT);
  EXPECT_STREQ(tc_last_error(), "the name of size 0 is null");
}

TEST(CInterface, OutputsOfTheCallerAndTheirRoles) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[12] = {}, s[2] = {10, 20};
  std::int64_t shape[] = {2, 3}, strides[] = {1, -4}, sums[] = {2};
  const DLTensor in{x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor out{y + 8, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  const DLTensor total{s, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, sums, nullptr, 0};
  const DLTensor *inputs[] = {&in}, *outputs[] = {&in, &out, &total}, *known[] = {nullptr, &out};
  tc_request request{};
  request.outputs = known;
  request.num_outputs = 2;
  tc_executor* executor = nullptr;
  const char* text =
      "def f(float(N,M) x) -> (x, y, s) { y(i,j) = 2 * x(i,j)  s(i) += x(i,j)  x(i,j) = -x(i,j) }";
  ASSERT_EQ(tc_compile_for(text, nullptr, inputs, 1, nullptr, 0, nullptr, 0, &request, nullptr,
                           &executor),
            TC_OK)
      << tc_last_error();
  ASSERT_EQ(tc_executor_run(executor, inputs, 1, outputs, 3, nullptr), TC_OK) << tc_last_error();
  EXPECT_EQ(std::vector<float>(y, y + 12),
            (std::vector<float>{6, 12, 0, 0, 4, 10, 0, 0, 2, 8, 0, 0}));
  EXPECT_EQ(std::vector<float>(s, s + 2), (std::vector<float>{16, 35}));
  EXPECT_EQ(x[5], -6);
  tc_output_role role{};
  const tc_output_role expected[] = {{"x", 0, 0}, {"y", -1, 0}, {"s", -1, 1}};
  for (std::int32_t i = 0; i < 3; ++i) {
    ASSERT_EQ(tc_executor_output_role(executor, i, &role), TC_OK);
    EXPECT_STREQ(role.name, expected[i].name);
    EXPECT_EQ(role.in_place_of, expected[i].in_place_of) << i;
    EXPECT_EQ(role.needs_initial, expected[i].needs_initial) << i;
  }
  EXPECT_EQ(tc_executor_output_role(executor, 3, &role), TC_ERROR_ARGUMENT);
  EXPECT_STREQ(tc_executor_input_name(executor, 0), "x");
  EXPECT_EQ(tc_executor_input_name(executor, 1), nullptr);
  tc_executor_free(executor);
  strides[1] = 1;
  EXPECT_EQ(tc_compile_for(text, nullptr, inputs, 1, nullptr, 0, nullptr, 0, &request, nullptr,
                           &executor),
            TC_ERROR_ARGUMENT);
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
