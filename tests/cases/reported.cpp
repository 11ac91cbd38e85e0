// SPDX-License-Identifier: Apache-2.0
#include "reported.h"

#include <fmt/format.h>

#include "text_file.h"

namespace tc::cases {

Case reported_case(const std::string& file, const std::string& def, std::vector<Input> inputs,
                   std::vector<Expected> expected) {
  Case result;
  result.text = read_source("tests/cases/reported/" + file);
  result.def = def;
  std::string shapes;
  for (const Input& input : inputs) {
    shapes += fmt::format(" ({}) {}", fmt::join(input.value.shape, ","), to_string(input.view));
  }
  result.name = file + " " + def + shapes;
  result.inputs = std::move(inputs);
  result.expected = std::move(expected);
  return result;
}

}  // namespace tc::cases
