// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tc/compiler/store.h"
#include "tc/tc.h"

namespace tc {

/// Two levels: executors of this process by the exact request, and machine code on disk by the
/// meaning of the request.
class CompileCache {
public:
  explicit CompileCache(std::unique_ptr<compiler::KernelStore> store) : store_(std::move(store)) {}

  /// Key of a request as it was written: text, def, metadata, options, target. Look-up needs no
  /// parsing.
  static std::string request_key(std::string_view text, std::string_view def,
                                 const Metadata& metadata, const MappingOptions& options,
                                 const Target& target);

  std::shared_ptr<const Executor::Impl> find(const std::string& request_key);
  void put(const std::string& request_key, std::shared_ptr<const Executor::Impl> executor);

  compiler::KernelStore* store() { return store_.get(); }

private:
  /// Executors kept; beyond it the least recently used one goes. Each holds some pages of code.
  static constexpr std::size_t kMaxExecutors = 4096;

  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const Executor::Impl>>>
      recent_;  ///< most recent first
  std::unordered_map<std::string_view, decltype(recent_)::iterator>
      by_key_;  ///< views into recent_
  std::unique_ptr<compiler::KernelStore> store_;
};

}  // namespace tc
