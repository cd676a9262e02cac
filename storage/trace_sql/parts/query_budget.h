// On what terms a query reads parts of traces: when it must end, and where the memory of reading counts. The sandbox
// fills them in; by default there are none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "storage/base/memory_charge.h"

namespace kprof {

struct QueryBudget {
  // Asked between pieces of work that take about a millisecond; true ends them. Null: they go on.
  std::function<bool()> must_end{};
  // Runs what reads a part's file: its pages are bounded by themselves, and are no memory of the query's. Null: as it
  // is.
  std::function<void(const std::function<void()>&)> aside{};
  // For what is made of parts and is not SQLite's. Null: there is no limit.
  TakeMemory take_memory{};
  // The same for what is found out of a whole part, which may be more.
  TakeMemory take_part_memory{};

  bool MustEnd() const { return must_end && must_end(); }
  template <typename Work>
  auto Aside(const Work& work) const -> decltype(work()) {
    if (!aside) return work();
    std::optional<decltype(work())> result;
    aside([&] { result.emplace(work()); });
    return *std::move(result);
  }
};

}  // namespace kprof
