// One rank of a distributed job as a capture of its own: what its launcher (torchrun) says of it, which NeuronCores are
// its own, and its command with the recorder of kernel calls around it (client/python/kprof/neuron.py). Pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The value of an environment variable.
using ReadVariable = std::function<std::optional<std::string>(const char* name)>;

struct RankOfJob {
  int64_t rank = 0;
  int64_t local_rank = 0;
  int64_t ranks = 1;
  int64_t local_ranks = 1;  // on this node
  std::string job;          // one name for all ranks of a launch; empty: there is no launcher
  int64_t restart = 0;      // of the launch: how often its ranks were started anew
  bool operator==(const RankOfJob&) const = default;
};

// By RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT, MASTER_ADDR and
// MASTER_PORT. Without RANK it is the only one; without LOCAL_WORLD_SIZE all ranks are on this node.
//
// The job is called by the launcher's id, else by where the ranks meet. Both are the same from launch to launch, unless
// somebody chose them: where all ranks are on this node, `launched`, when their launcher was started
// (rank_launcher.h), is behind it: "10.0.0.1:29500/20261128T205012.34". Launchers on several nodes start at different
// times, so ranks of several nodes have the name alone.
//
// Fails with kUsage for a number that is none, or a rank outside of its world.
Result<RankOfJob> ReadRankOfJob(const ReadVariable& read, const std::string& launched);

// A device that can be leased. Only Neuron devices have cores here.
struct LeasableDevice {
  std::string id;
  std::string kind;
  std::vector<int> cores;  // logical, of the node
};

struct RankPlace {
  std::string device;      // for --device
  std::vector<int> cores;  // empty: those of the device
  // The lease does not set them: another rank, or nobody, leases the device.
  bool sets_cores = false;
  bool operator==(const RankPlace&) const = default;
};

// The rank's cores are its share, by its local rank, of those that `visible` (NEURON_RT_VISIBLE_CORES) names, or of
// all; where the launcher gave each rank cores of its own (`gave_cores`), those. Where that is not known, fewer cores
// than ranks count as given.
//
// Devices that are its own alone it leases; one that it shares with other ranks the rank with its first core leases, as
// two leases of one device would wait for each other, and the ranks for each other. Without Neuron devices it leases
// nothing where there is no other accelerator either. Fails with kUsage, for all ranks alike, where the cores cannot be
// shared out, or other accelerators are there: which of them a rank takes is its program's to say.
Result<RankPlace> PlaceOfRank(const RankOfJob& rank, const std::vector<LeasableDevice>& devices,
                              const std::string& visible, std::optional<bool> gave_cores);

// "0-2,5" as [0, 1, 2, 5]; nothing for another text.
std::optional<std::vector<int>> CoreNumbers(const std::string& text);

// The words of a command that are its Python interpreter and the interpreter's options; none: it is no Python program.
std::vector<std::string> InterpreterOf(const std::vector<std::string>& command);

// The command with the recorder behind its Python interpreter: `python -u train.py` becomes `python -u neuron.py
// --no-scalene train.py`. Fails with kUsage for `python -c`. A command that is no Python program stays as it is.
Result<std::vector<std::string>> WithRecorder(const std::vector<std::string>& command, const std::string& recorder,
                                              const std::vector<std::string>& recorder_options);

// The words of the capture: "capture command --device ... -- ...".
std::vector<std::string> RankCaptureWords(const RankExecArgs& args, const RankOfJob& rank, const RankPlace& place,
                                          const std::vector<std::string>& command);

}  // namespace kprof::cli
