// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tc/codegen/llvm/c_names.h"
#include "tc/codegen/llvm/entry.h"
#include "tc/support/check.h"
#include "tc/support/tensor_meta.h"

namespace tc::codegen::native {
namespace {

const char* c_type(DType type) {
  switch (type) {
  case DType::Bool: return "uint8_t";
  case DType::Int8: return "int8_t";
  case DType::Int16: return "int16_t";
  case DType::Int32: return "int32_t";
  case DType::Int64: return "int64_t";
  case DType::UInt8: return "uint8_t";
  case DType::UInt16: return "uint16_t";
  case DType::UInt32: return "uint32_t";
  case DType::UInt64: return "uint64_t";
  case DType::Float16:
  case DType::BFloat16: return "uint16_t";
  case DType::Float32: return "float";
  case DType::Float64: return "double";
  case DType::Float8E4M3FN:
  case DType::Float8E5M2:
  case DType::Int4:
  case DType::UInt4: return "uint8_t";
  }
  unreachable("element type");
}

/// The buffer that an argument is in the first launch that uses it; null if no launch does.
const kernel::Buffer* buffer_of(const kernel::Plan& plan, const std::vector<kernel::Step>& steps,
                                int argument) {
  for (const auto& step : steps) {
    if (const auto* loop = std::get_if<kernel::Loop>(&step.node)) {
      if (const auto* found = buffer_of(plan, loop->body, argument)) return found;
      continue;
    }
    const auto& launch = std::get<kernel::Launch>(step.node);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      if (launch.arguments[i] == argument)
        return plan.kernels[static_cast<std::size_t>(launch.kernel)].buffers[i].get();
  }
  return nullptr;
}

void describe(const kernel::Plan& plan, int argument, EntryParameter& parameter) {
  const kernel::Buffer* buffer = buffer_of(plan, plan.steps, argument);
  if (!buffer) return;
  parameter.type = buffer->type;
  parameter.extents = buffer->extents;
  parameter.strides = buffer->strides;
}

}  // namespace

std::string entry_name(const kernel::Plan& plan) {
  return c_function(plan.name);
}

std::vector<EntryParameter> entry_parameters(const kernel::Plan& plan) {
  using Kind = kernel::Argument::Kind;
  std::vector<int> order(plan.arguments.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int>(i);
  const auto key = [&](int i) {
    const auto& a = plan.arguments[static_cast<std::size_t>(i)];
    return std::pair(static_cast<int>(a.kind), a.position);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  std::vector<EntryParameter> parameters;
  std::set<std::string> names;
  std::map<std::string, std::size_t> position_of;  // of a tensor's own name among the parameters
  EntryParameter scratch{"scratch", DType::UInt8, {plan.scratch_bytes}, {1}, false, true, {}};
  for (const int i : order) {
    const auto& argument = plan.arguments[static_cast<std::size_t>(i)];
    if (argument.kind == Kind::Scratch) {
      scratch.arguments.push_back(i);
      continue;
    }
    const auto known = position_of.find(argument.name);
    if (known != position_of.end()) {
      // Updated in place: one pointer for the parameter and the result.
      EntryParameter& same = parameters[known->second];
      same.is_const = same.is_const && argument.kind == Kind::Input;
      same.arguments.push_back(i);
      continue;
    }
    // Two names may become one in C: 'int' and 'int_'.
    std::string name = c_identifier(argument.name);
    while (!names.insert(name).second)
      name += "_";
    position_of.emplace(argument.name, parameters.size());
    EntryParameter parameter{name, DType::UInt8, {}, {}, argument.kind == Kind::Input, false, {i}};
    describe(plan, i, parameter);
    parameters.push_back(std::move(parameter));
  }
  while (names.count(scratch.name) != 0)
    scratch.name += "_";
  if (plan.scratch_bytes > 0) parameters.push_back(std::move(scratch));
  return parameters;
}

std::string c_header(const kernel::Plan& plan) {
  const std::string function = entry_name(plan);
  std::string docs = fmt::format("/* Runs '{}' on the calling thread. All tensors are row-major "
                                 "unless said otherwise and do not\n"
                                 "   overlap.\n",
                                 plan.name);
  std::string list;
  for (const auto& p : entry_parameters(plan)) {
    if (p.is_scratch) {
      docs +=
          fmt::format("     {}: {} bytes of scratch memory, 64-byte aligned, contents undefined\n",
                      p.name, plan.scratch_bytes);
    } else {
      const bool plain = p.strides == row_major_strides(p.type, p.extents);
      docs += fmt::format("     {}: {} {}({})", p.name, p.is_const ? "input," : "output,",
                          name(p.type), fmt::join(p.extents, ", "));
      docs +=
          plain ? "\n" : fmt::format(", strides ({}) in elements\n", fmt::join(p.strides, ", "));
    }
    list += fmt::format("{}{}{}* {}", list.empty() ? "" : ", ", p.is_const ? "const " : "",
                        p.is_scratch ? "void" : c_type(p.type), p.name);
  }
  return fmt::format(
      "#pragma once\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "{} */\nvoid {}({});\n\n#ifdef __cplusplus\n}}\n#endif\n",
      docs, function, list.empty() ? "void" : list);
}

}  // namespace tc::codegen::native
