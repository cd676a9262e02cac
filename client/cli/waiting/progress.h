// The one line that shows a run's progress while kprofctl waits. It is rewritten in place on the terminal and removed
// at the end. When standard error is no terminal, or a dumb one, nothing is shown. No colours.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/output.h"
#include "kprof/v1/runs.pb.h"

namespace kprof::cli {

// The latest news of the run that is waited for. Times by this machine's clock.
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
  // `enabled`: see ProgressAllowed.
  ProgressLine(Output& output, bool enabled) : output_(output), enabled_(enabled) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool enabled() const { return enabled_; }
  void Show(const std::string& text);
  // Removes the line. Call it before anything else is written to the terminal.
  void Clear();

 private:
  Output& output_;
  const bool enabled_;
  std::string shown_;
};

// True if standard error is a terminal, and by TERM not a dumb one.
bool ProgressAllowed(const Output& output);

}  // namespace kprof::cli
