#include "daemon/capture/ncu_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>

#include "daemon/capture/ncu_lock.h"
#include "daemon/capture/tool_settings.h"
#include "daemon/capture/tools.h"
#include "daemon/capture/vendor_program.h"
#include "daemon/launch/given/json_text.h"
#include "daemon/launch/given/stage_costs.h"
#include "storage/base/descriptors.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// The releases whose options and reports are known.
constexpr int64_t kFirstRelease = 202003;
constexpr int64_t kLastRelease = 202602;

constexpr int64_t kMostTries = 10;

std::string Within(const PlanInput& input, std::string_view name) {
  return std::string(input.folder) + "/" + std::string(name);
}

// True for a folder of the caller's own or of root's: nobody else can put anything into the lock's place.
bool IsSafeNcuFolder(const std::string& folder) {
  struct stat about {};
  return folder.starts_with('/') && ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         (about.st_uid == 0 || about.st_uid == ::geteuid());
}

// All users' ncus of this daemon lock each other out in one folder. The command gets its caller's TMPDIR back: caches
// of compilers and autotuners lie in it. Not where ncu could not take its lock in that: nobody promises that ncu alone,
// and not its part within the command, looks for it. Returns the words before the command.
std::vector<std::string> SetNcuTmpdir(std::vector<std::string>& environment, const std::vector<std::string>& command) {
  const char* named = FindVariable(environment, kNcuFolderVariable);
  if (named == nullptr || !IsSafeNcuFolder(named)) return {};
  const NcuPlace place = NcuPlaceFor(environment, named);
  if (!CheckNcuLock(place.locks.front(), ::geteuid()).ok()) return {};
  const bool is_open = CheckNcuLock(NcuLockPath(environment), ::geteuid()).ok();
  const char* tmpdir = FindVariable(environment, "TMPDIR");
  std::vector<std::string> words;
  if (is_open && command[0].find('=') == std::string::npos) {
    words = {"/usr/bin/env"};
    if (tmpdir == nullptr) {
      words.insert(words.end(), {"-u", "TMPDIR"});
    } else {
      words.push_back(std::string("TMPDIR=") + tmpdir);
    }
  }
  SetVariable(environment, "TMPDIR=" + place.tmpdir);
  return words;
}

// The command's: without what is kprof-launch's alone.
std::vector<std::string> CommandsEnvironment(std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& variable) {
    return variable.starts_with(std::string(kToolPathVariable) + "=") ||
           variable.starts_with(std::string(kNcuFolderVariable) + "=");
  });
  return environment;
}

// Signs of ncu's language for ranges: NAME is a start/end range, NAME/ a push/pop range, A/B is B directly within A.
// Behind a backslash they are part of a name.
constexpr std::string_view kRangeSigns = "@,[]/*+";

constexpr char kInclude[] = "--nvtx-include";
constexpr char kExclude[] = "--nvtx-exclude";

// A plain name is that of a push/pop range or of a start/end range; any other is in ncu's own language.
void AddRange(const char* option, const std::string& range, std::vector<std::string>& argv) {
  argv.insert(argv.end(), {option, range});
  if (range.find_first_of(kRangeSigns) == std::string::npos) argv.insert(argv.end(), {option, range + "/"});
}

std::string EscapedRange(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (kRangeSigns.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// The path of ranges within each other that "outer/inner" stands for, as analyses find it. Empty: it is none.
std::string RangePath(std::string_view name) {
  std::string path;
  while (true) {
    const size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty()) return "";
    path += (path.empty() ? "" : "/") + EscapedRange(part);
    if (slash == std::string_view::npos) return path;
    name.remove_prefix(slash + 1);
  }
}

// A stage's name is no expression: it is the range's own, whatever signs it has.
void AddStage(const std::string& stage, std::vector<std::string>& argv) {
  const std::string name = EscapedRange(stage);
  argv.insert(argv.end(), {kInclude, name, kInclude, name + "/"});
  const std::string path = RangePath(stage);
  if (path.find('/') != std::string::npos) argv.insert(argv.end(), {kInclude, path});
}

void AddOption(const ToolOptions& options, const char* name, std::vector<std::string>& argv) {
  const std::string_view value = options[name];
  if (!value.empty()) argv.insert(argv.end(), {std::string("--") + name, std::string(value)});
}

struct ChosenMetrics {
  std::vector<std::string> asked;
  std::vector<std::string> left_out;
};

ChosenMetrics ChooseMetrics(const NcuChoice& choice, const NcuAnswers& answers) {
  ChosenMetrics chosen;
  const auto add = [](const std::string& name, std::vector<std::string>& to) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  // A metric that the device lacks ends ncu: where it does not tell, sections alone are asked for.
  for (const std::string& name : choice.metrics) {
    add(name, answers.metrics && answers.HasMetric(name) ? chosen.asked : chosen.left_out);
  }
  for (const std::string& name : choice.users_metrics) add(name, chosen.asked);
  return chosen;
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

// For tool.json.
ToolSettings SettingsOf(const PlanInput& input, const NcuAnswers& answers, const ChosenMetrics& metrics) {
  const std::string_view mode = input.options["replay-mode"];
  return {.version = answers.version,
          .members = {{"clock_control", "\"none\""},
                      {"cache_control", JsonQuoted(input.options["cache-control"])},
                      {"replay_mode", JsonQuoted(mode.empty() ? "kernel" : mode)},
                      {"metrics_checked", answers.metrics ? "true" : "false"},
                      {"metrics_left_out", JsonListOf(metrics.left_out)}},
          .argv = {}};
}

std::vector<ToolStep> StepsAfter(const PlanInput& input, const NcuChoice& choice) {
  // Numbers without thousands separators, whatever the caller's locale is.
  const std::vector<std::string> import = {"/usr/bin/env", "LC_ALL=C", std::string(input.program), "--import",
                                           Within(input, kNcuReport)};
  const auto print = [&](std::string name, std::string_view file, std::vector<std::string> options) {
    ToolStep step{
        .name = std::move(name), .argv = import, .stdout_file = std::string(file), .limit_ms = 0, .is_optional = true};
    step.argv.insert(step.argv.end(), options.begin(), options.end());
    return step;
  };
  std::vector<ToolStep> steps = {
      print("print the report as CSV", kNcuCsv, {"--page", "raw", "--csv", "--print-units", "base"})};
  if (choice.names_stages) {
    steps.push_back(print("print the report by NVTX ranges", "stages.csv",
                          {"--page", "raw", "--csv", "--print-units", "base", "--print-nvtx-rename", "kernel"}));
  }
  if (choice.with_source) {
    steps.push_back(print("print source and SASS", "source.csv",
                          {"--page", "source", "--csv", "--print-units", "base", "--print-source", "sass"}));
  }
  return steps;
}

}  // namespace

std::vector<std::string> CommaList(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> RangeList(std::string_view text) {
  std::vector<std::string> ranges(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',') {
      if (!ranges.back().empty()) ranges.emplace_back();
      continue;
    }
    ranges.back() += text[i];
    if (text[i] == '\\' && i + 1 < text.size()) ranges.back() += text[++i];
  }
  if (ranges.back().empty()) ranges.pop_back();
  return ranges;
}

Status CheckStageRange(const std::string& stage) {
  const bool is_regex = stage.starts_with("regex:");
  if (!is_regex && stage.find('\\') == std::string::npos) return OkStatus();
  return Fail(ErrorCode::kUsage, "read --stages",
              "ncu cannot look for a range that is called '" + ReadableText(stage) + "': " +
                  (is_regex ? "regex: is a word of its language" : "no name of a range may have a backslash there"),
              "name the range otherwise, or choose ranges with --nvtx, in ncu's own language");
}

Status CheckNcuOptions(const ToolOptions& options, bool /*has_command*/) {
  const auto refuse = [](const std::string& option, const char* why, const char* remedy) {
    return Fail(ErrorCode::kUsage, "read --" + option, why, remedy);
  };
  for (const char* name : {"launch-skip", "launch-skip-before-match", "launch-count"}) {
    if (options.Number(name) < 0) return refuse(name, "it is negative", "give 0 or more");
  }
  if (!options["launch-count"].empty() && options.Number("launch-count") == 0) {
    return refuse("launch-count", "nothing would be profiled", "give 1 or more, or leave it out for all launches");
  }
  if (options.Number("retry") < 0 || options.Number("retry") >= kMostTries) {
    return refuse("retry", "it is not between 0 and 9", "give how many more tries there may be");
  }
  const std::string_view mode = options["replay-mode"];
  if (!mode.empty() && mode != "kernel" && mode != "application" && mode != "range" && mode != "app-range") {
    return refuse("replay-mode", "there is no such mode", "use one of: kernel, application, range, app-range");
  }
  if (const std::string_view caches = options["cache-control"]; caches != "all" && caches != "none") {
    return refuse("cache-control", "there is no such control", "use one of: all, none");
  }
  if (const std::string_view start = options["profile-from-start"]; !start.empty() && start != "on" && start != "off") {
    return refuse("profile-from-start", "it is neither on nor off", "use one of: on, off");
  }
  if (const std::string_view graphs = options["graph-profiling"];
      !graphs.empty() && graphs != "node" && graphs != "graph") {
    return refuse("graph-profiling", "there is no such kind", "use one of: node, graph");
  }
  return ReadGivenStages(options["stages"], options[kParamsOption]).status();
}

Result<std::vector<ToolStep>> ProbeNcu(const PlanInput& input) {
  return AskNcu(input);
}

Result<ToolPlan> PlanWithNcu(const PlanInput& input, const NcuChoice& choice) {
  const NcuAnswers answers = ReadNcuAnswers(input);
  const ChosenMetrics metrics = ChooseMetrics(choice, answers);
  ToolPlan plan;
  plan.environment = input.request.environment;
  const std::vector<std::string> wrapper = SetNcuTmpdir(plan.environment, input.request.argv);
  plan.environment = CommandsEnvironment(std::move(plan.environment));

  const std::string_view mode = input.options["replay-mode"];
  std::vector<std::string>& argv = plan.argv;
  argv = {std::string(input.program),
          "--target-processes",
          "all",
          "--replay-mode",
          mode.empty() ? "kernel" : std::string(mode),
          "--clock-control",
          "none",
          "--cache-control",
          std::string(input.options["cache-control"]),
          "--kernel-name-base",
          "demangled",
          "-f",
          "-o",
          Within(input, "report"),
          "--log-file",
          Within(input, kNcuLog)};
  for (const std::string& set : choice.sets) argv.insert(argv.end(), {"--set", set});
  for (const std::string& section : choice.sections) argv.insert(argv.end(), {"--section", section});
  if (!metrics.asked.empty()) argv.insert(argv.end(), {"--metrics", Joined(metrics.asked)});
  if (input.options["profile-from-start"] == "off") argv.insert(argv.end(), {"--profile-from-start", "off"});
  AddOption(input.options, "graph-profiling", argv);
  AddOption(input.options, "launch-skip-before-match", argv);
  AddOption(input.options, "launch-skip", argv);
  AddOption(input.options, "launch-count", argv);
  if (const std::string_view kernels = input.options["kernel-name"]; !kernels.empty()) {
    argv.insert(argv.end(), {"--kernel-name", "regex:" + std::string(kernels)});
  }
  AddOption(input.options, "kernel-id", argv);
  if (choice.with_nvtx || !choice.nvtx_ranges.empty() || !choice.nvtx_excluded.empty()) argv.emplace_back("--nvtx");
  for (const std::string& range : choice.nvtx_ranges) AddRange(kInclude, range, argv);
  for (const std::string& range : choice.nvtx_excluded) AddRange(kExclude, range, argv);
  for (const std::string& stage : choice.stages) AddStage(stage, argv);
  if (choice.with_source) argv.insert(argv.end(), {"--import-source", "yes"});
  argv.insert(argv.end(), wrapper.begin(), wrapper.end());
  argv.insert(argv.end(), input.request.argv.begin(), input.request.argv.end());

  const int64_t release = ReleaseOf(answers.version);
  if (release < kFirstRelease || release > kLastRelease) {
    const std::string version = answers.version.empty() ? "a version that it does not tell" : answers.version;
    plan.notes.push_back("tool_version_unknown: ncu is of " + version +
                         ", which kprof was not tried with; its report may be read in part");
  }
  if (!answers.metrics) {
    plan.notes.push_back(
        "metrics_unchecked: ncu did not tell which metrics the device has: those of its sections alone were asked for");
  }
  ToolSettings settings = SettingsOf(input, answers, metrics);
  settings.argv = argv;
  WriteToolSettings(input, settings);
  plan.after = StepsAfter(input, choice);
  return plan;
}

namespace {

constexpr size_t kMostLogBytes = 1 << 20;
constexpr size_t kShownLineBytes = 300;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool HoldsAnyOf(std::string_view lower, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string_view::npos; });
}

// ncu's own words, of its log and of what was printed: errors and warnings, in lower case a line each.
struct NcuMessages {
  std::string errors;
  std::string warnings;
  std::string first_error;  // as it is, of those that say more than that the command failed
};

void AddMessages(std::string_view text, NcuMessages& messages) {
  constexpr std::string_view kError = "==ERROR==";
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(kError)) {
      const std::string lower = LowerCase(line);
      messages.errors += lower + "\n";
      if (messages.first_error.empty() && !HoldsAnyOf(lower, {"the application returned an error code"})) {
        const size_t begin = std::min(line.find_first_not_of(' ', kError.size()), line.size());
        messages.first_error = ClippedText(line.substr(begin), kShownLineBytes);
      }
    } else if (line.starts_with("==WARNING==")) {
      messages.warnings += LowerCase(line) + "\n";
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

constexpr char kCountersRemedy[] =
    "as root: write 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia-profiling.conf "
    "and reload the driver or reboot; a container needs CAP_SYS_ADMIN; kprofctl doctor says how it stands";

// For an error that is told in ncu's own words.
const char* RemedyFor(std::string_view error) {
  if (HoldsAnyOf(error, {"permission", "access denied", "access is denied", "read-only", "no space left"})) {
    return "see that this user may write to the file or folder that it names, and that its disk has space; ncu.log has "
           "all that ncu said";
  }
  if (HoldsAnyOf(error, {"metric"})) return "ncu --query-metrics names the metrics of this device";
  if (HoldsAnyOf(error, {"section", "set '", "set \""})) {
    return "ncu --list-sets and ncu --list-sections name what there is";
  }
  return "see the artifact ncu.log";
}

// The files of a try that is repeated get its number in their names.
void PutAwayTry(const PlanInput& input, int64_t number) {
  const std::string prefix = "try" + std::to_string(number);
  for (const auto& [from, to] : {std::pair(kNcuReport, prefix + ".ncu-rep"), std::pair(kNcuLog, prefix + ".log")}) {
    ::rename(Within(input, from).c_str(), Within(input, to).c_str());
  }
}

// Why one more try may go well; empty: nothing that is known to pass.
std::string WhyItMayPass(const NcuMessages& messages, const std::string& printed, bool failed) {
  if (HoldsAnyOf(messages.errors, {"driver resource was unavailable"})) {
    return "the device's counters were in use by somebody else";
  }
  // A configuration that does not fit is what an autotuner tries, whether or not it says that it is one.
  if (failed && HoldsAnyOf(printed, {"outofresources", "out of resource:", "out of resources:"})) {
    return "a configuration did not fit the device, as autotuners try some; the one that fits is cached by now";
  }
  const bool has_tuned = HoldsAnyOf(printed, {"autotun"});
  const bool lost_launch =
      HoldsAnyOf(messages.errors, {"failed to profile", "launchfailed", "launch failed", "reported by the driver"}) ||
      HoldsAnyOf(printed, {"cuda error", "cuda_error", "illegal memory access", "out of resource", "launch failure"});
  if (failed && has_tuned && lost_launch) return "it failed after autotuning, whose result is cached by now";
  return "";
}

}  // namespace

Judgement JudgeNcu(const PlanInput& input, const TriedCommand& tried) {
  NcuMessages messages;
  AddMessages(ReadToolFile(Within(input, kNcuLog), kMostLogBytes), messages);
  AddMessages(tried.printed, messages);
  const std::string act = "profile with ncu";
  const bool failed = tried.exit_code != 0 || !messages.first_error.empty();
  Judgement judgement;
  const std::string passing = WhyItMayPass(messages, LowerCase(tried.printed), failed);
  if (!passing.empty() && tried.number <= input.options.Number("retry")) {
    PutAwayTry(input, tried.number);
    judgement.again = passing;
    judgement.notes.push_back("retried: try " + std::to_string(tried.number) + ": " + passing +
                              (messages.first_error.empty() ? "" : " (" + messages.first_error + ")"));
    return judgement;
  }
  if (HoldsAnyOf(messages.errors, {"interprocesslockfailed", "lock file"}) ||
      (tried.exit_code == 9 && !messages.first_error.empty())) {
    judgement.failed = Fail(ErrorCode::kToolFailed, act,
                            "ncu cannot take its lock " + NcuLockPath(input.request.environment) +
                                ", which is another user's: " + messages.first_error,
                            "have its owner or root remove that file, or set TMPDIR to a folder of your own");
  } else if (HoldsAnyOf(messages.errors, {"err_nvgpuctrperm", "permission to access nvidia gpu performance counters",
                                          "profiling permissions", "requires root", "insufficient_privileges"})) {
    judgement.failed = Fail(
        ErrorCode::kToolFailed, act,
        "NVIDIA's driver does not let this user read the device's counters (ERR_NVGPUCTRPERM): " + messages.first_error,
        kCountersRemedy);
  } else if (HoldsAnyOf(messages.errors, {"driver resource was unavailable"})) {
    judgement.failed =
        Fail(ErrorCode::kToolFailed, act,
             "the device's counters are in use by another tool, such as DCGM: " + messages.first_error,
             "end or pause it (dcgmi profile --pause), then run it again; --retry 1 tries once more by itself");
  } else if (HoldsAnyOf(messages.warnings + messages.errors, {"no kernels were profiled"})) {
    if (tried.exit_code == 0) {
      judgement.failed = Fail(
          ErrorCode::kNoKernels, act, "no kernel was profiled: the command launched none that the options let through",
          "check --stages, --kernel-name, --kernel-id, --nvtx, --nvtx-exclude, --launch-skip and --launch-count, "
          "and that the command reaches its kernels; with --profile-from-start off also cudaProfilerStart");
    }
  } else if (!messages.first_error.empty()) {
    judgement.failed = Fail(ErrorCode::kToolFailed, act, "ncu says: " + messages.first_error,
                            RemedyFor(LowerCase(messages.first_error)));
  }
  return judgement;
}

}  // namespace kprof
