// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tc/runtime/cuda/nvrtc.h"

namespace tc::test {

inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Where tests look for NVRTC: TC_CUDA_PATH, a toolkit; TC_TEST_VENV, the virtual environment of
/// `make test`, whose requirements bring it; then the system.
inline runtime::cuda::NvrtcSearch nvrtc_search() {
  runtime::cuda::NvrtcSearch search;
  search.cuda_path = environment("TC_CUDA_PATH");
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(environment("TC_TEST_VENV") + "/lib", error))
    search.site_packages.push_back((entry.path() / "site-packages").string());
  return search;
}

/// Tests that compile with NVRTC. It comes with the requirements of `make test`; a build without
/// the virtual environment skips them.
class WithNvrtc : public ::testing::Test {
protected:
  void SetUp() override {
    auto opened = runtime::cuda::Nvrtc::open(nvrtc_search());
    if (!opened) GTEST_SKIP() << opened.error().message;
    nvrtc_ = *opened;
  }

  std::shared_ptr<const runtime::cuda::Nvrtc> nvrtc_;
};

}  // namespace tc::test
