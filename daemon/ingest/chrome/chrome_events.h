// Makes rows of the events of a Chrome trace, in batches, as one thread of several that each read a piece of it. What
// an event's letter (`ph`) becomes is the table in docs/trace_format.md.
//
// What is of an environment (environment_text.h) is in no batch: of members, arguments, members of these, and of the
// arguments of an event of such a name.
//
// Leaves to who puts the pieces together: the strings, which are as they stand in the text (batch_sink.h); and the ends
// of what begins and ends in events of their own: their rows are among the batch's metadata, by their phase.
//
// Each thread its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/chrome/chrome_batch.h"
#include "daemon/ingest/chrome/chrome_plan.h"
#include "daemon/ingest/chrome/event_layouts.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// Rows of the samples of counters: each its double, and how its source wrote it where that is not the double's text.
//
// One thread.
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

class ChromeEvents {
 public:
  static constexpr size_t kMostSampleTextBytes = size_t{8} << 20;

  // `sample_text_bytes`: of different samples of counters that only their text says; further ones are doubles alone.
  explicit ChromeEvents(uint32_t source, size_t sample_text_bytes = kMostSampleTextBytes);
  ~ChromeEvents();

  enum class Stopped : uint8_t { kAtLimit, kAtBracket, kAtNoEvent, kAtCut, kAtTooMany };
  struct Stop {
    Stopped why = Stopped::kAtLimit;
    // kAtNoEvent: where what is no event begins; kAtCut: one that goes on behind `end`; kAtTooMany: one with more
    // members than may be.
    const char* at = nullptr;
  };
  // Events and commas from `at` on, those that begin before `limit`, until the bracket that closes their list. What
  // they are made of is read up to `end`. Reads as json_scan.h does.
  Stop Add(const char* at, const char* limit, const char* end);

  // What was added since the last time.
  TraceBatch TakeBatch() { return batch_.Take(texts_.TakeNew()); }

  int64_t events() const { return events_; }
  // Of them, those whose time is none: they are metadata, with all that they say among their arguments.
  int64_t untimed() const { return untimed_; }
  // Of them, those of which something was left out, as it is called an environment.
  int64_t with_left_out() const { return with_left_out_; }
  // Of those that were added since the last time it was asked, of the first that has a time, that; 0: none has.
  int64_t TakeFirstTime() { return std::exchange(first_time_ns_, 0); }
  // Of them, those that are a kernel's launch with what was counted in it: a row of `metric` for each number.
  int64_t counted_launches() const { return counted_launches_; }
  // Of samples of counters, those of which just the double was kept, though it does not say all.
  int64_t rounded() const { return counters_.rounded(); }

 private:
  struct Known;
  struct Layout;
  using Odd = ChromePlan::Odd;
  static SaidCorrelation SaidOf(Layout& layout, const EventLayouts::Event& event);
  ChromePlan& PlanOf(Known& known, const EventLayouts::Event& event);
  ChromePlan& OddPlanOf(ChromePlan& plan, const EventLayouts::Event& event, Odd odd);
  void AddEvent(Known& known, const EventLayouts::Event& event);
  void AddRow(ChromePlan& plan, const JsonSpan* values, int64_t time_ns, int64_t duration_ns, char letter);
  void AddTold(ChromePlan& plan, const JsonSpan* values);
  void AddArgs(ChromePlan& plan, const JsonSpan* values, EventRows& rows, EnvironmentEvent of);
  void AddNumbers(const ChromePlan& plan, const int64_t* numbers, EventRows& rows) const;
  enum class Left : uint8_t { kAll, kSome, kNone };
  Left LeftOf(ChromePlan& plan, size_t arg, const JsonSpan* values, EnvironmentEvent of, int64_t& number);
  void AddTextCorrelation(const ChromePlan& plan, const JsonSpan* values, EventRows& rows);
  void AddLaunchMetrics(const ChromePlan& plan, const JsonSpan* values);
  void AddCounters(ChromePlan& plan, const EventLayouts::Event& event, int64_t time_ns);
  uint32_t CounterName(const ChromePlan& plan, const JsonSpan* values);

  std::unique_ptr<Known> known_;
  std::unique_ptr<Known> whole_;  // of events with more arguments than a layout has
  EventTexts texts_;
  ChromeBatch batch_;
  CounterRows counters_;
  int64_t events_ = 0;
  int64_t untimed_ = 0;
  int64_t with_left_out_ = 0;
  int64_t counted_launches_ = 0;
  int64_t first_time_ns_ = 0;
  bool lacks_some_ = false;  // the event that is being added
};

}  // namespace kprof
