// Steps over one event of a Neuron runtime's trace, as JSON, and finds its fields. Both spellings of events are known:
// a begin or an end by itself, as nrt_sys_trace gives them, and an event with a duration, as neuron-profile and
// neuron-explorer write them. Numbers may be texts.
//
// Pure; any thread. Reads as json_scan.h does: zeros stand behind the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/trace/format/trace_model.h"

namespace kprof {

constexpr int kMostSystemEventNesting = 64;
constexpr size_t kMostSystemEventArgs = 48;  // further ones are left out

// An event as it is written. Its texts are within the source's. A number that is not there is kNoValue.
struct SystemEvent {
  enum class Phase : uint8_t { kUnknown, kStart, kStop, kInstant, kWhole };
  struct Member {
    std::string_view key;    // between its quotes
    std::string_view value;  // with its quotes
  };

  std::string_view type;
  Phase phase = Phase::kUnknown;
  bool has_device_core_clock = false;  // it has nc_timestamp_ns
  int64_t timestamp_ns = kNoValue;
  int64_t duration_ns = kNoValue;
  int64_t nc = kNoValue;
  int64_t logical_nc = kNoValue;  // where it is told beside nc
  int64_t local_nc = kNoValue;    // nc_local_id
  int64_t core = kNoValue;
  int64_t tracking_id = kNoValue;
  int64_t thread = kNoValue;
  int64_t worker = kNoValue;
  int64_t seq_id = kNoValue;
  int64_t exec_id = kNoValue;
  int64_t device_ns = kNoValue;    // nc_timestamp_ns: on the core's own clock
  int64_t cpu_sync_ns = kNoValue;  // of a timestamp_sync_point
  int64_t size_bytes = kNoValue;
  std::string_view model;       // with its quotes, if it has some
  std::string_view model_id;    // the same
  std::string_view process;     // the same
  std::string_view instance;    // the same
  std::string_view group;       // between its quotes
  int64_t ns_per_tick = 1;      // of its times
  std::vector<Member> members;  // those of its data that are no field above, but exec_id, core and size are here too
  bool left_out = false;        // more members than kMostSystemEventArgs

  // As new, with the memory of `members`.
  void Clear();
};

// A whole number, also one between quotes, or one with a fraction, which is cut off. Exact to 64 bits; one beyond 2^63
// keeps its bits. Nothing: it is none, or does not fit. REQUIRES: eight bytes behind `value` can be read.
std::optional<int64_t> WholeNumberIn(std::string_view value);

// `at` stands on a brace. Returns the place behind the object that it opens; null: the text ends before, or is no JSON.
const char* ScanSystemEvent(const char* at, const char* end, SystemEvent& event);

// Adds the members of a JSON object as those of the event's data. False: it is none, or is cut off.
bool ScanSystemEventData(std::string_view object, SystemEvent& event);

}  // namespace kprof
