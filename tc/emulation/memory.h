// SPDX-License-Identifier: Apache-2.0
//
// The memory that emulated kernels may touch: buffers of global memory, each a copy in an
// allocation of its own between guard zones, and the shared memory of one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tc/emulation/shadow.h"

namespace tc::emulation {

enum class Access {
  ReadOnly,   ///< defined, must not be written
  ReadWrite,  ///< defined
  Undefined,  ///< an output or scratch: undefined until a kernel writes it
};

struct FreeBytes {
  void operator()(std::byte* p) const;
};

/// One buffer of global memory.
class GlobalBuffer {
public:
  /// The address of byte `origin`, where element (0, ..., 0) lies, is a multiple of `alignment` (a
  /// power of two) and of nothing larger, so that an access that needs more is found.
  GlobalBuffer(std::string name, std::size_t bytes, std::size_t alignment, Access access,
               std::size_t origin);

  const std::string& name() const { return name_; }
  std::byte* data() const { return data_; }
  std::byte* origin() const { return data_ + origin_; }
  std::size_t bytes() const { return bytes_; }
  /// None for a buffer that nothing ever writes.
  std::optional<Shadow>& shadow() { return shadow_; }

  enum class Use { None, Read, Write };
  /// What the kernel being launched may do with the buffer.
  void set_use(Use use) { use_ = use; }
  Use use() const { return use_; }

  /// Address of the first damaged byte of the guard zones, if any.
  const std::byte* damaged() const;

private:
  std::string name_;
  std::size_t bytes_;
  std::size_t origin_;
  Use use_ = Use::None;
  std::unique_ptr<std::byte, FreeBytes> block_;
  std::byte* data_;
  std::size_t block_bytes_;
  std::optional<Shadow> shadow_;
};

/// Where an address lies relative to the buffers.
struct Place {
  GlobalBuffer* buffer = nullptr;  ///< the one that holds it, else the nearest, else null
  bool inside = false;
  std::int64_t offset = 0;  ///< bytes from the first byte of `buffer`; negative before it
};

class GlobalMemory {
public:
  GlobalBuffer& add(std::string name, std::size_t bytes, std::size_t alignment, Access access,
                    std::size_t origin = 0);
  Place find(const void* address);
  const std::vector<std::unique_ptr<GlobalBuffer>>& buffers() const { return buffers_; }

private:
  std::vector<std::unique_ptr<GlobalBuffer>> buffers_;  ///< by address
  GlobalBuffer* last_ = nullptr;
};

/// Shared memory of one block at a time. Each range that a kernel names lies in an allocation of
/// its own between guard zones, so that running over its end does not silently reach the next one.
class SharedMemory {
public:
  class Range {
  public:
    Range(std::size_t offset, std::size_t bytes, const char* name);
    const char* name() const { return name_; }
    std::size_t offset() const { return offset_; }
    std::size_t bytes() const { return bytes_; }
    std::byte* data() const { return data_; }
    Shadow& shadow() { return shadow_; }
    bool contains(const void* address) const {
      return std::less_equal<>()(static_cast<const void*>(data_), address) &&
             std::less<>()(address, static_cast<const void*>(data_ + bytes_));
    }
    /// In the range or in its guard zones.
    bool near(const void* address) const;

  private:
    std::size_t offset_, bytes_;
    const char* name_;
    std::vector<std::byte> block_;
    std::byte* data_;
    Shadow shadow_;
  };

  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {}

  /// All bytes become undefined: a pattern that is NaN in every floating-point type.
  void start_block();
  std::size_t bytes() const { return bytes_; }

  /// The address of byte `offset`, of which `bytes` bytes are called by `name`; null if they lie
  /// partly inside an earlier range and partly outside.
  std::byte* name_range(std::size_t offset, std::size_t bytes, const char* name);
  /// The range that holds the address, or null.
  Range* find(const void* address);
  /// The range whose guard zones hold the address, or null.
  Range* find_near(const void* address);

private:
  std::size_t bytes_;
  std::vector<std::unique_ptr<Range>> ranges_;
  Range* last_ = nullptr;
};

}  // namespace tc::emulation
