// Makes rows of the events of a Chrome trace, in batches. Several threads read pieces of a trace, each with its own
// ChromeEvents. The table in docs/trace_format.md says what an event's letter (`ph`) becomes.
//
// Environments (environment_text.h) get into no batch: neither from members and arguments of such names, nor from the
// arguments of an event of such a name.
//
// Two things are left to the code that puts the pieces together. Strings are as they stand in the text (batch_sink.h).
// Begins and ends that are events of their own are not paired: they are rows of metadata, with their phase.
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

// Adds rows for the samples of counters. A row has the sample's double, and the sample as its source wrote it, where
// that is not the double's text.
//
// One thread.
class CounterRows {
 public:
  // `text_bytes`: room for the texts of samples that no number holds exactly; further ones are kept as doubles alone.
  // `texts` and `batch` must outlive it.
  CounterRows(EventTexts& texts, ChromeBatch& batch, size_t text_bytes)
      : texts_(texts), batch_(batch), text_bytes_(text_bytes) {}

  // `text`: the sample as written. `track`: the one of its series.
  void Add(int64_t time_ns, uint32_t track, const CounterSample& sample, std::string_view text);

  // The number of samples that were kept as doubles alone, though a double does not say all.
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

  // `sample_text_bytes`: see CounterRows.
  explicit ChromeEvents(uint32_t source, size_t sample_text_bytes = kMostSampleTextBytes);
  ~ChromeEvents();

  enum class Stopped : uint8_t { kAtLimit, kAtBracket, kAtNoEvent, kAtCut, kAtTooMany };
  struct Stop {
    Stopped why = Stopped::kAtLimit;
    // kAtNoEvent: the begin of something that is no event; kAtCut: the begin of an event that goes on behind `end`;
    // kAtTooMany: the begin of an event with too many members.
    const char* at = nullptr;
  };
  // Adds the events from `at` on that begin before `limit`, up to the bracket that closes their list. An event may go
  // on up to `end`. Reads as json_scan.h does.
  Stop Add(const char* at, const char* limit, const char* end);

  // Takes everything that was added since the last call.
  TraceBatch TakeBatch() { return batch_.Take(texts_.TakeNew()); }

  int64_t events() const { return events_; }
  // Events without a valid time, ph M not counted: they are metadata, with everything they say among their arguments.
  int64_t untimed() const { return untimed_; }
  // Events that lack something of an environment.
  int64_t with_left_out() const { return with_left_out_; }
  // Time of the first timed event since the last call; 0: none.
  int64_t TakeFirstTime() { return std::exchange(first_time_ns_, 0); }
  // Events that are a kernel's launch with numbers counted in it: each number is a row of `metric`, too.
  int64_t counted_launches() const { return counted_launches_; }
  // The same as CounterRows::rounded().
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
