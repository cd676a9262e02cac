// Reads the lines that one process of a side wrote to $KPROF_EVENT (docs/event.md): samples, notes, and how its check
// came out. A line that is none of these is left out and counted. Values are taken as they are written, odd ones too:
// the verdict says what a time of 0 means.
//
// Pure; any thread. Bounded by kMostEventTextBytes of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/run_row.h"

namespace kprof {

inline constexpr size_t kMostCaseBytes = 200;
inline constexpr size_t kMostCases = 1'000;
inline constexpr size_t kMostEventNotes = 16;

struct EventSample {
  std::string case_name;  // empty: the one unnamed case
  double ns = 0;
  std::optional<double> cycles;
  std::optional<double> flops;    // of the work, not measured
  std::optional<double> bytes;    // of the work, not measured
  std::optional<double> wall_ns;  // of the same sample, as the reporting process saw it from outside
  std::string cache;              // "cold" or "hot"; empty: nobody says
};

struct EventReport {
  std::vector<EventSample> samples;
  std::vector<TrustReason> notes;
  std::optional<std::string> check_failed;  // why
  int64_t lines = 0;
  int64_t bad_lines = 0;
  std::string first_bad;  // "line 3: it has no \"ns\""
  int64_t dropped_bytes = 0;
};

EventReport ReadEventReport(std::string_view text, int64_t dropped_bytes);

}  // namespace kprof
