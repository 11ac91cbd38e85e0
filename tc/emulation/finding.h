// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tc::emulation {

enum class FindingKind {
  DivergentBarrier,   ///< threads wait at a barrier that others do not reach, or at different ones
  DivergentExchange,  ///< the same for a shuffle or another exchange inside a warp
  UninitialisedRead,  ///< a byte that nothing has written
  WriteWriteRace,     ///< two threads of a block, no barrier in between
  ReadWriteRace,      ///< the same, one of them reads
  BlockConflict,      ///< two blocks of one launch access the same byte, at least one writes
  CopyInFlight,       ///< access to the target of an asynchronous copy that nobody has waited for
  Unpublished,        ///< a product of a warp group reads what its writer did not publish before
                      ///< the barrier
  ProductInFlight,    ///< write to what a product reads that nobody has waited for
  MissingFence,       ///< a product without a fence behind other uses of its registers
  OutOfBounds,        ///< outside every buffer, or reaching beyond the end of one
  ReadOnlyWritten,    ///< write to a buffer that the kernel may only read
  Misaligned,         ///< an access whose address is no multiple of its size
  GuardDamaged,       ///< bytes around a buffer changed by an access that was not announced
  BadLaunch,          ///< launch parameters that no device accepts
};
const char* to_string(FindingKind kind);

/// A defect of a kernel, found while emulating it.
struct Finding {
  FindingKind kind = FindingKind::BadLaunch;
  std::string kernel;
  std::array<int, 3> block{};
  std::vector<int> threads;  ///< whose access or wait it is, then the others that took part
  std::optional<std::array<int, 3>> other_block;  ///< BlockConflict: the earlier one
  std::string buffer;                             ///< empty when no memory takes part
  std::int64_t offset = 0;  ///< bytes from the first byte of `buffer`, of the byte in question
  int line = 0;             ///< of the kernel text, 0 if unknown
  std::string message;      ///< what happened, with all the above

  /// "kernel 'k', block (0, 0, 0), line 12: ... [write-write race]"
  std::string to_string() const;
};

}  // namespace tc::emulation
