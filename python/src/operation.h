// SPDX-License-Identifier: Apache-2.0
//
// A def with options, called with tensors: finds the kernel for their metadata, compiles it on
// first use, runs it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "entry.h"
#include "session.h"

namespace tc::python {

class Operation {
public:
  /// `options`: "default", "naive" or JSON. `hooks`: see tensor_comprehensions._operator.Hooks.
  Operation(std::shared_ptr<const Session> session, std::shared_ptr<const Interface> interface,
            std::string options, nanobind::object hooks);

  /// A call with Python's arguments. With `plain`, tensors are expected to hold memory; else calls
  /// with others go to the hook `dispatch`.
  nanobind::object call(nanobind::handle args, nanobind::handle kwargs, bool plain);
  /// The kernel that a call with these arguments would run.
  std::shared_ptr<Entry> compile(nanobind::handle args, nanobind::handle kwargs);
  /// Types and shapes of the outputs for metadata: a list of (type, shape) per tensor parameter.
  nanobind::list infer(nanobind::list inputs, nanobind::dict values) const;

  /// Registers a call for programs of XLA; see xla_call.h.
  std::int64_t register_xla(nanobind::list inputs, nanobind::dict values, std::string cpu_options,
                            std::string cuda_options) const;

  /// Searches for the options of a call; see tensor_comprehensions._tuning. The report, and what
  /// `progress` is called with, is the JSON of tc/tune.h.
  std::string tune(nanobind::handle args, nanobind::handle kwargs, const nanobind::dict& settings,
                   nanobind::object progress) const;
  /// (options, source, note, expected loss or None) that records give a call.
  nanobind::tuple tuned(nanobind::handle args, nanobind::handle kwargs) const;
  /// What tells a call from others in a file of options: inputs, values, target.
  nanobind::dict call_key(nanobind::handle args, nanobind::handle kwargs) const;

private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::uint64_t> words) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) const {
      return are_equal(a, b);
    }
  };

  /// Row-major metadata from (type, shape) per tensor parameter and values of consts and sizes.
  Metadata described(nanobind::list inputs, nanobind::dict values) const;
  nanobind::object dispatch(nanobind::handle args, nanobind::handle kwargs) const;
  /// The kernel of an earlier call with this signature; null: there was none.
  std::shared_ptr<Entry> known(const Call& call);
  std::shared_ptr<Entry> find(Call& call);
  std::shared_ptr<Entry> make_entry(Call& call) const;
  /// Where the tensors of a call lie, as find_target() names it.
  std::string target_name(const Call& call) const;

  std::shared_ptr<const Session> session_;
  std::shared_ptr<const Interface> interface_;
  std::string options_;
  nanobind::object hooks_;
  std::unordered_map<std::vector<std::uint64_t>, std::shared_ptr<Entry>, Hash, Equal> entries_;
  std::shared_ptr<Entry> last_;
};

/// A kernel with the def that it was compiled from, as a callable.
class Launcher {
public:
  Launcher(std::shared_ptr<const Interface> interface, std::shared_ptr<Entry> entry)
      : interface_(std::move(interface)), entry_(std::move(entry)) {}

  /// Runs the kernel if the arguments are those that it was compiled for; raises ArgumentError
  /// else.
  nanobind::object call(nanobind::handle args, nanobind::handle kwargs) const;
  Entry& entry() const { return *entry_; }

private:
  std::shared_ptr<const Interface> interface_;
  std::shared_ptr<Entry> entry_;
};

}  // namespace tc::python
