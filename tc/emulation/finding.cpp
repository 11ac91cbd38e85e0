// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/finding.h"

#include <fmt/format.h>

namespace tc::emulation {

const char* to_string(FindingKind kind) {
  switch (kind) {
  case FindingKind::DivergentBarrier: return "divergent barrier";
  case FindingKind::DivergentExchange: return "divergent exchange";
  case FindingKind::UninitialisedRead: return "uninitialised read";
  case FindingKind::WriteWriteRace: return "write-write race";
  case FindingKind::ReadWriteRace: return "read-write race";
  case FindingKind::BlockConflict: return "conflict between blocks";
  case FindingKind::CopyInFlight: return "copy in flight";
  case FindingKind::Unpublished: return "unpublished panel";
  case FindingKind::ProductInFlight: return "product in flight";
  case FindingKind::MissingFence: return "missing fence";
  case FindingKind::OutOfBounds: return "out of bounds";
  case FindingKind::ReadOnlyWritten: return "write to read-only buffer";
  case FindingKind::Misaligned: return "misaligned access";
  case FindingKind::GuardDamaged: return "guard zone damaged";
  case FindingKind::BadLaunch: return "bad launch";
  }
  return "";
}

std::string Finding::to_string() const {
  const std::string where = line > 0 ? fmt::format(", line {}", line) : std::string();
  return fmt::format("kernel '{}', block ({}, {}, {}){}: {} [{}]", kernel, block[0], block[1],
                     block[2], where, message, emulation::to_string(kind));
}

}  // namespace tc::emulation
