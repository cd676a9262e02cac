#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client/cli/find_daemon.h"
#include "client/cli/verbs/foreground_launch.h"
#include "client/cli/verbs/rank_command.h"
#include "client/cli/verbs/verbs.h"
#include "kprof/v1/node.pb.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr char kCoresVariable[] = "NEURON_RT_VISIBLE_CORES";

// The recorder of kernel calls: in the build tree, or where the package installs it.
Result<std::string> FindRecorder() {
  const std::string folder = OwnFolder();
  std::string looked;
  for (const char* place : {"/../python/kprof/neuron.py", "/../lib/python3/dist-packages/kprof/neuron.py"}) {
    const std::string path = folder + place;
    if (::access(path.c_str(), R_OK) != 0) {
      looked += (looked.empty() ? "" : ", ") + path;
      continue;
    }
    char* real = ::realpath(path.c_str(), nullptr);
    const std::string found = real == nullptr ? path : real;
    std::free(real);
    return found;
  }
  return Fail(ErrorCode::kToolMissing, "find the recorder of kernel calls", "there is none at " + looked,
              "install the package kprof whole");
}

Result<std::vector<LeasableDevice>> ListLeasable(const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
  std::vector<LeasableDevice> devices;
  for (const v1::Device& device : response.devices()) {
    LeasableDevice& one = devices.emplace_back(LeasableDevice{device.id(), device.kind(), {}});
    for (const v1::NeuronCore& core : device.neuron().cores()) one.cores.push_back(static_cast<int>(core.number()));
  }
  return devices;
}

// This process becomes the capture: signals of the launcher reach it, and its exit code is the launcher's.
Status BecomeCapture(const std::vector<std::string>& words, const GlobalOptions& global) {
  std::vector<std::string> all = {"kprofctl"};
  if (global.json) all.emplace_back("--json");
  if (!global.socket.empty()) all.insert(all.end(), {"--socket", global.socket});
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  argv.reserve(all.size() + 1);
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  return Fail(ErrorCode::kSpawnFailed, "start the capture of this rank", std::strerror(errno));
}

}  // namespace

Status RunVerb(const RankExecArgs& args, const VerbContext& context) {
  if (context.on_another_node) {
    return Fail(ErrorCode::kUsage, "run a rank", "a rank runs on its launcher's node, and --node names another",
                "leave --node out: each node's ranks ask the kprofd of their node");
  }
  ASSIGN_OR_RETURN(const RankOfJob rank, ReadRankOfJob(&GetProcessVariable));
  RankPlace place;
  if (args.device.empty()) {
    ASSIGN_OR_RETURN(const std::vector<LeasableDevice> devices, ListLeasable(context));
    ASSIGN_OR_RETURN(place, PlaceOfRank(rank, devices, GetProcessVariable(kCoresVariable).value_or("")));
  }
  ASSIGN_OR_RETURN(const std::string recorder, FindRecorder());
  const bool with_scalene = args.scalene && rank.rank == 0;
  std::vector<std::string> options = {with_scalene ? "--scalene" : "--no-scalene"};
  for (const std::string& wrap : args.wraps) options.insert(options.end(), {"--wrap", wrap});
  ASSIGN_OR_RETURN(const std::vector<std::string> command, WithRecorder(args.command, recorder, options));
  if (command == args.command) {
    context.output.Note("the command is no Python program: it is captured as it is, without its kernel calls");
  }
  if (!place.cores.empty()) {
    // A lease of the whole device makes these alone visible.
    std::string cores;
    for (const int core : place.cores) cores += (cores.empty() ? "" : ",") + std::to_string(core);
    ::setenv(kCoresVariable, cores.c_str(), 1);
  }
  return BecomeCapture(RankCaptureWords(args, rank, place, command), context.global);
}

}  // namespace kprof::cli
