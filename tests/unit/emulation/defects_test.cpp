// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "emulate.h"

namespace tc::emulation::test {
namespace {

using Kind = FindingKind;

struct Case {
  std::string kernel;
  /// Without a barrier it depends on the order whether a thread comes before or after the other.
  std::set<Kind> kinds;
  std::string buffer;
  std::string message;  ///< a part of it
  int threads = 64;
  int blocks = 1;
  std::size_t shared_bytes = 64 * 4;
};

/// Lines of the kernel's definition that are marked "defect".
std::set<int> marked_lines(const std::string& kernel) {
  std::istringstream text(kernel_file("defects.cuh"));
  std::set<int> lines;
  bool inside = false;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("static void " + kernel + "(")) inside = true;
    if (line == "}") inside = false;
    if (inside && line.ends_with("// defect")) lines.insert(number);
  }
  return lines;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"missing_barrier", {Kind::UninitialisedRead, Kind::ReadWriteRace}, "tile", ""},
      {"write_after_read", {Kind::ReadWriteRace}, "tile", "no barrier lies in between"},
      {"same_value_twice", {Kind::WriteWriteRace}, "tile", "wrote it and no barrier", 64, 1, 4},
      {"warp_barrier_too_small", {Kind::UninitialisedRead, Kind::ReadWriteRace}, "tile", ""},
      {"atomic_and_plain", {Kind::ReadWriteRace}, "counter", "no barrier", 64, 1, 4},
      {"barrier_in_branch",
       {Kind::DivergentBarrier},
       "",
       "threads 0-39 wait at the block barrier of line"},
      {"two_barriers", {Kind::DivergentBarrier}, "", "while thread"},
      {"shuffle_in_branch",
       {Kind::DivergentExchange},
       "",
       "threads 32-36, 38-63 wait at the exchange of line"},
      {"read_before_write", {Kind::UninitialisedRead}, "tile", "byte 252 of shared 'tile'"},
      {"output_read", {Kind::UninitialisedRead}, "out", "nothing has written it"},
      {"one_beyond", {Kind::OutOfBounds}, "in", "at byte 256 of 'in', which has 256 bytes"},
      {"one_before", {Kind::OutOfBounds}, "out", "at byte -4 of 'out', which has 256 bytes"},
      {"shared_beyond",
       {Kind::OutOfBounds},
       "tile",
       "at byte 256 of shared 'tile', which has 256 bytes"},
      {"shared_too_large", {Kind::OutOfBounds}, "tile", "the launch gives 256 bytes"},
      {"input_written", {Kind::ReadOnlyWritten}, "in", "which the kernel may only read"},
      {"misaligned", {Kind::Misaligned}, "in", "no multiple of 16"},
      {"overlapping_blocks", {Kind::BlockConflict}, "out", "of the same launch writes it", 64, 3},
      {"block_reads_block", {Kind::BlockConflict, Kind::UninitialisedRead}, "out", "", 64, 3},
      {"missing_wait", {Kind::CopyInFlight}, "tile", "has not waited"},
      {"missing_commit", {Kind::CopyInFlight}, "tile", "has not waited"},
      {"wait_without_barrier",
       {Kind::UninitialisedRead, Kind::ReadWriteRace, Kind::CopyInFlight},
       "tile",
       ""},
      {"unpublished", {Kind::Unpublished}, "tile", "did not publish it before a barrier"},
      {"published_late", {Kind::Unpublished}, "tile", "did not publish it before a barrier"},
      {"without_fence", {Kind::MissingFence}, "", "without a fence"},
      {"overwritten_panel", {Kind::ProductInFlight}, "tile", "since the product began"},
      {"next_array", {Kind::OutOfBounds}, "tile", "of shared 'tile', which has 128 bytes"},
      {"word_beyond",
       {Kind::OutOfBounds},
       "flags",
       "by exchanging the word around it, which ends past the 5 bytes of the launch",
       64,
       1,
       5},
      {"update_before_write", {Kind::UninitialisedRead}, "counter", "updates 4 bytes", 64, 1, 4},
      {"unannounced", {Kind::GuardDamaged}, "out", "changed byte 256 of 'out', which has 256"},
  };
  return list;
}

std::optional<Finding> run(Emulator& emulator, const Case& test) {
  const auto elements = static_cast<std::size_t>(test.blocks * test.threads +
                                                 (test.kernel == "overlapping_blocks" ? 1 : 0));
  auto& in = add(emulator, "in", std::vector<float>(elements, 1.0f), Access::ReadOnly);
  auto& out = add(emulator, "out", std::vector<float>(elements), Access::Undefined);
  const std::string text = kernel_file("defects.cuh");
  const std::size_t at = text.find("static void " + test.kernel + "(");
  const bool reads = text.compare(text.find('(', at) + 1, 15, "const float* in") == 0;
  std::vector<LaunchBuffer> buffers = {{&out, true}};
  if (reads) buffers.insert(buffers.begin(), {&in, false});
  if (test.kernel == "input_written") buffers = {{&in, false}};
  return Kernels::all().launch(
      emulator, {test.kernel, {test.blocks, 1, 1}, {test.threads, 1, 1}, test.shared_bytes},
      buffers);
}

class Defects : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Defects, AreFoundAndNamed) {
  for (const Case& test : cases()) {
    SCOPED_TRACE(test.kernel);
    Emulator emulator(GetParam());
    const auto finding = run(emulator, test);
    ASSERT_TRUE(finding.has_value());
    SCOPED_TRACE(finding->to_string());
    EXPECT_TRUE(test.kinds.contains(finding->kind));
    EXPECT_EQ(finding->kernel, test.kernel);
    EXPECT_EQ(finding->buffer, test.buffer);
    EXPECT_NE(finding->message.find(test.message), std::string::npos);
    const auto lines = marked_lines(test.kernel);
    EXPECT_TRUE(lines.empty() || lines.contains(finding->line));
    EXPECT_LT(finding->block[0], test.blocks);
    const bool two_threads =
        finding->kind == Kind::WriteWriteRace || finding->kind == Kind::ReadWriteRace;
    if (two_threads) {
      ASSERT_EQ(finding->threads.size(), 2u);
      EXPECT_NE(finding->threads[0], finding->threads[1]);
    }
    EXPECT_EQ(finding->other_block.has_value(), finding->kind == Kind::BlockConflict);
    EXPECT_NE(finding->other_block.value_or(std::array{-1, -1, -1}), finding->block);
  }
}

TEST_P(Defects, LeaveTheEmulatorUsable) {
  Emulator emulator(GetParam());
  for (const Case& test : cases()) {
    ASSERT_TRUE(run(emulator, test).has_value()) << test.kernel;
    if (test.kernel == "unannounced") break;  // its guard zone stays damaged
  }
  auto& in = add(emulator, "in", std::vector<float>(256, 2.0f), Access::ReadOnly);
  auto& out = add(emulator, "bytes", std::vector<unsigned char>(64), Access::Undefined);
  Emulator fresh(GetParam());
  auto& fresh_in = add(fresh, "in", std::vector<float>(256, 2.0f), Access::ReadOnly);
  auto& fresh_out = add(fresh, "bytes", std::vector<unsigned char>(64), Access::Undefined);
  const LaunchShape shape{"bytes", {1, 1, 1}, {64, 1, 1}, 0};
  const auto after = Kernels::all().launch(emulator, shape, {{&in, false}, {&out, true}});
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->kind, Kind::GuardDamaged);
  EXPECT_EQ(contents<unsigned char>(out), std::vector<unsigned char>(64, 8));
  EXPECT_FALSE(
      Kernels::all().launch(fresh, shape, {{&fresh_in, false}, {&fresh_out, true}}).has_value());
}

TEST_P(Defects, BuffersOfOtherLaunchesAreOutside) {
  Emulator emulator(GetParam());
  auto& in = add(emulator, "in", std::vector<float>(64), Access::ReadOnly);
  auto& out = add(emulator, "out", std::vector<float>(64), Access::Undefined);
  const LaunchShape copies{"one_beyond", {1, 1, 1}, {1, 1, 1}, 0};
  ASSERT_FALSE(Kernels::all().launch(emulator, copies, {{&in, false}, {&out, true}}).has_value());
  // The kernel of one pointer finds the other through the distance between them.
  const LaunchShape strays{"strays", {1, 1, 1}, {1, 1, 1}, 0};
  const auto finding =
      Kernels::all().launch(emulator, strays, {{&out, true}}, {in.data() - out.data()});
  ASSERT_TRUE(finding.has_value());
  EXPECT_EQ(finding->kind, Kind::OutOfBounds);
  EXPECT_EQ(finding->buffer, "in");
  EXPECT_NE(finding->message.find("no argument of this launch"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Defects, testing::ValuesIn(kSeeds));

TEST(Launch, ShapesThatNoDeviceAccepts) {
  Emulator emulator;
  for (const LaunchShape& shape : {LaunchShape{"bytes", {0, 1, 1}, {1, 1, 1}, 0},
                                   LaunchShape{"bytes", {1, 70000, 1}, {1, 1, 1}, 0},
                                   LaunchShape{"bytes", {1, 1, 1}, {1025, 1, 1}, 0},
                                   LaunchShape{"bytes", {1, 1, 1}, {32, 32, 2}, 0},
                                   LaunchShape{"bytes", {1, 1, 1}, {1, 1, 1}, 228 * 1024}}) {
    const auto finding = Kernels::all().launch(emulator, shape, {});
    ASSERT_TRUE(finding.has_value());
    EXPECT_EQ(finding->kind, Kind::BadLaunch);
  }
}

TEST(Launch, SameSeedSameFinding) {
  for (const std::uint64_t seed : kSeeds) {
    Emulator first(seed), second(seed);
    const Case test{"overlapping_blocks", {}, "", "", 64, 7};
    EXPECT_EQ(run(first, test)->to_string(), run(second, test)->to_string());
  }
}

TEST(HostModule, CompileErrorsAreReported) {
  const KernelText text{"static void k() { undeclared = 1; }\nTC_EMULATION_ENTRY(k)\n", {"k"}};
  const auto module = HostModule::compile(std::span(&text, 1), {}, {TC_HOST_COMPILER, {}});
  ASSERT_FALSE(module.has_value());
  EXPECT_NE(module.error().message.find("undeclared"), std::string::npos);
  EXPECT_NE(module.error().message.find("text 0:1"), std::string::npos);
  const auto missing = HostModule::compile(std::span(&text, 1), {}, {"/no/such/compiler", {}});
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("/no/such/compiler"), std::string::npos);
}

TEST(HostModule, EqualNamesInSeveralTexts) {
  const auto text = [](const std::string& value) {
    return KernelText{"#include \"access.cuh\"\nstatic void k(int* out) { store(out, " + value +
                          "); }\nTC_EMULATION_ENTRY(k)\n",
                      {"k"}};
  };
  const std::vector<KernelText> texts = {text("1"), text("2")};
  const Header header{"access.cuh", kernel_file("access.cuh")};
  const auto module = HostModule::compile(texts, std::span(&header, 1), {TC_HOST_COMPILER, {}});
  ASSERT_TRUE(module.has_value()) << module.error().message;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    Emulator emulator;
    auto& out = add(emulator, "out", std::vector<int>(1), Access::Undefined);
    const LaunchBuffer buffer{&out, true};
    ASSERT_FALSE((*module)->launch(emulator, i, 0, {"k", {1, 1, 1}, {1, 1, 1}, 0},
                                   std::span(&buffer, 1), {}));
    EXPECT_EQ(contents<int>(out)[0], static_cast<int>(i) + 1);
  }
}

}  // namespace
}  // namespace tc::emulation::test
