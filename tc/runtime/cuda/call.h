// SPDX-License-Identifier: Apache-2.0
//
// One driver call in the context of a device, with its error translated. Internal to the room.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tc/runtime/cuda/driver.h"

namespace tc::runtime::cuda {

/// `body(api)` returns the call's result; `what` says in a message what it does: "creating a
/// stream".
template <class Body>
std::optional<Rejection> call(const Driver& driver, int device, const std::string& what,
                              Body&& body) {
  const auto context = driver.context(device);
  if (!context) return context.error();
  const ContextScope scope(driver.api(), *context);
  const CuResult code =
      scope.status() == result::kSuccess ? std::forward<Body>(body)(driver.api()) : scope.status();
  if (code == result::kSuccess) return std::nullopt;
  return rejection(*driver.error(code, what + " on " + driver.device_text(device)));
}

/// For destructors: `body(api)` gives something back. Does nothing where the driver cannot be used.
template <class Body>
void release(const Driver& driver, int device, Body&& body) {
  if (driver.is_forked()) return;
  const auto context = driver.context(device);
  if (!context) return;
  const RelaxedCapture relaxed(driver.api());
  const ContextScope scope(driver.api(), *context);
  if (scope.status() == result::kSuccess) std::forward<Body>(body)(driver.api());
}

}  // namespace tc::runtime::cuda
