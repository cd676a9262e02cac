// Notes for the reader of a log about output that was not kept. A command that prints faster than it is followed leaves
// thousands of gaps, and a note for each would bury the log. So gaps are summed: at most one note a second, and a last
// one for all of them. Knows no log; the caller prints the notes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kprof::cli {

class LogGapNotes {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Call for each piece of the log, with the bytes that are missing before it (0: none). Returns the note that is due.
  std::optional<std::string> OnPiece(int64_t dropped_bytes, TimePoint now);

  // Call when the log is over. Returns a note on all missing bytes together, unless none are missing or the only note
  // so far named them all.
  std::optional<std::string> AtEnd() const;

 private:
  int64_t total_bytes_ = 0;
  int64_t unsaid_bytes_ = 0;
  int notes_ = 0;
  TimePoint last_note_;
};

}  // namespace kprof::cli
