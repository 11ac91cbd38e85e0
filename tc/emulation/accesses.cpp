// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/accesses.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tc/support/check.h"

namespace tc::emulation {
namespace {

const char* verb(AccessKind kind) {
  switch (kind) {
  case AccessKind::Read: return "reads";
  case AccessKind::Write: return "writes";
  case AccessKind::Atomic: return "updates";
  case AccessKind::PartialWrite: return "writes part of";
  }
  return "";
}

FindingKind kind_of(Conflict conflict) {
  switch (conflict) {
  case Conflict::Uninitialised: return FindingKind::UninitialisedRead;
  case Conflict::InFlight: return FindingKind::CopyInFlight;
  case Conflict::Unpublished: return FindingKind::Unpublished;
  case Conflict::Overwritten: return FindingKind::ProductInFlight;
  case Conflict::WriteWrite: return FindingKind::WriteWriteRace;
  case Conflict::ReadAfterWrite:
  case Conflict::WriteAfterRead: return FindingKind::ReadWriteRace;
  case Conflict::BlockWrote:
  case Conflict::BlockRead: return FindingKind::BlockConflict;
  case Conflict::None: break;
  }
  unreachable("no finding without a conflict");
}

}  // namespace

void Accesses::start_launch(std::size_t shared_bytes) {
  shared_ = std::make_unique<SharedMemory>(shared_bytes);
  block_starts_.clear();
}

void Accesses::start_block() {
  shared_->start_block();
  copies_.resize(static_cast<std::size_t>(state_.threads));
  const auto& block = state_.position.block;
  block_starts_.push_back({state_.time.block_start, {block[0], block[1], block[2]}});
}

void Accesses::end_block() {
  const auto drop = [](const std::vector<Copy>& list) {
    for (const auto& copy : list)
      copy.range->shadow().drop_copy(copy.offset, copy.bytes);
  };
  for (auto& copies : copies_) {
    drop(copies.open);
    for (const auto& group : copies.groups)
      drop(group);
    copies.open.clear();
    copies.groups.clear();
  }
}

std::array<int, 3> Accesses::block_at(Clock clock) const {
  const auto after =
      std::upper_bound(block_starts_.begin(), block_starts_.end(), clock,
                       [](Clock c, const BlockStart& start) { return c < start.clock; });
  check(after != block_starts_.begin(), "an access of the launch belongs to one of its blocks");
  return std::prev(after)->block;
}

void Accesses::stop(FindingKind kind, std::string buffer, std::int64_t offset, int line,
                    const std::string& what) {
  Finding finding;
  finding.kind = kind;
  finding.threads = {state_.position.thread};
  finding.buffer = std::move(buffer);
  finding.offset = offset;
  finding.line = line;
  finding.message = fmt::format("thread {} {}", state_.position.thread, what);
  state_.stop(std::move(finding));
}

void Accesses::stop(const ConflictSite& site, AccessKind kind, std::size_t bytes,
                    const std::string& space, const std::string& buffer, std::int64_t offset,
                    int line) {
  Finding finding;
  finding.kind = kind_of(site.conflict);
  finding.threads = {state_.position.thread};
  if (site.thread >= 0) finding.threads.push_back(site.thread);
  finding.buffer = buffer;
  finding.offset = offset;
  finding.line = line;
  std::string other = fmt::format("thread {}", site.thread);
  if (site.conflict == Conflict::BlockWrote || site.conflict == Conflict::BlockRead) {
    finding.other_block = block_at(site.clock);
    const auto& block = *finding.other_block;
    other = fmt::format("block ({}, {}, {})", block[0], block[1], block[2]);
  }
  std::string why;
  switch (site.conflict) {
  case Conflict::None: break;
  case Conflict::Uninitialised: why = "nothing has written it"; break;
  case Conflict::InFlight:
    why = fmt::format("{} has not waited for its asynchronous copy to it", other);
    break;
  case Conflict::Unpublished:
    why = fmt::format("{} wrote it and did not publish it before a barrier", other);
    break;
  case Conflict::Overwritten:
    why = fmt::format("{} has written it since the product began", other);
    break;
  case Conflict::WriteWrite:
  case Conflict::ReadAfterWrite:
    why = fmt::format("{} wrote it and no barrier lies in between", other);
    break;
  case Conflict::WriteAfterRead:
    why = fmt::format("{} read it and no barrier lies in between", other);
    break;
  case Conflict::BlockWrote: why = fmt::format("{} of the same launch writes it", other); break;
  case Conflict::BlockRead: why = fmt::format("{} of the same launch reads it", other); break;
  }
  finding.message =
      fmt::format("thread {} {} {} bytes, byte {} of {} '{}' among them: {}",
                  state_.position.thread, verb(kind), bytes, offset, space, buffer, why);
  state_.stop(std::move(finding));
}

void Accesses::outside_shared(AccessKind kind, const SharedMemory::Range& range,
                              const void* address, std::size_t bytes, int line) {
  const auto offset = static_cast<const std::byte*>(address) - range.data();
  stop(FindingKind::OutOfBounds, range.name(), offset, line,
       fmt::format("{} {} bytes at byte {} of shared '{}', which has {} bytes", verb(kind), bytes,
                   offset, range.name(), range.bytes()));
}

void Accesses::outside(AccessKind kind, const void* address, std::size_t bytes, const Place& place,
                       int line) {
  if (const auto* range = shared_->find_near(address))
    outside_shared(kind, *range, address, bytes, line);
  if (place.buffer == nullptr)
    stop(FindingKind::OutOfBounds, "", 0, line,
         fmt::format("{} {} bytes at an address of no buffer", verb(kind), bytes));
  const std::string& name = place.buffer->name();
  stop(FindingKind::OutOfBounds, name, place.offset, line,
       fmt::format("{} {} bytes at byte {} of '{}', which has {} bytes", verb(kind), bytes,
                   place.offset, name, place.buffer->bytes()));
}

void Accesses::access(AccessKind kind, const void* address, std::size_t bytes, int line) {
  if (auto* range = shared_->find(address))
    access_shared(kind, *range, address, bytes, line);
  else
    access_global(kind, address, bytes, line);
}

namespace {

/// Bytes. An atomic access to fewer goes by the aligned 4 bytes around it (atomic.cuh): those of
/// shared memory must be there. In global memory they are, whatever the tensor's size, since
/// devices map memory in pages; what they hold stays, and may be accessed at the same time.
constexpr std::size_t kNarrowestExchange = 2;

bool misaligned(const void* address, std::size_t bytes) {
  const bool one_instruction = bytes <= 16 && (bytes & (bytes - 1)) == 0 && bytes > 0;
  return one_instruction && reinterpret_cast<std::uintptr_t>(address) % bytes != 0;
}

}  // namespace

void Accesses::access_shared(AccessKind kind, SharedMemory::Range& range, const void* address,
                             std::size_t bytes, int line) {
  const auto offset = static_cast<const std::byte*>(address) - range.data();
  if (static_cast<std::size_t>(offset) + bytes > range.bytes())
    outside_shared(kind, range, address, bytes, line);
  if (misaligned(address, bytes))
    stop(FindingKind::Misaligned, range.name(), offset, line,
         fmt::format("{} {} bytes at byte {} of shared '{}', whose address is no multiple of {}",
                     verb(kind), bytes, offset, range.name(), bytes));
  const std::size_t in_block = range.offset() + static_cast<std::size_t>(offset);
  if (is_atomic(kind) && bytes < kNarrowestExchange && (in_block | 3) >= shared_->bytes())
    stop(
        FindingKind::OutOfBounds, range.name(), offset, line,
        fmt::format("{} {} bytes at byte {} of shared '{}' by exchanging the word around it, which "
                    "ends past the {} bytes of the launch",
                    verb(kind), bytes, offset, range.name(), shared_->bytes()));
  const ConflictSite site = range.shadow().access(kind, static_cast<std::size_t>(offset), bytes,
                                                  state_.position.thread, state_.time);
  if (site.conflict != Conflict::None)
    stop(site, kind, bytes, "shared", range.name(), static_cast<std::int64_t>(site.offset), line);
}

void Accesses::read_panel(const void* address, std::size_t bytes, Clock since, int line) {
  auto* range = shared_->find(address);
  if (range == nullptr) outside(AccessKind::Read, address, bytes, global_.find(address), line);
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(address) - range->data());
  if (offset + bytes > range->bytes())
    outside_shared(AccessKind::Read, *range, address, bytes, line);
  const ConflictSite site =
      range->shadow().read_panel(offset, bytes, state_.position.thread, since, state_.time);
  if (site.conflict != Conflict::None)
    stop(site, AccessKind::Read, bytes, "shared", range->name(),
         static_cast<std::int64_t>(site.offset), line);
}

void Accesses::access_global(AccessKind kind, const void* address, std::size_t bytes, int line) {
  const Place place = global_.find(address);
  if (!place.inside) {
    if (state_.fibers.on_current_stack(address)) return;
    outside(kind, address, bytes, place, line);
  }
  GlobalBuffer& buffer = *place.buffer;
  const auto offset = static_cast<std::size_t>(place.offset);
  if (buffer.use() == GlobalBuffer::Use::None)
    stop(FindingKind::OutOfBounds, buffer.name(), place.offset, line,
         fmt::format("{} {} bytes at byte {} of '{}', which is no argument of this launch",
                     verb(kind), bytes, offset, buffer.name()));
  if (offset + bytes > buffer.bytes()) outside(kind, address, bytes, place, line);
  if (misaligned(address, bytes))
    stop(FindingKind::Misaligned, buffer.name(), place.offset, line,
         fmt::format("{} {} bytes at byte {} of '{}', whose address is no multiple of {}",
                     verb(kind), bytes, offset, buffer.name(), bytes));
  if (kind != AccessKind::Read && buffer.use() != GlobalBuffer::Use::Write)
    stop(FindingKind::ReadOnlyWritten, buffer.name(), place.offset, line,
         fmt::format("{} {} bytes at byte {} of '{}', which the kernel may only read", verb(kind),
                     bytes, offset, buffer.name()));
  if (!buffer.shadow().has_value()) return;
  const ConflictSite site =
      buffer.shadow()->access(kind, offset, bytes, state_.position.thread, state_.time);
  if (site.conflict != Conflict::None)
    stop(site, kind, bytes, "global", buffer.name(), static_cast<std::int64_t>(site.offset), line);
}

void* Accesses::shared_memory(std::size_t offset, std::size_t bytes, const char* name) {
  if (offset + bytes > shared_->bytes())
    stop(FindingKind::OutOfBounds, name, 0, 0,
         fmt::format("asks for bytes {} to {} of shared memory for '{}'; the launch gives {} bytes",
                     offset, offset + bytes, name, shared_->bytes()));
  std::byte* data = shared_->name_range(offset, bytes, name);
  if (data == nullptr)
    stop(FindingKind::OutOfBounds, name, 0, 0,
         fmt::format("asks for bytes {} to {} of shared memory for '{}', which lie partly in a "
                     "range that has another name",
                     offset, offset + bytes, name));
  return data;
}

void Accesses::copy_async(void* shared, const void* global, std::size_t bytes,
                          std::size_t source_bytes, int line) {
  const bool possible = (bytes == 4 || bytes == 8 || bytes == 16) && source_bytes <= bytes;
  if (!possible || misaligned(shared, bytes) || (source_bytes > 0 && misaligned(global, bytes)))
    stop(
        FindingKind::Misaligned, "", 0, line,
        fmt::format("copies {} of {} bytes asynchronously; both addresses must be multiples of the "
                    "size, which is 4, 8 or 16",
                    source_bytes, bytes));
  auto* range = shared_->find(shared);
  if (range == nullptr) outside(AccessKind::Write, shared, bytes, global_.find(shared), line);
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(shared) - range->data());
  if (offset + bytes > range->bytes())
    outside_shared(AccessKind::Write, *range, shared, bytes, line);
  // An address that nothing is read from may be any.
  if (source_bytes > 0) {
    if (const auto* source = shared_->find(global))
      stop(FindingKind::OutOfBounds, source->name(), 0, line,
           "copies asynchronously from shared memory");
    access_global(AccessKind::Read, global, source_bytes, line);
  }
  const int thread = state_.position.thread;
  const ConflictSite site = range->shadow().start_copy(offset, bytes, thread, state_.time);
  if (site.conflict != Conflict::None)
    stop(site, AccessKind::Write, bytes, "shared", range->name(),
         static_cast<std::int64_t>(site.offset), line);
  copies_[static_cast<std::size_t>(thread)].open.push_back(
      {range, offset, bytes, global, source_bytes});
}

void Accesses::copy_commit() {
  auto& copies = copies_[static_cast<std::size_t>(state_.position.thread)];
  copies.groups.push_back(std::move(copies.open));
  copies.open.clear();
}

/// The source is read as late as possible, so that it has to stay unchanged until the wait.
void Accesses::finish(const std::vector<Copy>& copies, int line) {
  for (const auto& copy : copies) {
    if (copy.source_bytes > 0)
      access_global(AccessKind::Read, copy.source, copy.source_bytes, line);
    std::byte* target = copy.range->data() + copy.offset;
    std::memset(target, 0, copy.bytes);
    std::memcpy(target, copy.source, copy.source_bytes);
    copy.range->shadow().finish_copy(copy.offset, copy.bytes, state_.position.thread, state_.time);
  }
}

void Accesses::copy_wait(int groups, int line) {
  auto& copies = copies_[static_cast<std::size_t>(state_.position.thread)];
  while (static_cast<int>(copies.groups.size()) > std::max(groups, 0)) {
    finish(copies.groups.front(), line);
    copies.groups.pop_front();
  }
}

void Accesses::copy_wait_all(int line) {
  auto& copies = copies_[static_cast<std::size_t>(state_.position.thread)];
  copy_wait(0, line);
  finish(copies.open, line);
  copies.open.clear();
}

}  // namespace tc::emulation
