// SPDX-License-Identifier: Apache-2.0
#include "tc/lower/cpu/layout_model.h"
#include "tc/lower/cpu/lower.h"
#include "tc/lower/cpu/packing.h"
#include "tc/lower/cpu/staging.h"
#include "tc/lower/op/program_names.h"

namespace tc::lower::cpu {
namespace {

class Selection {
public:
  Selection(const MappingOptions& options, const Target& target, Names& names)
      : options_(options), target_(target), names_(names) {}

  std::vector<tile::Node> list(const std::vector<tile::Node>& nodes, const Ranges& ranges) {
    std::vector<tile::Node> out;
    for (const auto& node : nodes) {
      if (const auto* loop = std::get_if<std::shared_ptr<const tile::Loop>>(&node)) {
        Ranges inner = ranges;
        add_loop(inner, **loop);
        tile::Loop copy = **loop;
        copy.body = list(copy.body, inner);
        out.push_back(std::make_shared<const tile::Loop>(std::move(copy)));
        continue;
      }
      const auto* op = std::get_if<tile::Op>(&node);
      if (!op || op->layout) {
        out.push_back(node);
        continue;
      }
      operation(*op, ranges, out);
    }
    return out;
  }

private:
  void operation(const tile::Op& op, const Ranges& ranges, std::vector<tile::Node>& out) {
    if (options_.stage) {
      auto parts = pack_contraction(op, ranges, options_, target_, names_);
      if (!parts) parts = stage_transposed(op, ranges, options_, target_, names_);
      if (parts) {
        // Operations that must match a panel have layouts already; the others are chosen alone.
        for (auto& node : list(*parts, ranges))
          out.push_back(std::move(node));
        return;
      }
    }
    tile::Op chosen = op;
    chosen.layout = choose_layout(op, ranges, options_, target_).layout;
    out.push_back(std::move(chosen));
  }

  const MappingOptions& options_;
  const Target& target_;
  Names& names_;
};

}  // namespace

Result<tile::Program, Rejection> select(const tile::Program& program, const MappingOptions& options,
                                        const Target& target) {
  tile::Program result = program;
  for (auto& kernel : result.kernels) {
    Names names = names_after(kernel);
    kernel.body = Selection(options, target, names).list(kernel.body, grid_ranges(kernel));
  }
  return result;
}

}  // namespace tc::lower::cpu
