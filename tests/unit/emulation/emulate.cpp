// SPDX-License-Identifier: Apache-2.0
#include "emulate.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tc/support/check.h"

namespace tc::emulation::test {

std::string kernel_file(const std::string& name) {
  std::ifstream stream(std::string(TC_SOURCE_DIR) + "/tests/unit/emulation/kernels/" + name);
  check(stream.is_open(), "the kernel files lie beside the tests");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<std::string> entries_of(const std::string& text) {
  const std::string mark = "TC_EMULATION_ENTRY(";
  std::vector<std::string> names;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    names.push_back(text.substr(begin, text.find(')', begin) - begin));
  }
  return names;
}

Kernels::Kernels() {
  for (const char* file : {"correct.cuh", "defects.cuh"}) {
    const std::string text = kernel_file(file);
    texts_.push_back({text, entries_of(text)});
  }
  const Header header{"access.cuh", kernel_file("access.cuh")};
  auto module = HostModule::compile(texts_, std::span(&header, 1), {TC_HOST_COMPILER, {}});
  check(module.has_value(), module.has_value() ? "" : module.error().message);
  module_ = *module;
}

const Kernels& Kernels::all() {
  static const Kernels kernels;
  return kernels;
}

std::optional<Finding> Kernels::launch(Emulator& emulator, const LaunchShape& shape,
                                       const std::vector<LaunchBuffer>& buffers,
                                       const std::vector<long long>& ints) const {
  for (std::size_t text = 0; text < texts_.size(); ++text)
    for (std::size_t kernel = 0; kernel < texts_[text].kernels.size(); ++kernel)
      if (texts_[text].kernels[kernel] == shape.kernel)
        return module_->launch(emulator, text, kernel, shape, buffers, ints);
  throw InternalError("no kernel " + shape.kernel, __FILE__, __LINE__);
}

}  // namespace tc::emulation::test
