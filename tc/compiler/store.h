// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tc::compiler {

/// One compiled program as the cache keeps it.
struct StoredKernel {
  std::string launch_table;  ///< text of the target's launch table
  std::string object;        ///< machine code, sealed
  std::string description;   ///< for people: def, sizes, target
  bool operator==(const StoredKernel&) const = default;
};

struct StoreEntry {
  std::string key;
  std::string description;
  std::int64_t bytes = 0;
  std::string created;  ///< UTC, ISO 8601
};

/// Where compiled programs are kept between processes. No operation reports an error to the user of
/// the compiler: what cannot be read is a miss, what cannot be written is not kept; verify()
/// and problem() tell. Thread-safe.
class KernelStore {
public:
  virtual ~KernelStore() = default;
  virtual std::optional<StoredKernel> find(const std::string& key) = 0;
  virtual void put(const std::string& key, const StoredKernel& kernel) = 0;
  virtual std::vector<StoreEntry> list() = 0;
  virtual std::int64_t remove(const std::vector<std::string>& keys) = 0;
  virtual std::int64_t clear() = 0;
  /// Drops the least recently used entries until the payload fits; returns how many.
  virtual std::int64_t prune(std::int64_t max_bytes) = 0;
  /// Reads every entry; lines that describe what is damaged, empty if nothing is.
  virtual std::vector<std::string> verify() = 0;
  virtual std::filesystem::path path() const = 0;
  /// Why nothing can be kept; empty: it can.
  virtual std::string problem() = 0;
};

/// SQLite in WAL mode, one file. Safe with many processes and after kill -9; a file that is no
/// database of this version is set aside as
/// "<name>.damaged-<n>" and replaced, or ignored when the directory cannot be written.
std::unique_ptr<KernelStore> open_sqlite_store(const std::filesystem::path& directory,
                                               std::int64_t max_bytes);

/// Name for SQLite of a file whose folder cannot be written: such a folder cannot hold the
/// shared-memory file that readers of a WAL need.
std::string immutable_uri(const std::filesystem::path& file);

}  // namespace tc::compiler
