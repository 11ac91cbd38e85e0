// SPDX-License-Identifier: Apache-2.0
//
// Control of the fake driver: what it pretends to be, where it fails, what was called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake {

struct Device {
  std::string name = "Fake H200";
  std::size_t memory = std::size_t{1} << 30;
  std::map<int, int> attributes;  ///< CUdevice_attribute -> value; see hopper()
};
/// A device with the facts of an H200.
Device hopper();

struct Function {
  int static_shared = 0;
  int max_threads = 1024;
  int active_blocks = 2;  ///< a multiprocessor
};

struct Launch {
  std::string kernel;
  int device = -1;
  std::array<unsigned, 3> grid{}, block{};
  unsigned dynamic_shared = 0;
  void* stream = nullptr;
  bool cooperative = false;
  std::array<unsigned, 3> cluster{};  ///< 0: no such attribute
  std::vector<std::uint64_t> parameters;
};

/// Memory that somebody else made: addresses from `begin` on, before `end`.
struct Memory {
  std::uintptr_t begin = 0, end = 0;
  int device = 0;
  unsigned type = 2;  ///< CUmemorytype; 0: the driver knows the range, but as none of its own
  bool is_managed = false;
};

struct Settings {
  int version = 13000;
  int version_result = 0;
  std::vector<Device> devices{hopper(), hopper()};
  std::vector<std::string> lacking{};           ///< entry points that it has not
  std::map<std::string, Function> functions{};  ///< facts other than the default
  float replay_ms = 1.0F;                       ///< between any two events
  std::size_t free_bytes = 4096;                ///< what it says is free
  bool has_every_kernel = false;                ///< else those whose names the image lists
  bool owns_its_blocks = false;                 ///< cuMemAlloc's blocks count as device memory
  std::vector<Memory> memory{};                 ///< beside what cuMemAlloc gives
};

/// Forgets everything and pretends to be `settings`.
void reset(const Settings& settings = {});
/// The calls of `entry` number `after`, `after` + 1, ... (`times` of them; -1: all) return `code`.
void fail(const std::string& entry, int code, int after = 0, int times = -1);
/// Every call returns `code`, as at the end of a process.
void fail_all(int code);

/// Entry points called since reset(), in order; those that only tell errors apart are left out.
std::vector<std::string> calls();
int count(const std::string& entry);
std::vector<Launch> launches();
/// Value of a function's attribute as set; -1: never set.
int attribute(const std::string& kernel, int attribute);
/// Calls that broke the driver's rules: wrong context, forbidden while a stream is captured.
std::vector<std::string> violations();
/// Modules and contexts held, streams, events, graphs, blocks of memory alive.
int alive(const std::string& kind);
/// Bytes of a block of cuMemAlloc; 0: it is none, or given back.
std::size_t block_bytes(const void* address);
/// The thread's current context as a device; -1: none.
int current_device();
/// Makes a device's context current, as a framework would have done.
void set_current_device(int device);

}  // namespace fake
