// The parts that the tools of ncu share, `ncu` and `annotation`: the command line, the export of the report, and what
// its messages mean. A tool chooses what is collected, and of which kernels.
//
// ncu's own messages go into a log of its own (--log-file), so they are never mistaken for the command's. Clocks are
// left alone (--clock-control none): kprofd holds them, and ncu would give back what is not its own.
//
// Values; any thread, but for JudgeNcu and the writing of tool.json, which touch files in the tool's folder.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/ncu_answers.h"
#include "daemon/capture/tool.h"

namespace kprof {

inline constexpr std::string_view kNcuReport = "report.ncu-rep";
inline constexpr std::string_view kNcuCsv = "report.csv";
inline constexpr std::string_view kNcuLog = "ncu.log";

// The reader of the report.
inline constexpr std::string_view kNcuReader = "ncu-rep";

// The outputs of both tools.
inline constexpr ToolOutput kNcuOutputs[] = {
    {.glob = kNcuReport, .reader = kNcuReader, .required = true},
    {.glob = kNcuCsv},
    {.glob = "source.csv"},
    {.glob = "stages.csv"},
    {.glob = kNcuLog},
    {.glob = "tool.json"},
    {.glob = "try*"},  // reports and logs of tries that were repeated
    {.glob = "**", .reader = "auto"},
};

// The choice of a tool: sections, metrics, kernels.
struct NcuChoice {
  std::vector<std::string> sets;
  std::vector<std::string> sections;
  std::vector<std::string> metrics;        // ours: those that the device does not have are left out
  std::vector<std::string> users_metrics;  // as they are
  std::vector<std::string> nvtx_ranges;    // kernels in one of these, names or expressions of ncu's language, or
  std::vector<std::string> stages;         // in ranges of these names; both empty: all kernels
  std::vector<std::string> nvtx_excluded;  // no kernels in these, as nvtx_ranges says it
  bool with_nvtx = false;                  // ranges are recorded, whichever kernels are collected
  bool with_source = false;
  bool names_stages = false;  // one more table, with the innermost range in place of the kernel's name
};

// An option of both tools.
inline constexpr ToolOption kCacheControl{
    .name = "cache-control",
    .type = ToolOptionType::kText,
    .usual = "all",
    .meaning = "Caches that are flushed before each pass of a kernel: all, or none, to see it as warm as it runs"};

inline constexpr ToolOption kStages{
    .name = "stages",
    .type = ToolOptionType::kJson,
    .usual = "",
    .meaning =
        "The stages, and what each has to do: {\"NAME\": {\"flops\": N, \"bytes\": N}}, or @FILE (default: "
        "those of --params)"};

// Options that both tools have: how many launches, and of which kernels; caches; retry; stages, also those of --params.
Status CheckNcuOptions(const ToolOptions& options, bool has_command);

// Ok if ncu can be asked for ranges of that name; else kUsage.
Status CheckStageRange(const std::string& stage);

// Also writes tool.json: program, version, settings and command line, for whoever compares two runs.
Result<ToolPlan> PlanWithNcu(const PlanInput& input, const NcuChoice& choice);

Result<std::vector<ToolStep>> ProbeNcu(const PlanInput& input);

// By ncu's log and the end of what was printed. One more try is for errors that pass by themselves: those after
// autotuning, whose best configuration is cached by then, and counters that somebody else had.
Judgement JudgeNcu(const PlanInput& input, const TriedCommand& tried);

// "a,b" as a list; an empty part does not count.
std::vector<std::string> CommaList(std::string_view text);

// As CommaList, of ranges in ncu's language, where a comma behind a backslash is part of a name.
std::vector<std::string> RangeList(std::string_view text);

}  // namespace kprof
