// SPDX-License-Identifier: Apache-2.0
#include "tc/compiler/compile_cache.h"

#include <cstring>
#include <type_traits>

namespace tc {

namespace {

/// Appends plain values and length-prefixed strings, so that two different requests never give the
/// same bytes.
class KeyWriter {
public:
  void text(std::string_view value) {
    number(value.size());
    bytes_.append(value);
  }
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes_.append(raw, sizeof(T));
  }
  void numbers(const std::vector<std::int64_t>& values) {
    number(values.size());
    for (std::int64_t value : values)
      number(value);
  }
  void meta(const TensorMeta& meta) {
    number(meta.type);
    numbers(meta.sizes);
    numbers(meta.strides);
    number(meta.alignment);
  }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

}  // namespace

std::string CompileCache::request_key(std::string_view text, std::string_view def,
                                      const Metadata& metadata, const MappingOptions& options,
                                      const Target& target) {
  KeyWriter key;
  key.text(text);
  key.text(def);
  key.number(metadata.inputs.size());
  for (const TensorMeta& meta : metadata.inputs)
    key.meta(meta);
  key.number(metadata.outputs.size());
  for (const auto& meta : metadata.outputs) {
    key.number(meta.has_value());
    if (meta) key.meta(*meta);
  }
  for (const auto& [name, value] : metadata.consts) {
    key.text(name);
    key.number(value.integer);
    key.number(value.real);
  }
  key.number('|');
  for (const auto& [name, value] : metadata.sizes) {
    key.text(name);
    key.number(value);
  }
  for_each_field([&](const auto& field) {
    using Member = std::decay_t<decltype(options.*field.member)>;
    if constexpr (std::is_same_v<Member, std::vector<std::int64_t>>) {
      key.numbers(options.*field.member);
    } else {
      key.number(options.*field.member);
    }
  });
  key.text(target.arch);
  key.text(target.features);
  for (std::int64_t fact :
       {static_cast<std::int64_t>(target.kind), static_cast<std::int64_t>(target.vector_bits),
        static_cast<std::int64_t>(target.vector_registers), static_cast<std::int64_t>(target.cores),
        target.l1_bytes, target.l2_bytes, target.l3_bytes, target.shared_bytes, target.max_threads,
        metadata.output_alignment}) {
    key.number(fact);
  }
  return key.take();
}

std::shared_ptr<const Executor::Impl> CompileCache::find(const std::string& request_key) {
  std::lock_guard lock(mutex_);
  auto found = by_key_.find(request_key);
  if (found == by_key_.end()) return nullptr;
  recent_.splice(recent_.begin(), recent_, found->second);
  return found->second->second;
}

void CompileCache::put(const std::string& request_key,
                       std::shared_ptr<const Executor::Impl> executor) {
  std::lock_guard lock(mutex_);
  auto found = by_key_.find(request_key);
  if (found != by_key_.end()) {
    found->second->second = std::move(executor);
    return;
  }
  recent_.emplace_front(request_key, std::move(executor));
  by_key_.emplace(recent_.front().first, recent_.begin());
  if (recent_.size() > kMaxExecutors) {
    by_key_.erase(recent_.back().first);
    recent_.pop_back();
  }
}

std::shared_ptr<CompileCache> open_cache(const std::filesystem::path& directory,
                                         std::int64_t max_bytes) {
  return std::make_shared<CompileCache>(
      directory.empty() ? nullptr : compiler::open_sqlite_store(directory, max_bytes));
}

std::string cache_problem(CompileCache& cache) {
  return cache.store() == nullptr ? std::string() : cache.store()->problem();
}

}  // namespace tc
