// SPDX-License-Identifier: Apache-2.0
//
// Where NVRTC is looked for and what is said when it is not there. Needs no NVRTC.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tc/runtime/cuda/nvrtc.h"

namespace tc::runtime::cuda {
namespace {

namespace fs = std::filesystem;

class NvrtcSearchTest : public ::testing::Test {
protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("tc_nvrtc_" + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string touch(const std::string& path) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "no library";
    return (root_ / path).string();
  }
  static std::string refusal(const NvrtcSearch& search) {
    const auto nvrtc = Nvrtc::open(search);
    EXPECT_FALSE(nvrtc);
    if (nvrtc) return "";
    EXPECT_EQ(nvrtc.error().kind, RejectionKind::TargetMissing);
    return nvrtc.error().message;
  }

  fs::path root_;
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' in\n" << text;
}

TEST_F(NvrtcSearchTest, NamesEveryPlaceOfAGivenRoot) {
  const std::string message = refusal({.cuda_path = root_.string()});
  expect_contains(message, "TC_CUDA_PATH");
  for (const char* folder : {"", "/lib64", "/lib", "/targets/x86_64-linux/lib"})
    expect_contains(message, "\n  " + root_.string() + folder + "\n");
  // What the user named is all that is looked at.
  EXPECT_EQ(message.find("/usr/local"), std::string::npos) << message;
}

TEST_F(NvrtcSearchTest, SaysWhatIsWrongWithAFile) {
  const std::string file = touch("lib64/libnvrtc.so.13");
  const std::string message = refusal({.cuda_path = root_.string()});
  expect_contains(message, "Tried:\n  " + file + ": ");
  expect_contains(refusal({.cuda_path = file}), file + ": ");
}

TEST_F(NvrtcSearchTest, AnotherLibraryIsNoNvrtc) {
  fs::create_directories(root_ / "lib");
  for (const char* libm : {"/lib/x86_64-linux-gnu/libm.so.6", "/lib/aarch64-linux-gnu/libm.so.6",
                           "/lib64/libm.so.6", "/usr/lib/libm.so.6"}) {
    if (!fs::exists(libm)) continue;
    fs::create_symlink(libm, root_ / "lib/libnvrtc.so.12");
    expect_contains(refusal({.cuda_path = root_.string()}), "it is no NVRTC");
    return;
  }
  FAIL() << "this system has no libm.so.6 in a known place";
}

TEST_F(NvrtcSearchTest, LooksIntoWheelsAndTheEnvironmentAround) {
  const std::string site = (root_ / "env/lib/python3.11/site-packages").string();
  const std::string wheel12 = touch("env/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/"
                                    "libnvrtc.so.12");
  const std::string wheel13 = touch("env/lib/python3.11/site-packages/nvidia/cu13/lib/"
                                    "libnvrtc.so.13");
  const std::string conda = touch("env/lib/libnvrtc.so.12");
  const std::string message = refusal({.site_packages = {site}, .system = false});
  for (const std::string& file : {wheel12, wheel13, conda})
    expect_contains(message, "\n  " + file + ": ");
}

TEST(AssemblerLog, ReadsStatisticsAndKeepsTheRest) {
  const AssemblerLog log = read_assembler_log(
      "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n"
      "\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
      "ptxas info    : Function properties for first\n"
      "ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
      "ptxas info    : Function properties for callee\n"
      "ptxas         .     96 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 372 bytes cmem[0]\n"
      "ptxas info    : Compile time = 1.5 ms\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame\n"
      "ptxas info    : Used 255 registers, used 0 barriers\n");
  ASSERT_EQ(log.kernels.size(), 2U);
  EXPECT_EQ(log.kernels[0].name, "first");
  EXPECT_EQ(log.kernels[0].registers, 40);
  EXPECT_EQ(log.kernels[0].stack_bytes, 16);
  EXPECT_EQ(log.kernels[0].spill_stores, 4);
  EXPECT_EQ(log.kernels[0].spill_loads, 8);
  EXPECT_EQ(log.kernels[0].static_shared, 1024);
  EXPECT_EQ(log.kernels[1].registers, 255);
  EXPECT_EQ(log.kernels[1].static_shared, 0);
  EXPECT_NE(log.rest.find("never referenced"), std::string::npos);
  EXPECT_NE(log.rest.find("C7510"), std::string::npos);
  EXPECT_EQ(log.rest.find("Compile time"), std::string::npos);
}

}  // namespace
}  // namespace tc::runtime::cuda
