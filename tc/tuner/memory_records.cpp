// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include "tc/compiler/compile_cache.h"
#include "tc/tuner/record.h"

namespace tc::tuner {

namespace {

bool same_place(const Record& a, const Record& b) {
  return is_same_call(a.identity, b.identity) && a.options == b.options;
}

class MemoryRecords final : public RecordStore {
public:
  using RecordStore::put;
  bool put(const Record& record, std::chrono::milliseconds /*patience*/) override {
    std::lock_guard lock(mutex_);
    std::erase_if(records_, [&](const Record& old) { return same_place(old, record); });
    records_.push_back(record);
    return true;
  }
  std::vector<Record> find(const std::string& program, TargetKind kind) override {
    std::lock_guard lock(mutex_);
    std::vector<Record> result;
    for (const Record& record : records_) {
      if (record.identity.program == program && record.identity.kind == kind)
        result.push_back(record);
    }
    return result;
  }
  std::vector<Record> list() override {
    std::lock_guard lock(mutex_);
    return records_;
  }
  std::int64_t clear() override {
    std::lock_guard lock(mutex_);
    const auto count = static_cast<std::int64_t>(records_.size());
    records_.clear();
    return count;
  }

private:
  std::mutex mutex_;
  std::vector<Record> records_;
};

}  // namespace

std::unique_ptr<RecordStore> open_memory_records() {
  return std::make_unique<MemoryRecords>();
}

std::unique_ptr<RecordStore> open_records(const CompileContext& context) {
  compiler::KernelStore* kernels = context.cache ? context.cache->store() : nullptr;
  return kernels == nullptr ? open_memory_records() : open_sqlite_records(kernels->path());
}

}  // namespace tc::tuner
