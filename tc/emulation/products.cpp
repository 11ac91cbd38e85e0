// SPDX-License-Identifier: Apache-2.0
#include "tc/emulation/products.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace tc::emulation {

void Products::start_block() {
  threads_.assign(static_cast<std::size_t>(state_.threads), {});
}

void Products::fence() {
  thread().fenced = true;
}

std::vector<Products::Registers>::iterator Products::registers_of(Thread& thread,
                                                                  const device::Product& product) {
  return std::find_if(thread.registers.begin(), thread.registers.end(),
                      [&](const Registers& r) { return r.at == product.sums; });
}

void Products::begin(const device::Product& product, int line) {
  Thread& own = thread();
  if (!own.fenced) {
    Finding finding;
    finding.kind = FindingKind::MissingFence;
    finding.threads = {state_.position.thread};
    finding.line = line;
    finding.message = fmt::format(
        "thread {} begins a product without a fence behind what it did to the registers",
        state_.position.thread);
    state_.stop(std::move(finding));
  }
  own.since = now();
  product.announce(product, line);
  auto registers = registers_of(own, product);
  if (registers == own.registers.end()) {
    own.registers.push_back({product.sums, {product.sums, product.sums + product.count}, 0});
    registers = std::prev(own.registers.end());
    std::fill_n(product.sums, product.count, std::numeric_limits<float>::quiet_NaN());
  }
  ++registers->products;
  own.open.push_back({product, own.since, line});
}

void Products::commit() {
  Thread& own = thread();
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

void Products::wait(int groups) {
  Thread& own = thread();
  while (static_cast<int>(own.groups.size()) > std::max(groups, 0)) {
    for (const Begun& begun : own.groups.front())
      end(own, begun);
    own.groups.pop_front();
  }
  own.fenced = false;
}

void Products::end(Thread& own, const Begun& begun) {
  const device::Product& product = begun.product;
  own.since = begun.since;
  product.announce(product, begun.line);
  const auto registers = registers_of(own, product);
  product.add(product, registers->values.data());
  if (--registers->products > 0) return;
  std::copy(registers->values.begin(), registers->values.end(), product.sums);
  own.registers.erase(registers);
}

void Products::read_panel(const void* address, std::size_t bytes, int line) {
  accesses_.read_panel(address, bytes, thread().since, line);
}

}  // namespace tc::emulation
