// SPDX-License-Identifier: Apache-2.0
#include "text_file.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tc::cases {

std::string source_root() {
  return TC_SOURCE_DIR;
}

std::string read_source(const std::string& path) {
  std::ifstream file(source_root() + "/" + path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace tc::cases
