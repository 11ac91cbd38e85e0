// SPDX-License-Identifier: Apache-2.0
#include "tc/tuner/crew.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "tc/tc.h"
#include "tc/tuner/devices.h"

namespace tc::tuner {

namespace {

/// One thread a core, each on its own.
std::vector<std::pair<std::string, std::string>> pinned(const std::vector<int>& cores) {
  std::string places;
  for (const int core : cores)
    places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", core);
  return {{"OMP_NUM_THREADS", std::to_string(cores.size())},
          {"OMP_PLACES", places},
          {"OMP_PROC_BIND", "true"},
          {"OMP_DYNAMIC", "false"}};
}

bool any_busy(const std::vector<Lane>& lanes) {
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) { return !lane.is_idle(); });
}

}  // namespace

std::vector<Lane*> Crew::all() {
  std::vector<Lane*> lanes;
  for (std::vector<Lane>* some : {&compiling, &measuring}) {
    for (Lane& lane : *some)
      lanes.push_back(&lane);
  }
  return lanes;
}

bool Crew::is_compiling() const {
  return any_busy(compiling);
}
bool Crew::is_measuring() const {
  return any_busy(measuring);
}
void Crew::stop() {
  for (Lane* lane : all())
    lane->stop();
}

Crew make_crew(const WorkerProgram& program, const WorkerSetup& setup, int jobs,
               const std::vector<int>& devices) {
  Crew crew;
  crew.is_exclusive = setup.target.kind == TargetKind::Cpu;
  for (int job = 0; job < jobs; ++job)
    crew.compiling.emplace_back(program, setup);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    WorkerProgram measuring = program;
    WorkerSetup there = setup;
    there.device = devices[d];
    if (crew.is_exclusive)
      measuring.variables = pinned(cores_of(usable_cores(), d, devices.size()));
    crew.measuring.emplace_back(std::move(measuring), std::move(there));
  }
  return crew;
}

std::filesystem::path default_worker() {
  std::error_code error;
  // The link is this very program, also when another one takes its file's place in the meantime.
  constexpr const char* kSelf = "/proc/self/exe";
  const std::filesystem::path self = std::filesystem::read_symlink(kSelf, error);
  if (self.filename() == "tensorc") return kSelf;
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&default_worker), &info) != 0) {
    const std::filesystem::path beside =
        std::filesystem::path(info.dli_fname).parent_path() / ".." / "bin" / "tensorc";
    if (access(beside.c_str(), X_OK) == 0) return std::filesystem::canonical(beside, error);
  }
  return {};
}

}  // namespace tc::tuner
