#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "client/cli/find_daemon.h"
#include "client/cli/grammar/command_line.h"
#include "client/cli/verbs/foreground_launch.h"
#include "client/cli/verbs/python_probe.h"
#include "client/cli/verbs/rank_command.h"
#include "client/cli/verbs/rank_launcher.h"
#include "client/cli/verbs/recorder_place.h"
#include "client/cli/verbs/verbs.h"
#include "kprof/v1/node.pb.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr char kCoresVariable[] = "NEURON_RT_VISIBLE_CORES";
constexpr size_t kShownPathBytes = 200;

// The command with the recorder in it, and its Python is asked first for what it needs: a rank that failed later would
// leave the others waiting for it. Where rank 0 is on this node, each of the node's ranks asks for Scalene, so that all
// of them fail alike.
Result<std::vector<std::string>> RecordedCommand(const RankExecArgs& args, const RankOfJob& rank) {
  const std::vector<std::string> interpreter = InterpreterOf(args.command);
  if (interpreter.empty()) return args.command;
  std::string recorder = RecorderBesideUs();
  const bool is_rank_0_here = rank.rank == rank.local_rank;
  const bool needs_scalene = args.scalene && is_rank_0_here;
  if (recorder.empty() || needs_scalene) {
    ASSIGN_OR_RETURN(const PythonFacts facts, AskPython(interpreter));
    if (recorder.empty()) recorder = facts.recorder;
    if (needs_scalene && facts.scalene.empty()) {
      return Fail(
          ErrorCode::kToolMissing, "run rank 0 under Scalene",
          "Scalene is not installed for " + ClippedText(interpreter.front(), kShownPathBytes),
          ClippedText(interpreter.front(), kShownPathBytes) + " -m pip install scalene, or leave --scalene out");
    }
  }
  if (recorder.empty()) {
    return Fail(ErrorCode::kToolMissing, "find the recorder of kernel calls",
                "the Python package kprof is neither beside " + OwnFolder() + " nor in " +
                    ClippedText(interpreter.front(), kShownPathBytes),
                "install Debian's package kprof whole, or add the folder of its Python package (build/release/python) "
                "to PYTHONPATH");
  }
  std::vector<std::string> options = {args.scalene && rank.rank == 0 ? "--scalene" : "--no-scalene"};
  for (const std::string& wrap : args.wraps) options.insert(options.end(), {"--wrap", wrap});
  return WithRecorder(args.command, recorder, options);
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

// This process is the capture: signals of the launcher reach it, and the exit code of the rank is the launcher's.
Status CaptureRank(const std::vector<std::string>& words, const VerbContext& context) {
  ASSIGN_OR_RETURN(const CommandLine line, ParseCommandLine(words));
  const auto* args = std::get_if<CaptureArgs>(&line.verb);
  KPROF_CHECK(args != nullptr);
  int ignored = 0;
  return CaptureAsCommand(*args, context, context.own_exit_status == nullptr ? ignored : *context.own_exit_status);
}

}  // namespace

Status RunVerb(const RankExecArgs& args, const VerbContext& context) {
  if (context.on_another_node) {
    return Fail(ErrorCode::kUsage, "run a rank", "a rank runs on its launcher's node, and --node names another",
                "leave --node out: each node's ranks ask the kprofd of their node");
  }
  const RankLauncher launcher = FindLauncher("/proc", ::getppid(), &GetProcessVariable);
  ASSIGN_OR_RETURN(const RankOfJob rank, ReadRankOfJob(&GetProcessVariable, launcher.started));
  RankPlace place;
  if (args.device.empty()) {
    ASSIGN_OR_RETURN(const std::vector<LeasableDevice> devices, ListLeasable(context));
    const std::string visible = GetProcessVariable(kCoresVariable).value_or("");
    ASSIGN_OR_RETURN(place, PlaceOfRank(rank, devices, visible, launcher.gave_cores));
    if (place.cores.empty() && rank.local_rank == 0) {
      context.output.Note("kprofd sees no Neuron device on this node: the ranks lease none, and share out no cores");
    }
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> command, RecordedCommand(args, rank));
  if (command == args.command) {
    context.output.Note("the command is no Python program: it is captured as it is, without its kernel calls");
  }
  const std::string job = args.job.empty() ? rank.job : args.job;
  if (rank.local_rank == 0 && !job.empty()) {
    context.output.Note("the job's name is " + job + "; when it has ended: kprofctl analyze lines 'label:job=" + job +
                        "'");
  }
  if (!place.cores.empty()) {
    // A lease of the whole device makes these alone visible.
    std::string cores;
    for (const int core : place.cores) cores += (cores.empty() ? "" : ",") + std::to_string(core);
    ::setenv(kCoresVariable, cores.c_str(), 1);
  }
  return CaptureRank(RankCaptureWords(args, rank, place, command), context);
}

}  // namespace kprof::cli
