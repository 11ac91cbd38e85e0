// SPDX-License-Identifier: Apache-2.0
//
// Products on tensor cores and the asynchronous copies that feed them.
#include <fmt/format.h>

#include "tc/codegen/cuda/emitter.h"
#include "tc/kernel/fold.h"
#include "tc/support/check.h"

namespace tc::codegen::cuda {

namespace {

std::string panel_shape(const kernel::MmaPanel& panel) {
  return fmt::format("tc::panel_shape<{}, {}, {}{}>", panel.k_inner, panel.along_k,
                     panel.along_kept, panel.buffer->swizzled ? ", true" : "");
}

/// The instruction of a warp group for one shape: its accumulators are operands by name, so there
/// is one text per number of columns.
std::string instruction_text(const kernel::Mma& n) {
  const std::int64_t registers = n.width / 2;
  std::string list;
  std::string operands;
  for (std::int64_t i = 0; i < registers; ++i) {
    list += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands += fmt::format("{}\"+f\"(sums[{}])", i == 0 ? "" : ", ", i);
  }
  const bool is_half = n.rows.buffer->type == DType::Float16;
  const std::string type = is_half ? "f16" : "bf16";
  const int rows_transposed = n.rows.k_inner ? 0 : 1;
  const int columns_transposed = n.columns.k_inner ? 0 : 1;
  return fmt::format(
      "template <>\n"
      "struct warp_group_instruction<{}, {}, {}, {}> {{\n"
      "  TC_DEVICE static void run(float* sums, uint64 rows, uint64 columns) {{\n"
      "    asm volatile(\n"
      "        \"{{.reg .pred adds; setp.eq.u32 adds, 1, 1; \"\n"
      "        \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, %{}, %{}, adds, 1, 1, "
      "{}, {};}}\"\n"
      "        : {}\n"
      "        : \"l\"(rows), \"l\"(columns));\n"
      "  }}\n"
      "}};\n",
      is_half ? "float16" : "bfloat16", n.width, !n.rows.k_inner, !n.columns.k_inner, n.width, type,
      type, list, registers, registers + 1, rows_transposed, columns_transposed, operands);
}

}  // namespace

void Emitter::mma(const kernel::Mma& n) {
  headers_.insert("fragment");
  if (has_warp_groups_) definitions_.insert(instruction_text(n));
  multiplied_.emplace(n.accumulator->id, n.accumulator);
  std::int64_t first = 0;
  for (std::size_t d = 0; d < n.first.size(); ++d)
    first += kernel::constant_int(n.first[d]).value_or(0) * n.accumulator->strides[d];
  const auto corner = [&](const kernel::MmaPanel& panel) {
    kernel::Buffer plain = *panel.buffer;
    plain.swizzled = false;  // which leaves a corner where it is
    const Place at = place(plain, panel.corner, 1);
    return fmt::format("{} + {}", at.buffer, wrapped(at.offset, Binding::Product));
  };
  const std::string rows = corner(n.rows);
  line(fmt::format("tc::multiply_by_warp{}<{}, {}, {}, {}, {}, {}>(tc::address({}){}, {}, {});",
                   has_warp_groups_ ? "_group" : "s", n.blocks, n.block_distance, n.width, n.depth,
                   panel_shape(n.rows), panel_shape(n.columns), name_of(*n.accumulator),
                   first == 0 ? "" : fmt::format(" + {}", first), rows, corner(n.columns)));
}

void Emitter::copy(const kernel::Copy& n) {
  headers_.insert("copy");
  const Place to = place(*n.to, n.to_indices, 1);
  const Place from = place(*n.from, n.from_indices, 1);
  const std::string predicate = n.predicate ? ", " + value(n.predicate).code : "";
  line(fmt::format("tc::copy_elements<{}, {}>({} + {}, {} + {}{});", n.count,
                   std::min(to.alignment, from.alignment), to.buffer,
                   wrapped(to.offset, Binding::Product), from.buffer,
                   wrapped(from.offset, Binding::Product), predicate));
}

void Emitter::await(const kernel::Await& n) {
  if (n.what == kernel::Awaited::Copies) {
    headers_.insert("copy");
    return line(fmt::format("tc::copy_await<{}>();", n.pending));
  }
  headers_.insert("fragment");
  if (!has_warp_groups_) return;
  line(fmt::format("tc::await_products<{}>();", n.pending));
  if (n.pending > 0) return;
  for (const auto& [id, buffer] : multiplied_)
    line(fmt::format("tc::settle<{}>(tc::address({}));", kernel::span_elements(*buffer),
                     name_of(*buffer)));
  multiplied_.clear();
}

}  // namespace tc::codegen::cuda
