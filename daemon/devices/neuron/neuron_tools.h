// Finds the Neuron tools and runs them: `neuron-ls` for a list of the devices, `neuron-monitor` for reports.
// neuron_ls.h and neuron_monitor.h read what these print.
//
// Blocks: call it from a worker. The calling thread must live as long as the call, and as long as its
// NeuronMonitorProcess.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/devices/neuron/neuron_ls.h"
#include "daemon/devices/neuron/neuron_monitor.h"
#include "daemon/process/worker/tool_process.h"
#include "storage/base/status.h"

namespace kprof {

constexpr const char* kNeuronToolFolder = "/opt/aws/neuron/bin";

// The place of the tools, and their environment.
struct NeuronToolPlace {
  std::string folder;                    // KPROF_NEURON_BIN; empty: kNeuronToolFolder, then PATH
  std::vector<std::string> environment;  // "NAME=value"; the PATH that is searched is this one's
};

// The path of "neuron-ls" or "neuron-monitor". A folder that is named is the only one looked into; of PATH, absolute
// folders only. Fails with kToolMissing.
Result<std::string> FindNeuronTool(std::string_view name, const NeuronToolPlace& place);

// Runs `neuron-ls -j`; where that is refused, as by those of 2.34 and later, `neuron-ls --output-format json`. Both
// together take no longer than `deadline_ms`, except for one that cannot be started (ToolProcess::Start) or killed (2
// s). A node without devices is an empty inventory.
//
// Fails with kToolMissing where there is none, kSpawnFailed where it cannot be started, kToolFailed with how it ended
// and its last words (or that it printed more than 16 MiB), kTimedOut where it took too long, kBadInput for an answer
// that cannot be read, kCancelled.
Result<NeuronInventory> RunNeuronLs(const NeuronToolPlace& place, OwnChildren* own, int deadline_ms,
                                    const std::stop_token& stop);

// The instance's type by the text of `neuron-ls`, which it prints without an option. Fails as RunNeuronLs does; nothing
// where the text does not have it.
Result<std::optional<std::string>> AskNeuronLsForInstance(const NeuronToolPlace& place, OwnChildren* own,
                                                          int deadline_ms, const std::stop_token& stop);

struct NeuronMonitorOptions {
  NeuronToolPlace place;
  std::string config_folder;   // of this child alone: has a file, neuron-monitor.json, as long as it runs
  int period_s = 5;            // at least 1. Short ones are said to load the device
  OwnChildren* own = nullptr;  // where its process is entered; null: nowhere
};

// Its configuration: the period, and the groups of metrics that we read.
std::string NeuronMonitorConfig(int period_s);

// `neuron-monitor` while it runs: a child that reports every few seconds on the node's Neuron devices. Its user decides
// whether and when to start anew one that has ended.
//
// One thread, which must live as long as this (tool_process.h). Each call says how long it blocks.
class NeuronMonitorProcess {
 public:
  // Fails with kToolMissing where there is none, kSpawnFailed where it cannot be started, and as files do where its
  // configuration cannot be written. Waits as ToolProcess::Start does.
  static Result<NeuronMonitorProcess> Start(const NeuronMonitorOptions& options);
  // Asks it to end, and kills it 1 s later; gives up one that cannot be killed 2 s after that.
  ~NeuronMonitorProcess();
  NeuronMonitorProcess(NeuronMonitorProcess&& other) noexcept;
  NeuronMonitorProcess& operator=(NeuronMonitorProcess&&) = delete;

  // The oldest report that was not given yet; absent where none came within `wait_ms`. Lines that are no JSON object
  // are skipped. Once it has closed its output, waits up to 3 s more for its end.
  //
  // Fails with kBadInput for a report that cannot be read, or is longer than 4 MiB: the next call goes on behind it.
  // Fails with kToolFailed once it has ended, with how and its last words, and so does each call after that: see
  // ended().
  Result<std::optional<NeuronReport>> Next(int wait_ms);

  bool ended() const { return ended_.has_value(); }

  // Readable when Next may have something to give that it has not read yet; -1 behind its end.
  int fd() const { return child_.fd(); }

 private:
  NeuronMonitorProcess(ToolProcess child, std::string config_path)
      : child_(std::move(child)), config_path_(std::move(config_path)) {}
  // The next whole line; of one that is too long, only that fact.
  struct Line {
    std::string text;
    bool too_long = false;
  };
  std::optional<Line> TakeLine();
  Status WhyEnded();

  ToolProcess child_;
  std::string config_path_;  // empty: moved away
  std::string bytes_;        // read but not taken yet
  size_t searched_ = 0;      // of them, searched for a line's end without finding one
  bool skipping_ = false;    // the rest of a line that is too long
  std::optional<Status> ended_;
};

}  // namespace kprof
