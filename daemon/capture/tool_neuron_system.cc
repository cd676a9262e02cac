// The tool `neuron-system`: the Neuron runtime's own trace of a command: executions, submits, copies, waits, and what
// the cores did. The runtime is told by environment (NEURON_RT_INSPECT_*) and writes its files when the command ends;
// the vendor's program then makes them readable.
//
// The inspect mode is one of several users of the runtime's trace, and two at once disturb each other: the caller's own
// is refused, others that are seen in the command are told in the run's trust.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/neuron_files.h"
#include "daemon/capture/neuron_plan.h"
#include "storage/base/descriptors.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

#include "daemon/capture/tool.h"

namespace kprof {
namespace {

constexpr char kInspectFolder[] = "inspect";
constexpr char kViewFolder[] = "view";
constexpr char kSystemTables[] = "system.tables";
constexpr char kInspectPrefix[] = "NEURON_RT_INSPECT_";
constexpr int kInspectDepth = 4;  // <out>/i-..._pid_.../<time>/file
constexpr size_t kMostScriptBytes = 256 << 10;
constexpr size_t kMostProcesses = 50'000;
constexpr size_t kMostEnvironmentBytes = 256 << 10;
constexpr size_t kMostEmptyNotes = 5;

constexpr ToolOption kNeuronSystemOptions[] = {
    {.name = "device-profile",
     .type = ToolOptionType::kText,
     .usual = "none",
     .meaning = "none, model (the first execution of each model) or session (all; what PJRT needs)"},
    {.name = "warmup",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Executions of each model before the one that is profiled (--device-profile model, SDK 2.33)"},
    {.name = "events",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Event types to record: hardware, software, names, ^NAME to leave one out; commas between"},
    {.name = "cores", .type = ToolOptionType::kText, .usual = "", .meaning = "NeuronCores to record: 0,2 or 0-3"},
    {.name = "max-events",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Events kept of each core, the last ones (default: the runtime's, 1000000)"},
    {.name = "cpu-util",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Record the use of the host's CPUs"},
    {.name = "host-memory",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Record the use of the host's memory"},
    {.name = "on-fail",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Also write device profiles where an execution fails"},
    kProfileForm,
    kNeuronSourceRoot,
};

constexpr ToolOutput kNeuronSystemOutputs[] = {
    {.glob = "system.tables/**/*.parquet", .reader = "auto"},  // a table that no reader knows is an artifact
    {.glob = "view/**/system_profile.json", .reader = "neuron-system"},
    {.glob = "view/**/device_profile*.json", .reader = "neuron-json"},
    {.glob = "view/**/*.json", .reader = "auto"},
    {.glob = "tool.json"},
    {.glob = "inspect/**/*.pb"},
    {.glob = "inspect/**/*.ntff"},
    {.glob = "inspect/**/*.neff"},
    {.glob = "**", .reader = "auto"},
};

std::string InSystemFolder(const PlanInput& input, std::string_view name) {
  return std::string(input.folder) + "/" + std::string(name);
}

Status CheckNeuronSystem(const ToolOptions& options, bool /*has_command*/) {
  RETURN_IF_ERROR(CheckProfileForm(options));
  const std::string_view profile = options["device-profile"];
  if (profile != "none" && profile != "model" && profile != "session") {
    return Fail(ErrorCode::kUsage, "read --device-profile", "there is no such profile",
                "use one of: none, model, session");
  }
  if (!options["warmup"].empty() && (profile != "model" || options.Number("warmup") < 0)) {
    return Fail(ErrorCode::kUsage, "read --warmup", "it is a count of executions, and of --device-profile model alone",
                "write --device-profile model --warmup N");
  }
  if (!options["max-events"].empty() && options.Number("max-events") < 1) {
    return Fail(ErrorCode::kUsage, "read --max-events", "it is less than 1", "give a number of events");
  }
  const std::string_view cores = options["cores"];
  if (cores.find_first_not_of("0123456789,-") != std::string_view::npos) {
    return Fail(ErrorCode::kUsage, "read --cores", "'" + ClippedText(cores, 80) + "' is no list of cores",
                "write 0,2 or 0-3");
  }
  return OkStatus();
}

// A profiler that the command starts itself, by the words of a script.
struct OwnProfiler {
  std::string_view words;
  std::string_view name;
};
constexpr OwnProfiler kOwnProfilers[] = {
    {"torch.profiler", "torch.profiler"},       {"torch_neuronx.experimental.profiler", "torch_neuronx' profiler"},
    {"jax.profiler", "jax.profiler"},           {"SystemTraceSession", "spike's SystemTraceSession"},
    {"KernelProfiler", "nkipy's profiler"},     {"kprof.neuron", "kprof.neuron"},
    {"nrt_inspect_begin", "nrt_inspect_begin"}, {"nrt_sys_trace_start", "nrt_sys_trace"},
};

std::string ProfilerIn(std::string_view text) {
  for (const OwnProfiler& one : kOwnProfilers) {
    if (text.find(one.words) != std::string_view::npos) return std::string(one.name);
  }
  return "";
}

// The profiler that a command names: in its words, or in the Python script that is one of them.
std::string ProfilerOfCommand(const PlanInput& input) {
  for (const std::string& word : input.request.argv) {
    if (std::string found = ProfilerIn(word); !found.empty()) return found;
    if (!word.ends_with(".py")) continue;
    const std::string path = word.starts_with('/') ? word : input.request.cwd + "/" + word;
    if (std::string found = ProfilerIn(ReadToolFile(path, kMostScriptBytes)); !found.empty()) return found;
  }
  return "";
}

// A file of /proc, which has no size until it is read. Empty: it cannot be.
std::string ReadProcFile(const std::string& path, size_t most_bytes) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(file.valid() ? most_bytes : 0, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t size = ::read(file.get(), text.data() + got, text.size() - got);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    got += static_cast<size_t>(size);
  }
  text.resize(got);
  return text;
}

// A process of this user's whose runtime is in the inspect mode, by its environment; 0: none is seen.
int64_t FindInspectedProcess() {
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return 0;
  int64_t found = 0;
  size_t looked_at = 0;
  while (const dirent* entry = ::readdir(folder)) {
    const int64_t pid = std::atoll(entry->d_name);
    if (pid <= 0 || pid == ::getpid() || ++looked_at > kMostProcesses) continue;
    const std::string environment =
        ReadProcFile("/proc/" + std::string(entry->d_name) + "/environ", kMostEnvironmentBytes);
    constexpr std::string_view kOn("NEURON_RT_INSPECT_ENABLE=1\0", 27);
    const size_t at = environment.find(kOn);
    if (at == std::string::npos || (at > 0 && environment[at - 1] != '\0')) continue;
    found = pid;
    break;
  }
  ::closedir(folder);
  return found;
}

// The caller's own settings of the inspect mode: what they ask for is not what we would.
Status CheckNoOwnInspect(const PlanInput& input) {
  for (const std::string& variable : input.request.environment) {
    if (!variable.starts_with(kInspectPrefix)) continue;
    const std::string name = variable.substr(0, variable.find('='));
    return Fail(
        ErrorCode::kToolFailed, "capture neuron-system",
        "the caller's environment has " + ClippedText(name, 80) + ": two inspections at once disturb each other",
        "unset " + ClippedText(name, 80) + ", and say it by the options of kprofctl capture neuron-system");
  }
  return OkStatus();
}

Result<std::vector<ToolStep>> ProbeNeuronSystem(const PlanInput& input) {
  RETURN_IF_ERROR(CheckNoOwnInspect(input));
  return AskNeuronProgram(input);
}

Result<ToolPlan> PlanNeuronSystem(const PlanInput& input) {
  RETURN_IF_ERROR(CheckNeuronHome(input));
  const ToolOptions& options = input.options;
  ToolPlan plan{.argv = input.request.argv, .environment = NeuronEnvironment(input), .after = {}};
  const std::string out = InSystemFolder(input, kInspectFolder);
  ::mkdir(out.c_str(), S_IRWXU);
  const auto set = [&](std::string_view name, std::string_view value) {
    SetVariable(plan.environment, kInspectPrefix + std::string(name) + "=" + std::string(value));
  };
  const auto set_option = [&](std::string_view name, std::string_view option) {
    if (!options[option].empty()) set(name, options[option]);
  };
  set("ENABLE", "1");
  set("OUTPUT_DIR", out);
  set("SYSTEM_PROFILE", "1");
  // Said also where it is off: the runtime's header and its documentation differ in what is usual.
  set("DEVICE_PROFILE", options["device-profile"] == "none" ? "0" : options["device-profile"]);
  set_option("DEVICE_PROFILE_NUM_WARMUP", "warmup");
  set_option("EVENT_FILTER_TYPE", "events");
  set_option("EVENT_FILTER_NC", "cores");
  set_option("SYS_TRACE_MAX_EVENTS_PER_NC", "max-events");
  if (options.IsOn("cpu-util")) set("CPU_UTIL", "1");
  if (options.IsOn("host-memory")) set("HOST_MEMORY", "1");
  if (options.IsOn("on-fail")) set("ON_FAIL", "1");

  if (const std::string own = ProfilerOfCommand(input); !own.empty()) {
    plan.notes.push_back("profiler_conflict: the command uses " + own +
                         ", which traces the runtime as well; one of both may have no events");
  }
  if (const int64_t pid = FindInspectedProcess(); pid > 0) {
    plan.notes.push_back("profiler_conflict: process " + std::to_string(pid) +
                         " is inspected by the Neuron runtime at the same time");
  }
  WriteNeuronSettings(input, ReadNeuronViewer(input), plan.argv);
  return plan;
}

// The command is the caller's own; it is judged so that what it printed is not taken for the viewer's words.
Judgement JudgeNeuronSystem(const PlanInput& /*input*/, const TriedCommand& tried) {
  Judgement judgement;
  judgement.notes = NeuronWarnings(tried.printed);
  return judgement;
}

Judgement JudgeNeuronSystemStep(const PlanInput& input, const ToolStep& step, const TriedCommand& ended) {
  Judgement judgement;
  judgement.notes = NeuronWarnings(ended.printed);
  if (ended.exit_code == 0 || step.is_optional) return judgement;
  judgement.failed = WhyNeuronFailed(step.name, ended, input);
  return judgement;
}

std::string Below(const std::string& folder, const std::string& path) {
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : path;
}

// Files of the runtime that have no bytes, as trust reasons.
void NoteEmptyFiles(const std::string& folder, std::vector<std::string>& notes) {
  size_t empty = 0;
  for (const char* ending : {".pb", ".ntff"}) {
    for (const NeuronFile& file : FilesEndingWith(folder, ending, kInspectDepth)) {
      if (file.size_bytes > 0 || ++empty > kMostEmptyNotes) continue;
      notes.push_back("output_empty: " + ClippedText(Below(folder, file.path), 200) + " has 0 bytes: " +
                      (std::string_view(ending) == ".ntff" ? "that core executed nothing"
                                                           : "the runtime recorded nothing of that kind"));
    }
  }
  if (empty > kMostEmptyNotes) {
    notes.push_back("output_empty: " + std::to_string(empty - kMostEmptyNotes) + " files more have 0 bytes");
  }
}

// The runtime's tree is there: one view of all of it.
Result<NextSteps> ViewTheTree(const PlanInput& input) {
  const std::string tree = InSystemFolder(input, kInspectFolder);
  NextSteps next;
  NoteEmptyFiles(tree, next.notes);
  const std::vector<NeuronFile> traces = FilesEndingWith(tree, ".pb", kInspectDepth);
  const bool has_trace = std::any_of(traces.begin(), traces.end(), [](const NeuronFile& file) {
    return file.size_bytes > 0 && file.path.ends_with("/ntrace.pb");
  });
  if (!has_trace) {
    return Fail(
        ErrorCode::kToolFailed, "capture neuron-system",
        traces.empty() ? "the runtime left no trace: the command did not use the Neuron runtime, or ended "
                         "without closing it"
                       : "the runtime's trace (ntrace.pb) has no events",
        "see that the command executes on a NeuronCore and ends by itself (nrt_close); an older profiler in it, "
        "or another value of NEURON_RT_INSPECT_ENABLE there, takes the trace away");
  }
  const bool with_devices = input.options["device-profile"] != "none" || input.options.IsOn("on-fail");
  if (with_devices) {
    for (const NeuronFile& file : FilesEndingWith(tree, ".ntff", kInspectDepth)) {
      if (file.size_bytes > 0) RETURN_IF_ERROR(CheckNtff(file.path).status());
    }
  }
  const NeuronViewer viewer = ReadNeuronViewer(input);
  // JSON where the program writes it: it is in one file. Programs that write tables alone are newer.
  ProfileForm view = ChooseProfileForm(input.options, viewer);
  if (input.options["view"] == "auto") view = viewer.Takes("json") ? ProfileForm::kJson : ProfileForm::kTables;
  const std::string folder = InSystemFolder(input, kViewFolder);
  ::mkdir(folder.c_str(), S_IRWXU);
  // Of a folder it writes into its own.
  ToolStep step{.name = "view the system trace",
                .argv = {"/usr/bin/env", "-C", folder, viewer.program, "view", "-d", tree}};
  if (view == ProfileForm::kTables) {
    step.argv.insert(step.argv.end(),
                     {"--output-format", "parquet", "--output-file", InSystemFolder(input, kSystemTables)});
    if (!viewer.help.empty() && viewer.Takes("--disable-ui")) step.argv.emplace_back("--disable-ui");
  } else {
    step.argv.insert(step.argv.end(), {"--output-format", view == ProfileForm::kJson ? "json" : "summary-json"});
    if (view == ProfileForm::kSummary) step.stdout_file = "view/summary.json";
  }
  if (!with_devices && viewer.Takes("--ignore-device-profile")) step.argv.emplace_back("--ignore-device-profile");
  const std::string root(input.options["source-root"]);
  if (!root.empty()) step.argv.insert(step.argv.end(), {"--framework-source-root", root});
  next.steps.push_back(std::move(step));
  return next;
}

Result<NextSteps> NextOfNeuronSystem(const PlanInput& input, int64_t round) {
  if (round == 0) return ViewTheTree(input);
  CleanSummaries(InSystemFolder(input, kViewFolder));
  return NextSteps();
}

}  // namespace

extern const Tool kNeuronSystemTool;
const Tool kNeuronSystemTool{
    .name = "neuron-system",
    .summary = "a timeline of the Neuron runtime: executions, submits, copies and waits, on the host and on the cores",
    .needs = {.clocks = "lock", .program = kNeuronProgram, .or_program = kOlderNeuronProgram, .device_kind = "neuron"},
    .options = kNeuronSystemOptions,
    .outputs = kNeuronSystemOutputs,
    .check = &CheckNeuronSystem,
    .probe = &ProbeNeuronSystem,
    .plan = &PlanNeuronSystem,
    .judge = &JudgeNeuronSystem,
    .judge_step = &JudgeNeuronSystemStep,
    .next = &NextOfNeuronSystem,
};

}  // namespace kprof
