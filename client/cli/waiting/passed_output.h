// Passes on what the command of a followed run prints, beside the line of progress, which has to make room for it. The
// bytes come straight from the run's supervisor where this kprofctl has a connection to it (direct_output.h), else out
// of the run's logs (command_output.h): from another node, and from a kprofd that was restarted.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/output.h"
#include "client/cli/waiting/command_output.h"
#include "client/cli/waiting/direct_output.h"
#include "client/cli/waiting/interrupts.h"
#include "client/cli/waiting/progress.h"
#include "client/cpp/followers.h"

namespace kprof::cli {

// Where what the command prints is passed on to, as it prints it.
enum class PassOutput {
  kNowhere,
  kToItsPlace,  // its standard output to ours, its standard error to ours
  kToNotes,     // both to our standard error
};

// One thread. Only Finish waits: a place that takes no more for now makes the command wait, and nothing else.
class PassedOutput {
 public:
  struct Options {
    PassOutput to = PassOutput::kNowhere;
    DirectOutput* direct = nullptr;    // null: there is none
    bool is_launched_here = false;     // `direct` may still be opened until the run is running
    bool prints_while_queued = false;  // the run has a step of --prepare, which does
    int64_t reconnect_ms = 10'000;
  };

  PassedOutput(RunFollower::Connect connect, const Options& options, ProgressLine& line, Output& output);

  // The daemon says so of the run: decides where the bytes come from.
  void OnUpdate(const v1::Run& run);
  // The same, from a daemon that was restarted.
  void OnResumed(const v1::Run& run);

  // Adds the events to wait for before the next Pass.
  void AddWaits(std::vector<pollfd>& waits) const;
  // Passes on as much as goes without waiting.
  void Pass();

  // The run has ended: passes on the rest, and says what was not. After a signal it does not wait for a reader that
  // takes nothing for a second.
  void Finish(const v1::Run& run, const Interrupts& interrupts);

  // True: what is written next would stand in a line of the command's.
  bool is_in_a_line() const { return is_in_a_line_; }
  // True: nobody reads what the command still prints, and the command cannot be told (its output comes out of the
  // logs).
  bool is_in_vain() const { return is_in_vain_; }

 private:
  struct Stream {
    Output::Place place = Output::Place::kResults;
    std::string waiting;       // to be written
    bool is_closed = false;    // nothing can be written any more
    bool reader_gone = false;  // that is why
  };

  void Refill();
  void Write(size_t index);
  void Close(size_t index, bool reader_gone);
  bool SourceIsOver() const;
  bool SomethingWaits() const;
  bool CameNowhere(const v1::Run& run) const;
  int64_t MissingBytes(const v1::Run& run) const;

  const RunFollower::Connect connect_;
  const Options options_;
  ProgressLine& line_;
  Output& output_;

  std::array<Stream, 2> streams_;
  std::optional<CommandOutput> log_;
  int64_t dropped_bytes_ = 0;  // passed over in the logs
  bool is_in_a_line_ = false;
  bool is_in_vain_ = false;
  bool is_idle_ = false;  // the last Refill found nothing
};

}  // namespace kprof::cli
