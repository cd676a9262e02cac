// Rows of the samples of counters: each its double, and how its source wrote it where that is not the double's text.
//
// One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/ingest/assemble/counter_sample.h"
#include "daemon/ingest/chrome/chrome_batch.h"
#include "daemon/ingest/chrome/event_texts.h"

namespace kprof {

class CounterRows {
 public:
  // `text_bytes`: of different samples that only their text says; further ones are doubles alone. Both must outlive it.
  CounterRows(EventTexts& texts, ChromeBatch& batch, size_t text_bytes)
      : texts_(texts), batch_(batch), text_bytes_(text_bytes) {}

  // `text` is what the sample was read from; `track` that of its series.
  void Add(int64_t time_ns, uint32_t track, const CounterSample& sample, std::string_view text);

  // Of the samples, those of which just the double was kept, though it does not say all.
  int64_t rounded() const { return rounded_; }

 private:
  void AddText(const CounterSample& sample, std::string_view text, EventRows& rows);

  EventTexts& texts_;
  ChromeBatch& batch_;
  size_t text_bytes_;                             // that are left
  std::array<uint32_t, kArgTypes + 1> shapes_{};  // by type; 0: none yet
  int64_t rounded_ = 0;
};

}  // namespace kprof
