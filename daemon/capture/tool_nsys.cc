// The tool `nsys`: Nsight Systems traces the command: kernels, copies, API calls, NVTX ranges, and what else --trace
// names. The command goes on when a --duration is over: nsys would kill it by default. The export to SQLite is what is
// read; the report itself is kept for Nsight's own windows.
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/nsys_releases.h"
#include "daemon/capture/tool_settings.h"
#include "daemon/capture/vendor_program.h"
#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

#include "daemon/capture/tool.h"

namespace kprof {
namespace {

constexpr std::string_view kNsysReport = "report.nsys-rep";
constexpr std::string_view kNsysExport = "report.sqlite";
constexpr char kNsysVersion[] = ".nsys-version";
constexpr char kNsysExportLog[] = "export.log";

constexpr ToolOption kNsysOptions[] = {
    {.name = "trace",
     .type = ToolOptionType::kText,
     .usual = "cuda,nvtx",
     .meaning = "What is traced, with commas between: cuda, nvtx, osrt, cublas, cudnn, nccl, mpi, ..."},
    {.name = "delay", .type = ToolOptionType::kDuration, .usual = "", .meaning = "Begin to trace after this long"},
    {.name = "duration",
     .type = ToolOptionType::kDuration,
     .usual = "",
     .meaning = "Trace this long; the command goes on"},
    {.name = "capture-range",
     .type = ToolOptionType::kText,
     .usual = "none",
     .meaning = "Trace between cudaProfilerStart and Stop (cudaProfilerApi), or in an NVTX range (nvtx)"},
    {.name = "nvtx",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "The range of --capture-range nvtx, as RANGE@DOMAIN or RANGE"},
    {.name = "sample",
     .type = ToolOptionType::kText,
     .usual = "none",
     .meaning = "Sampling of the CPU: none, process-tree, system-wide"},
};

constexpr ToolOutput kNsysOutputs[] = {
    {.glob = kNsysExport, .reader = "nsys-sqlite", .required = true},
    {.glob = "*.nsys-rep"},
    {.glob = kNsysExportLog},
    {.glob = kToolSettingsFile},
    {.glob = "**", .reader = "auto"},
};

std::string InFolder(const PlanInput& input, std::string_view name) {
  return std::string(input.folder) + "/" + std::string(name);
}

Status CheckNsys(const ToolOptions& options, bool /*has_command*/) {
  const std::string_view range = options["capture-range"];
  if (range != "none" && range != "cudaProfilerApi" && range != "nvtx") {
    return Fail(ErrorCode::kUsage, "read --capture-range", "there is no such range",
                "use one of: none, cudaProfilerApi, nvtx");
  }
  if ((range == "nvtx") != !options["nvtx"].empty()) {
    return Fail(ErrorCode::kUsage, "read --nvtx", "a range and --capture-range nvtx need each other",
                "write --capture-range nvtx --nvtx RANGE");
  }
  const std::string_view sample = options["sample"];
  if (sample != "none" && sample != "process-tree" && sample != "system-wide") {
    return Fail(ErrorCode::kUsage, "read --sample", "there is no such kind of samples",
                "use one of: none, process-tree, system-wide");
  }
  return OkStatus();
}

// As nsys takes it: "10", "0.5".
std::string InSeconds(int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(ms / 1000), static_cast<long long>(ms % 1000));
  std::string seconds = text;
  while (seconds.ends_with('0')) seconds.pop_back();
  if (seconds.ends_with('.')) seconds.pop_back();
  return seconds;
}

// By default nsys looks for the range of a capture among registered strings alone, which PyTorch's and nvtx's names are
// not, and then it traces nothing. What the caller set counts. nsys hands it on to the command, where it is read.
void MatchAllRanges(std::vector<std::string>& environment) {
  constexpr char kRegisteredOnly[] = "NSYS_NVTX_PROFILER_REGISTER_ONLY";
  if (FindVariable(environment, kRegisteredOnly) == nullptr) {
    SetVariable(environment, std::string(kRegisteredOnly) + "=0");
  }
}

Result<std::vector<ToolStep>> ProbeNsys(const PlanInput& input) {
  return std::vector<ToolStep>{{.name = "ask nsys for its version",
                                .argv = {std::string(input.program), "--version"},
                                .stdout_file = kNsysVersion,
                                .limit_ms = 10'000}};
}

Result<ToolPlan> PlanNsys(const PlanInput& input) {
  const ToolOptions& options = input.options;
  ToolPlan plan;
  const std::string version = VersionIn(ReadToolFile(InFolder(input, kNsysVersion), 64 << 10));
  RETURN_IF_ERROR(CheckNsysRelease(std::string(input.program), version));
  plan.environment = input.request.environment;
  std::erase_if(plan.environment, [](const std::string& variable) {
    return variable.starts_with(std::string(kToolPathVariable) + "=") ||
           variable.starts_with(std::string(kNcuFolderVariable) + "=");
  });
  std::vector<std::string>& argv = plan.argv;
  argv = {std::string(input.program),
          "profile",
          "--kill=none",
          "--force-overwrite=true",
          "--output",
          InFolder(input, "report"),
          "--trace=" + std::string(options["trace"]),
          "--sample=" + std::string(options["sample"])};
  if (options["sample"] == "none") argv.emplace_back("--cpuctxsw=none");
  if (options["trace"].find("cuda") != std::string_view::npos) argv.emplace_back("--cuda-graph-trace=node");
  if (!options["delay"].empty()) argv.push_back("--delay=" + InSeconds(options.Number("delay")));
  if (!options["duration"].empty()) argv.push_back("--duration=" + InSeconds(options.Number("duration")));
  if (options["capture-range"] != "none") {
    argv.push_back("--capture-range=" + std::string(options["capture-range"]));
    argv.emplace_back("--capture-range-end=stop");
    if (!options["nvtx"].empty()) {
      argv.push_back("--nvtx-capture=" + std::string(options["nvtx"]));
      MatchAllRanges(plan.environment);
    }
  }
  argv.insert(argv.end(), input.request.argv.begin(), input.request.argv.end());

  const int64_t release = ReleaseOf(version);
  if (release == 0 || release > kLastNsysRelease) {
    plan.notes.push_back("tool_version_unknown: nsys is of " +
                         (version.empty() ? "a version that it does not tell" : version) +
                         ", which kprof was not tried with; its export may be read in part");
  }
  WriteToolSettings(input, {.version = version, .argv = argv});
  plan.after.push_back({.name = "export the report",
                        .argv = {std::string(input.program), "export", "--type", "sqlite", "--force-overwrite=true",
                                 "--output", InFolder(input, kNsysExport), InFolder(input, kNsysReport)},
                        .stdout_file = kNsysExportLog});
  return plan;
}

// By the end of what was printed: nsys has no log of its own.
Judgement JudgeNsys(const PlanInput& input, const TriedCommand& tried) {
  Judgement judgement;
  if (tried.printed.find("will not be able to trace CUDA") != std::string_view::npos ||
      tried.printed.find("MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED") != std::string_view::npos) {
    judgement.notes.emplace_back(
        "events_dropped: the command uses CUPTI itself (a profiler of its framework, say), and nsys could not trace "
        "CUDA in it");
  }
  if (tried.exit_code != 0 || !ReadToolFile(InFolder(input, kNsysReport), 1).empty()) return judgement;
  std::string said;
  for (size_t begin = 0; begin < tried.printed.size();) {
    const size_t end = std::min(tried.printed.find('\n', begin), tried.printed.size());
    const std::string_view line = tried.printed.substr(begin, end - begin);
    for (const std::string_view word : {"No reports were generated", "Collection was not started", "error", "Error"}) {
      if (said.empty() && line.find(word) != std::string_view::npos) said = ClippedText(line, 300);
    }
    begin = end + 1;
  }
  const bool has_range = input.options["capture-range"] != "none" || !input.options["delay"].empty();
  judgement.failed = Fail(ErrorCode::kToolFailed, "trace with nsys",
                          "nsys left no report" + (said.empty() ? std::string() : "; it says: " + said),
                          has_range ? "check that the command reaches the range, and outlives --delay"
                                    : "see the run's logs for what it said");
  return judgement;
}

}  // namespace

extern const Tool kNsysTool;
const Tool kNsysTool{
    .name = "nsys",
    .summary = "a timeline of kernels, copies, API calls and NVTX ranges, by Nsight Systems",
    .has_charts = true,
    .needs = {.clocks = "lock", .program = "nsys"},
    .options = kNsysOptions,
    .outputs = kNsysOutputs,
    .check = &CheckNsys,
    .probe = &ProbeNsys,
    .plan = &PlanNsys,
    .judge = &JudgeNsys,
};

}  // namespace kprof
