// The one line that tells, while one waits, where a run is: rewritten in place on a terminal, gone at the end. Where
// standard error is no terminal, or a dumb one, it shows nothing. No colours.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/output.h"
#include "kprof/v1/runs.pb.h"

namespace kprof::cli {

// What is known of a run that one waits for. Times by this machine's clock.
struct ProgressFacts {
  v1::WatchRunResponse latest;
  int64_t received_ns = 0;  // when `latest` came
  bool disconnected = false;
  bool cancelling = false;
};

// "01jd  running 12s on cpu", "01jd  queued 3s, 2 before it, about 40s to wait".
std::string ProgressText(const ProgressFacts& facts, int64_t now_ns);

class ProgressLine {
 public:
  // `enabled`: what standard error and TERM allow (see ProgressAllowed).
  ProgressLine(Output& output, bool enabled) : output_(output), enabled_(enabled) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool enabled() const { return enabled_; }
  void Show(const std::string& text);
  // Leaves the terminal as it was; before anything else is written there.
  void Clear();

 private:
  Output& output_;
  const bool enabled_;
  std::string shown_;
};

bool ProgressAllowed(const Output& output);

}  // namespace kprof::cli
