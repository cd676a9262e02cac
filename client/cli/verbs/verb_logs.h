// What to tell somebody who reads a log about the parts of it that were not kept: a command that prints faster than it
// is followed leaves thousands of gaps, and a note for each would bury the log. Gaps are summed; at most one note a
// second, and a last one that accounts for all of them. Says what, not where; knows no log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kprof::cli {

class LogGapNotes {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // For each piece of the log, also one without a gap before it (0): the note that is due now.
  std::optional<std::string> OnPiece(int64_t dropped_bytes, TimePoint now);

  // When the log is over: what is missing of it altogether, unless the one note so far has said just that.
  std::optional<std::string> AtEnd() const;

 private:
  int64_t total_bytes_ = 0;
  int64_t unsaid_bytes_ = 0;
  int notes_ = 0;
  TimePoint last_note_;
};

}  // namespace kprof::cli
