// The tool `neuron`: executes a NEFF on a NeuronCore and keeps what each engine and DMA queue did, instruction by
// instruction. It is given a NEFF; or a command, which it runs so that the framework leaves its NEFF, and profiles that
// afterwards; or a NEFF with the NTFF that somebody captured, which it only makes readable.
//
// The vendor's program is the run's command where there is no other, and a step after it where there is one.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/ncu_plan.h"
#include "daemon/capture/neuron_files.h"
#include "daemon/capture/neuron_plan.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

#include "daemon/capture/tool.h"

namespace kprof {
namespace {

constexpr char kBegunFile[] = ".neuron-begun";  // when the command began, Unix ns
constexpr char kChosenFile[] = ".neuron-neff";  // the path of the NEFF that a command left
constexpr char kProfileName[] = "profile.ntff";

constexpr ToolOption kNeuronOptions[] = {
    {.name = "neff",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "The NEFF to execute; with a command a pattern for those that it leaves (default: the newest)",
     .is_positional = true},
    {.name = "ntff",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Make these NTFFs of the NEFF readable, commas between; nothing is executed"},
    {.name = "profile-nth-exec",
     .type = ToolOptionType::kInteger,
     .usual = "2",
     .meaning = "The execution to profile: the first one has the start-up in it"},
    {.name = "num-exec",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Executions (default: the program's)"},
    {.name = "exec-mode",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "sync, async or async-wait; neuron-explorer alone has it"},
    {.name = "inputs",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Input tensors, NAME=FILE with commas between (default: zeros, which some kernels do not stand)"},
    {.name = "multi-input",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "A file that lists inputs by worker"},
    {.name = "workers-per-node",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Workers of a NEFF with collectives, on this node"},
    {.name = "worker-count", .type = ToolOptionType::kInteger, .usual = "", .meaning = "Workers on all nodes together"},
    {.name = "worker-start-id", .type = ToolOptionType::kInteger, .usual = "", .meaning = "This node's first worker"},
    {.name = "profile-worker",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "The worker whose profile is kept, a number or all"},
    {.name = "ignore-exec-errors",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Go on where an execution reports errors, as with zeros for inputs"},
    {.name = "enable-dge-notifs",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Name the tensors of dynamic DMA; slower, and large NEFFs may time out"},
    {.name = "single-io",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "One buffer for all inputs and outputs; right times, wrong results"},
    {.name = "disable-dge",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "The command compiles without DGE: each DMA transfer is then in the profile by name"},
    {.name = "debug-info",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "The command compiles with the source lines of kernels (NKI_DEBUG_INFO, XLA_*_DEBUG); slower"},
    kProfileForm,
    kNeuronSourceRoot,
};

constexpr ToolOutput kNeuronOutputs[] = {
    {.glob = "*.tables/**/*.parquet", .reader = "auto"},  // a table that no reader knows is an artifact
    {.glob = "*.view.json", .reader = "neuron-json"},
    {.glob = "*.summary.json"},
    {.glob = "tool.json"},
    {.glob = "*.neff"},
    {.glob = "*.ntff"},
    {.glob = "**", .reader = "auto"},
};

std::string AtFolder(const PlanInput& input, std::string_view name) {
  return std::string(input.folder) + "/" + std::string(name);
}

// A path as the caller means it: from the folder of the run.
std::string FromCwd(const PlanInput& input, std::string_view path) {
  return path.starts_with('/') ? std::string(path) : input.request.cwd + "/" + std::string(path);
}

Status CheckCount(const ToolOptions& options, std::string_view name, int64_t least) {
  if (options[name].empty() || options.Number(name) >= least) return OkStatus();
  return Fail(ErrorCode::kUsage, "read --" + std::string(name), "it is less than " + std::to_string(least),
              "give a number of " + std::to_string(least) + " or more");
}

Status CheckNeuron(const ToolOptions& options, bool has_command) {
  RETURN_IF_ERROR(CheckProfileForm(options));
  RETURN_IF_ERROR(CheckCount(options, "profile-nth-exec", 1));
  RETURN_IF_ERROR(CheckCount(options, "num-exec", 1));
  RETURN_IF_ERROR(CheckCount(options, "workers-per-node", 1));
  RETURN_IF_ERROR(CheckCount(options, "worker-count", 1));
  RETURN_IF_ERROR(CheckCount(options, "worker-start-id", 0));
  const int64_t executions = options.Number("num-exec");
  if (executions > 0 && executions < options.Number("profile-nth-exec")) {
    return Fail(ErrorCode::kUsage, "read --num-exec",
                "there are " + std::to_string(executions) + " executions, and the one to profile is number " +
                    std::to_string(options.Number("profile-nth-exec")),
                "give more executions, or a smaller --profile-nth-exec");
  }
  if (has_command && !options["ntff"].empty()) {
    return Fail(ErrorCode::kUsage, "read --ntff", "nothing is run for an NTFF that is there already",
                "leave the command out: kprofctl capture neuron FILE.neff --ntff FILE.ntff");
  }
  if (!has_command && options["neff"].empty()) {
    return Fail(ErrorCode::kUsage, "capture neuron", "there is neither a NEFF nor a command",
                "write kprofctl capture neuron FILE.neff, or kprofctl capture neuron -- CMD");
  }
  if (!has_command && (options.IsOn("disable-dge") || options.IsOn("debug-info"))) {
    return Fail(ErrorCode::kUsage, "capture neuron",
                "a NEFF is compiled already: --disable-dge and --debug-info change a "
                "compilation",
                "give the command that compiles it, after --");
  }
  const std::string_view mode = options["exec-mode"];
  if (!mode.empty() && mode != "sync" && mode != "async" && mode != "async-wait") {
    return Fail(ErrorCode::kUsage, "read --exec-mode", "there is no such mode", "use one of: sync, async, async-wait");
  }
  const std::string_view worker = options["profile-worker"];
  if (!worker.empty() && worker != "all" && worker.find_first_not_of("0123456789") != std::string_view::npos) {
    return Fail(ErrorCode::kUsage, "read --profile-worker", "it is neither a number nor all", "give a worker's number");
  }
  for (const std::string& pair : CommaList(options["inputs"])) {
    const size_t equals = pair.find('=');
    if (equals != std::string::npos && equals > 0 && equals + 1 < pair.size()) continue;
    return Fail(ErrorCode::kUsage, "read --inputs", "'" + ClippedText(pair, 100) + "' is not NAME=FILE",
                "write --inputs query=q.npy,key=k.npy");
  }
  return OkStatus();
}

bool ExecutesNeff(const ToolOptions& options) {
  return options["ntff"].empty();
}

// The words of `capture`, for a NEFF.
std::vector<std::string> CaptureWords(const PlanInput& input, const NeuronViewer& viewer, const std::string& neff) {
  const ToolOptions& options = input.options;
  std::vector<std::string> argv = {viewer.program, "capture", "-n", neff, "-s", AtFolder(input, kProfileName)};
  const auto add = [&](std::string_view flag, std::string_view name) {
    const std::string_view value = options[name];
    if (!value.empty()) argv.push_back(std::string(flag) + "=" + std::string(value));
  };
  add("--profile-nth-exec", "profile-nth-exec");
  // The program executes once by itself, and the second execution never came.
  const int64_t nth = options["profile-nth-exec"].empty() ? 0 : options.Number("profile-nth-exec");
  const int64_t executions = std::max({options["num-exec"].empty() ? 0 : options.Number("num-exec"), nth, int64_t{1}});
  argv.push_back("--num-exec=" + std::to_string(executions));
  add("--exec-mode", "exec-mode");
  add("--collectives-workers-per-node", "workers-per-node");
  add("--collectives-worker-count", "worker-count");
  add("--collectives-worker-start-id", "worker-start-id");
  add("--collectives-profile-id", "profile-worker");
  add("--multi-input", "multi-input");
  for (const char* name : {"ignore-exec-errors", "enable-dge-notifs", "single-io"}) {
    if (options.IsOn(name)) argv.push_back(std::string("--") + name);
  }
  for (const std::string& pair : CommaList(options["inputs"])) {
    const size_t equals = pair.find('=');
    argv.push_back(pair.substr(0, equals));
    argv.push_back(pair.substr(equals + 1));
  }
  return argv;
}

// The file itself may be large, of another user, or go.
ToolStep KeepFile(const PlanInput& input, const std::string& path) {
  return {.name = "keep " + StemOf(path),
          .argv = {"/bin/cp", "--reflink=auto", "--", path, AtFolder(input, path.substr(path.rfind('/') + 1))},
          .is_optional = true};
}

Status CheckReadable(const PlanInput& input, std::string_view what, std::string_view path) {
  struct stat about {};
  const std::string whole = FromCwd(input, path);
  if (::stat(whole.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(whole.c_str(), R_OK) == 0) {
    return OkStatus();
  }
  return Fail(ErrorCode::kToolFailed, "capture neuron",
              "there is no " + std::string(what) + " '" + ClippedText(path, 200) + "' that this user may read",
              "check its path; it counts from the folder " + ClippedText(input.request.cwd, 200));
}

Result<std::vector<ToolStep>> ProbeNeuron(const PlanInput& input) {
  return AskNeuronProgram(input);
}

// Variables by which the framework leaves the NEFF, with the sources' lines in it.
void SetCompilation(const ToolOptions& options, std::vector<std::string>& environment) {
  SetVariable(environment, "NEURON_FRAMEWORK_DEBUG=1");
  if (options.IsOn("debug-info")) {
    for (const char* variable : {"NKI_DEBUG_INFO=True", "XLA_IR_DEBUG=1", "XLA_HLO_DEBUG=1"}) {
      SetVariable(environment, variable);
    }
  }
  if (!options.IsOn("disable-dge")) return;
  const char* flags = FindVariable(environment, "NEURON_CC_FLAGS");
  const std::string before = flags == nullptr ? "" : flags;
  if (before.find("--disable-dge") != std::string::npos) return;
  SetVariable(environment, "NEURON_CC_FLAGS=" + before + (before.empty() ? "" : " ") + "--disable-dge");
}

bool WriteWord(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

Result<ToolPlan> PlanNeuron(const PlanInput& input) {
  RETURN_IF_ERROR(CheckNeuronHome(input));
  const ToolOptions& options = input.options;
  const NeuronViewer viewer = ReadNeuronViewer(input);
  ToolPlan plan;
  plan.environment = NeuronEnvironment(input);
  if (!input.request.argv.empty()) {
    SetCompilation(options, plan.environment);
    plan.argv = input.request.argv;
    WriteWord(AtFolder(input, kBegunFile), std::to_string(ReadClockNs(CLOCK_REALTIME_COARSE)));
    WriteNeuronSettings(input, viewer, plan.argv);
    return plan;
  }
  const std::string neff(options["neff"]);
  RETURN_IF_ERROR(CheckReadable(input, "NEFF", neff));
  const std::vector<std::string> ntffs = CommaList(options["ntff"]);
  for (const std::string& ntff : ntffs) {
    RETURN_IF_ERROR(CheckReadable(input, "NTFF", ntff));
    RETURN_IF_ERROR(CheckNtff(FromCwd(input, ntff)).status());
  }
  NextSteps views = ViewAll(input, neff, ntffs);
  plan.after = std::move(views.steps);
  plan.notes = std::move(views.notes);
  if (ntffs.empty()) {
    plan.argv = CaptureWords(input, viewer, neff);
  } else {
    // The first step is the run's command. A summary is printed, and what a command prints is in no file.
    const bool is_summary = !plan.after.front().stdout_file.empty();
    plan.argv = is_summary ? std::vector<std::string>{"/bin/true"} : plan.after.front().argv;
    if (!is_summary) plan.after.erase(plan.after.begin());
    for (const std::string& ntff : ntffs) plan.after.push_back(KeepFile(input, ntff));
  }
  plan.after.push_back(KeepFile(input, neff));
  WriteNeuronSettings(input, viewer, plan.argv);
  return plan;
}

Judgement JudgeNeuron(const PlanInput& input, const TriedCommand& tried) {
  Judgement judgement;
  if (!input.request.argv.empty()) return judgement;  // it is the caller's command
  judgement.notes = NeuronWarnings(tried.printed);
  if (tried.exit_code == 0) return judgement;
  const bool is_view = !input.options["ntff"].empty();
  judgement.failed =
      WhyNeuronFailed((is_view ? "view " : "profile ") + ClippedText(input.options["neff"], 200), tried, input);
  return judgement;
}

Judgement JudgeNeuronStep(const PlanInput& input, const ToolStep& step, const TriedCommand& ended) {
  Judgement judgement;
  if (step.argv.front() != input.program) return judgement;
  judgement.notes = NeuronWarnings(ended.printed);
  if (ended.exit_code == 0 || step.is_optional) return judgement;
  judgement.failed = WhyNeuronFailed(step.name, ended, input);
  return judgement;
}

int64_t BegunNs(const PlanInput& input) {
  const std::string text = ReadToolFile(AtFolder(input, kBegunFile), 64);
  int64_t begun_ns = 0;
  std::from_chars(text.data(), text.data() + text.size(), begun_ns);
  return begun_ns;
}

// The command is over: its NEFF is executed once more, with the profiler. It lies below the command's folder, or it was
// put where files of the run are kept.
Result<NextSteps> CaptureWhatCommandLeft(const PlanInput& input) {
  const std::string pattern(input.options["neff"]);
  Result<ChosenNeff> neff = ChooseNeff(input.request.cwd, pattern, BegunNs(input));
  if (!neff.ok()) {
    Result<ChosenNeff> kept = ChooseNeff(std::string(input.folder), pattern, BegunNs(input));
    if (!kept.ok()) return neff.status();
    neff = std::move(kept);
  }
  WriteWord(AtFolder(input, kChosenFile), neff->path);
  NextSteps next{.steps = {}, .notes = std::move(neff->notes)};
  next.steps.push_back({.name = "profile " + neff->path.substr(neff->path.rfind('/') + 1),
                        .argv = CaptureWords(input, ReadNeuronViewer(input), neff->path)});
  if (!neff->path.starts_with(AtFolder(input, ""))) next.steps.push_back(KeepFile(input, neff->path));
  return next;
}

// The capture is over: its NTFFs are checked, and made readable.
Result<NextSteps> ViewWhatWasCaptured(const PlanInput& input, const std::string& neff) {
  const std::vector<NeuronFile> ntffs = CapturedNtffs(std::string(input.folder));
  if (ntffs.empty()) {
    return Fail(ErrorCode::kToolFailed, "profile " + ClippedText(neff, 200),
                "the program ended well and left no NTFF: it did not reach the execution that was to be profiled",
                "have it execute often enough: --num-exec " + std::string(input.options["profile-nth-exec"]) +
                    ", or profile the first one: --profile-nth-exec 1");
  }
  std::vector<std::string> notes;
  std::vector<std::string> paths;
  for (const NeuronFile& ntff : ntffs) {
    if (ntff.size_bytes == 0 && ntffs.size() > 1) {
      notes.push_back("output_empty: " + StemOf(ntff.path) + ".ntff has 0 bytes: its core executed nothing");
      continue;
    }
    RETURN_IF_ERROR(CheckNtff(ntff.path).status());
    paths.push_back(ntff.path);
  }
  if (paths.empty()) {
    return Fail(ErrorCode::kToolFailed, "profile " + ClippedText(neff, 200), "all its NTFFs are empty",
                "profile an execution that is reached: --profile-nth-exec 1");
  }
  NextSteps next = ViewAll(input, neff, paths);
  next.notes.insert(next.notes.begin(), notes.begin(), notes.end());
  return next;
}

Result<NextSteps> NextOfNeuron(const PlanInput& input, int64_t round) {
  const bool has_command = !input.request.argv.empty();
  const int64_t stage = has_command ? round : round + 1;
  const bool only_views = !input.options["ntff"].empty();
  if (stage == 0) return CaptureWhatCommandLeft(input);
  if (stage == 1 && !only_views) {
    return ViewWhatWasCaptured(
        input, has_command ? ReadToolFile(AtFolder(input, kChosenFile), 4096) : std::string(input.options["neff"]));
  }
  CleanSummaries(std::string(input.folder));
  return NextSteps();
}

}  // namespace

extern const Tool kNeuronTool;
const Tool kNeuronTool{
    .name = "neuron",
    .summary = "what each engine of a NeuronCore does, of a NEFF or of the one that a command leaves",
    .needs = {.clocks = "lock",
              .needs_command = false,
              .program = kNeuronProgram,
              .or_program = kOlderNeuronProgram,
              .device_kind = "neuron"},
    .options = kNeuronOptions,
    .outputs = kNeuronOutputs,
    .check = &CheckNeuron,
    .uses_device = &ExecutesNeff,
    .probe = &ProbeNeuron,
    .plan = &PlanNeuron,
    .judge = &JudgeNeuron,
    .judge_step = &JudgeNeuronStep,
    .next = &NextOfNeuron,
};

}  // namespace kprof
