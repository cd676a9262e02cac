// The terms on which a query reads parts of traces: when it must end, and where the memory of reading counts.
// QueryTraces fills them in from the sandbox; by default there are none.
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
  // Runs code that reads a part's file. The file's pages have a bound of their own and do not count as the query's
  // memory. Null: runs it directly.
  std::function<void(const std::function<void()>&)> aside{};
  // Asks for memory of results from parts that is not SQLite's. Null: there is no limit.
  TakeMemory take_memory{};
  // Asks for memory of results from whole parts, which may be more.
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
