// Finds the Neuron tools, and asks `neuron-ls` what devices there are. What it answers is neuron_ls.h's to read.
//
// Blocks: from a worker. That thread must live as long as the call.
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

// Where the tools are, and what they get.
struct NeuronToolPlace {
  std::string folder;                    // as KPROF_NEURON_BIN names it; empty: kNeuronToolFolder, then PATH
  std::vector<std::string> environment;  // "NAME=value"; the PATH that is searched is this one's
};

// The path of "neuron-ls", "neuron-monitor". A folder that is named is the only one looked into; of PATH, absolute
// ones. Fails with kToolMissing.
Result<std::string> FindNeuronTool(std::string_view name, const NeuronToolPlace& place);

// Runs `neuron-ls -j`; where that is refused, as by those of 2.34 and later, `neuron-ls --output-format json`. Nobody
// waits longer than `deadline_ms`, for both together, but for one that cannot be started (ToolProcess::Start) or killed
// (2 s). A node without devices is an empty inventory.
// Fails with kToolMissing where there is none, kSpawnFailed where it cannot be started, kToolFailed with how it ended
// and what it said last (or that it printed more than 16 MiB), kTimedOut where it took too long, kBadInput for an
// answer that cannot be read, kCancelled.
Result<NeuronInventory> RunNeuronLs(const NeuronToolPlace& place, OwnChildren* own, int deadline_ms,
                                    const std::stop_token& stop);

// `neuron-monitor` while it runs: a child that says every few seconds what the node's Neuron devices do. What a line
// says is neuron_monitor.h's to read; whether one that has ended is started anew, and when, is its user's.
//
// One thread, which must live as long as this (tool_process.h). Each call says how long it blocks.
struct NeuronMonitorOptions {
  NeuronToolPlace place;
  std::string config_folder;   // private, and of this one child: gets a file, neuron-monitor.json, as long as it runs
  int period_s = 5;            // at least 1. Short ones are said to load the device
  OwnChildren* own = nullptr;  // where its process is entered; null: nowhere
};

// What it is told: the period, and the groups of metrics that we read.
std::string NeuronMonitorConfig(int period_s);

class NeuronMonitorProcess {
 public:
  // Fails with kToolMissing where there is none, kSpawnFailed where it cannot be started, and as files do where its
  // configuration cannot be written. Waits as ToolProcess::Start does.
  static Result<NeuronMonitorProcess> Start(const NeuronMonitorOptions& options);
  // Asks it to end, and kills it 1 s later; gives up one that cannot be killed 2 s after that.
  ~NeuronMonitorProcess();
  NeuronMonitorProcess(NeuronMonitorProcess&& other) noexcept;
  NeuronMonitorProcess& operator=(NeuronMonitorProcess&&) = delete;

  // The oldest report that was not given yet; nothing where none came within `wait_ms`. Lines that are no JSON object
  // are skipped. Where it has closed its output, up to 3 s more, until it has ended.
  //
  // Fails with kBadInput for one that cannot be read, or is longer than 4 MiB: the next call goes on behind it. Fails
  // with kToolFailed once it has ended, with how and what it said last, and so does each call after that: see ended().
  Result<std::optional<NeuronReport>> Next(int wait_ms);

  bool ended() const { return ended_.has_value(); }

  // Readable when Next may have something to give that it has not read yet; -1 behind its end.
  int fd() const { return child_.fd(); }

 private:
  NeuronMonitorProcess(ToolProcess child, std::string config_path)
      : child_(std::move(child)), config_path_(std::move(config_path)) {}
  // The next whole line; of one that is too long only that it is.
  struct Line {
    std::string text;
    bool too_long = false;
  };
  std::optional<Line> TakeLine();
  Status WhyEnded();

  ToolProcess child_;
  std::string config_path_;  // empty: moved away
  std::string bytes_;        // read and not taken
  size_t searched_ = 0;      // of them, without a line's end
  bool skipping_ = false;    // the rest of a line that is too long
  std::optional<Status> ended_;
};

}  // namespace kprof
