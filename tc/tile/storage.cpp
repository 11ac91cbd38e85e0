// SPDX-License-Identifier: Apache-2.0
#include "tc/tile/storage.h"

#include <algorithm>

#include "tc/support/check.h"
#include "tc/support/numeric.h"

namespace tc::tile {
namespace {

constexpr std::int64_t kMaxScratchBytes = std::int64_t{1} << 40;
constexpr std::int64_t kScratchAlignment = 64;

/// Places blocks with lifetimes first-fit; blocks that live at the same time do not overlap.
class ScratchSpace {
public:
  std::int64_t place(std::int64_t bytes, int first, int last) {
    const std::int64_t size =
        ceil_div(std::max<std::int64_t>(bytes, 1), kScratchAlignment) * kScratchAlignment;
    std::vector<Block> alive;
    for (const auto& block : blocks_)
      if (block.first <= last && first <= block.last) alive.push_back(block);
    std::sort(alive.begin(), alive.end(),
              [](const Block& a, const Block& b) { return a.offset < b.offset; });
    std::int64_t offset = 0;
    for (const auto& block : alive) {
      if (offset + size <= block.offset) break;
      offset = std::max(offset, block.offset + block.size);
    }
    blocks_.push_back({offset, size, first, last});
    total_ = std::max(total_, offset + size);
    return offset;
  }
  std::int64_t total() const { return total_; }

private:
  struct Block {
    std::int64_t offset, size;
    int first, last;
  };
  std::vector<Block> blocks_;
  std::int64_t total_ = 0;
};

class Assignment {
public:
  Assignment(const poly::Scop& scop, const std::vector<PlacedGroup>& groups)
      : scop_(scop), groups_(groups), uses_(scop.tensors.size()) {
    for (const auto& group : groups)
      for (const auto& access : group.context.accesses)
        if (!group.frame.statements[static_cast<std::size_t>(access.position)].empty)
          uses_[static_cast<std::size_t>(access.tensor)].extend(group);
  }

  Result<Storage, Rejection> run(bool with_status, std::int64_t limit) {
    name_tensors();
    for (const auto& group : groups_)
      choose_locals(group, limit);
    list_arguments(kernel::Argument::Kind::Input);
    list_arguments(kernel::Argument::Kind::Output);
    return place_scratch(with_status);
  }

private:
  struct Use {
    int first = -1, last = -1;
    void extend(const PlacedGroup& group) {
      first = first < 0 ? group.first_launch : std::min(first, group.first_launch);
      last = std::max(last, group.last_launch);
    }
  };

  /// "status" names the record of bounds=error, so no temporary is called that.
  void name_tensors() {
    std::vector<std::string> taken;
    for (const auto& tensor : scop_.tensors) {
      const bool temporary = !tensor.is_param && !tensor.is_output;
      TensorStorage storage;
      storage.name =
          unique_name(temporary && tensor.name == "status" ? "status_" : tensor.name, taken);
      result_.tensors.push_back(std::move(storage));
    }
  }

  void choose_locals(const PlacedGroup& group, std::int64_t limit) {
    struct Candidate {
      std::int64_t bytes;
      int tensor;
      Footprint box;
    };
    std::vector<Candidate> candidates;
    for (const int tensor : group.context.private_tensors) {
      auto box = footprint(scop_, group.frame, group.context.accesses, tensor);
      if (!box) continue;
      const DType type = scop_.tensors[static_cast<std::size_t>(tensor)].type;
      const auto& held = group.context.in_registers;
      const bool needs_none = std::find(held.begin(), held.end(), tensor) != held.end();
      const std::int64_t bytes = needs_none ? 0 : box_bytes(type, box->extent);
      candidates.push_back({bytes, tensor, std::move(*box)});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bytes < b.bytes; });
    std::int64_t total = 0;
    for (auto& candidate : candidates) {
      total += candidate.bytes;
      if (total > limit) return;
      auto& storage = result_.tensors[static_cast<std::size_t>(candidate.tensor)];
      storage.kind = TensorStorage::Kind::Local;
      storage.box = std::move(candidate.box);
    }
  }

  void list_arguments(kernel::Argument::Kind kind) {
    std::map<int, std::size_t> by_position;
    for (std::size_t t = 0; t < scop_.tensors.size(); ++t) {
      const auto& tensor = scop_.tensors[t];
      if (uses_[t].first < 0) continue;
      if (kind == kernel::Argument::Kind::Output && tensor.is_output)
        by_position[tensor.output_position] = t;
      if (kind == kernel::Argument::Kind::Input && tensor.is_param && !tensor.is_output)
        by_position[tensor.param_position] = t;
    }
    for (const auto& [position, t] : by_position) {
      auto& storage = result_.tensors[t];
      storage.kind = TensorStorage::Kind::Argument;
      storage.argument = static_cast<int>(result_.arguments.size());
      result_.arguments.push_back({kind, storage.name, position, 0, 0});
    }
  }

  Result<Storage, Rejection> place_scratch(bool with_status) {
    ScratchSpace space;
    const auto add = [&](const std::string& name, std::int64_t bytes, int first, int last) {
      const std::int64_t offset = space.place(bytes, first, last);
      result_.arguments.push_back({kernel::Argument::Kind::Scratch, name, 0, offset, bytes});
      return static_cast<int>(result_.arguments.size()) - 1;
    };
    if (with_status) {
      int last = 0;
      for (const auto& group : groups_)
        last = std::max(last, group.last_launch);
      result_.status_argument = add("status", 4 * 8, -1, last);
    }
    for (std::size_t t = 0; t < scop_.tensors.size(); ++t) {
      auto& storage = result_.tensors[t];
      if (uses_[t].first < 0 || storage.kind != TensorStorage::Kind::Unused) continue;
      const std::int64_t bytes = box_bytes(scop_.tensors[t].type, scop_.tensors[t].extent);
      if (bytes > kMaxScratchBytes) return overflow(scop_.tensors[t].name, bytes);
      storage.kind = TensorStorage::Kind::Argument;
      storage.argument = add(storage.name, bytes, uses_[t].first, uses_[t].last);
      if (space.total() > kMaxScratchBytes) return overflow(scop_.tensors[t].name, space.total());
    }
    result_.scratch_bytes = space.total();
    return std::move(result_);
  }

  static Rejection overflow(const std::string& name, std::int64_t bytes) {
    return {RejectionKind::ScratchOverflow,
            "temporary '" + name + "' brings scratch to " + std::to_string(bytes) +
                " bytes, the limit is " + std::to_string(kMaxScratchBytes),
            bytes, kMaxScratchBytes, name};
  }

  const poly::Scop& scop_;
  const std::vector<PlacedGroup>& groups_;
  std::vector<Use> uses_;
  Storage result_;
};

}  // namespace

Result<Storage, Rejection> assign_storage(const poly::Scop& scop,
                                          const std::vector<PlacedGroup>& groups, bool with_status,
                                          std::int64_t local_limit) {
  return Assignment(scop, groups).run(with_status, local_limit);
}

}  // namespace tc::tile
