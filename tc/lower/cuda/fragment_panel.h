// SPDX-License-Identifier: Apache-2.0
//
// One operand of a product on tensor cores in shared memory. Internal to the room.
//
//   contiguous along k                 [stage][k / line][kept...][k % line]
//   along its last kept dim, or none   [stage][outer kept...][kept / line][k][kept % line]
//
// Every eight lines in a row are a core matrix. A line is 64 elements, which are all banks, and the
// panel is swizzled, so that neither copies nor products meet in a bank; or, where instructions of
// a warp multiply or the dim is not whole such lines, 8 elements: then what eight threads copy
// together goes to lines that are one line more than a multiple of all banks apart.
#pragma once

#include <string>
#include <vector>

#include "tc/kernel/mma.h"
#include "tc/lower/cuda/fragment_cover.h"
#include "tc/lower/op/op_info.h"

namespace tc::lower::cuda {

class FragmentPanel {
public:
  struct Source {
    const tile::Op& op;
    const OpInfo& info;
    const Ranges& outer;
    kernel::ExprPtr value;  ///< a load
    std::vector<int> kept;  ///< its rows or columns, outermost first
    int reduction;
    std::vector<FragmentCover::Along> along;  ///< per kept dim
    std::int64_t depth;
    kernel::Var block;  ///< begin of the panel along the reduction
    std::int64_t threads;
    std::string name;
  };
  explicit FragmentPanel(Source source);

  std::int64_t stage_bytes() const;
  /// The elements can be copied in aligned pieces of 4 bytes and more.
  bool can_be_async() const { return lanes_ >= 2; }
  /// Lines of all banks for what instructions of warp groups read, if the panel has whole ones.
  void swizzle();
  void allocate(std::int64_t stages, Names& names);
  const kernel::BufferPtr& buffer() const { return buffer_; }
  /// Elements of the last kept dim between operands `along_kept` apart.
  std::int64_t lines_of_core() const { return k_inner_ ? kernel::kMmaLine : line_; }

  /// Copies the block of the reduction that begins here, under a condition if there is one.
  enum class Waiting { Yes, No };
  tile::Op fill(const kernel::ExprPtr& block, const kernel::ExprPtr& stage,
                const kernel::ExprPtr& condition, Waiting waiting, Names& names) const;
  /// Where a warp group finds it: at the place of the outer dims, `unit` points per group along the
  /// last.
  kernel::MmaPanel operand(const kernel::ExprPtr& stage, const std::vector<std::int64_t>& place,
                           const kernel::ExprPtr& group, std::int64_t unit) const;

private:
  tile::Op copy(const kernel::ExprPtr& block) const;
  int widest() const;
  std::vector<int> dims() const;
  std::int64_t reach(int dim) const;
  kernel::ExprPtr begin(int dim, const kernel::ExprPtr& block) const;
  kernel::ExprPtr guard() const;
  Ranges ranges() const;
  std::int64_t padding() const;
  int line_dim() const { return k_inner_ ? source_.reduction : source_.kept.back(); }
  std::int64_t lines() const;  ///< elements of all kept dims

  Source source_;
  bool k_inner_ = true;
  int lanes_ = 1;
  std::int64_t line_ = kernel::kMmaLine;  ///< elements
  kernel::BufferPtr buffer_;
};

}  // namespace tc::lower::cuda
