// The command lines of the tools that run NVIDIA's programs, word for word: a program of another version may refuse a
// word, so each change here is one to think of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/capture/ncu_lock.h"
#include "daemon/capture/tools.h"
#include "daemon/launch/ncu_metrics.h"
#include "storage/base/environment.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// A tool's plan of `python bench.py`, and what it says of an end.
class Planned {
 public:
  Planned(const char* tool, const std::vector<std::string>& options) : tool_(*FindTool(tool)) {
    request_.tool = tool;
    request_.argv = {"python", "bench.py"};
    request_.options = options;
    request_.environment = {"PATH=/usr/bin", "TMPDIR=" + std::string(folder_.path()), "KPROF_TOOL_PATH=/x"};
    options_ = *ReadToolOptions(tool_, options);
    std::string listed = "Device NVIDIA H200 (GH100)\n";  // which has all that is asked for
    for (const std::string_view metric : kLightNcuMetrics) listed += std::string(metric) + "\n";
    for (const std::string_view metric : kFullNcuMetrics) listed += std::string(metric) + "\n";
    Write(".ncu-metrics", listed);
  }

  PlanInput Input() const { return {request_, options_, folder_path_, "/opt/tool"}; }
  Result<ToolPlan> Plan() const { return tool_.plan(Input()); }
  Judgement Judge(const TriedCommand& tried) const { return tool_.judge(Input(), tried); }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  bool Has(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  LaunchRequest& request() { return request_; }

  // A command line as text; OUT is the tool's folder, METRICS the list.
  std::string Text(const std::vector<std::string>& argv) const {
    std::string text;
    for (size_t i = 0; i < argv.size(); ++i) {
      std::string word = i > 0 && argv[i - 1] == "--metrics" ? "METRICS" : argv[i];
      if (const size_t at = word.find(folder_.path()); at != std::string::npos) {
        word.replace(at, std::string(folder_.path()).size(), "OUT");
      }
      text += (text.empty() ? "" : " ") + word;
    }
    return text;
  }

 private:
  const Tool& tool_;
  TemporaryFolder folder_;
  const std::string folder_path_ = folder_.path();
  LaunchRequest request_;
  ToolOptions options_;
};

struct PlannedLine {
  const char* tool;
  std::vector<std::string> options;
  const char* line;
};
class PlannedLines : public testing::TestWithParam<PlannedLine> {};

TEST_P(PlannedLines, AreWordForWord) {
  const Planned planned(GetParam().tool, GetParam().options);
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(planned.Text(plan->argv), GetParam().line);
  EXPECT_THAT(plan->environment, Not(Contains(StartsWith("KPROF_TOOL_PATH"))));
}

#define NCU_REST "--kernel-name-base demangled -f -o OUT/report --log-file OUT/ncu.log "
#define NCU "/opt/tool --target-processes all --replay-mode kernel --clock-control none --cache-control all " NCU_REST

INSTANTIATE_TEST_SUITE_P(
    Ncu, PlannedLines,
    testing::Values(
        PlannedLine{"ncu", {}, NCU "--set full --metrics METRICS python bench.py"},
        PlannedLine{"ncu", {"set=basic"}, NCU "--set basic --metrics METRICS python bench.py"},
        PlannedLine{"ncu",
                    {"section=SpeedOfLight,Occupancy"},
                    NCU "--section SpeedOfLight --section Occupancy --metrics METRICS python bench.py"},
        PlannedLine{"ncu",
                    {"set=detailed", "section=SourceCounters"},
                    NCU "--set detailed --section SourceCounters --metrics METRICS python bench.py"},
        PlannedLine{"ncu",
                    {"launch-skip=3", "launch-count=20"},
                    NCU "--set full --metrics METRICS --launch-skip 3 --launch-count 20 python bench.py"},
        PlannedLine{"ncu",
                    {"kernel-name=^(mla|gemm)"},
                    NCU "--set full --metrics METRICS --kernel-name regex:^(mla|gemm) python bench.py"},
        PlannedLine{"ncu",
                    {"nvtx=attention"},
                    NCU "--set full --metrics METRICS --nvtx --nvtx-include attention --nvtx-include attention/ "
                        "python bench.py"},
        PlannedLine{"ncu",
                    {"nvtx=D@a/,b/c"},
                    NCU "--set full --metrics METRICS --nvtx --nvtx-include D@a/ --nvtx-include b/c python bench.py"},
        PlannedLine{"ncu",
                    {"nvtx=a\\,b,c", "nvtx-exclude=warm up"},
                    NCU "--set full --metrics METRICS --nvtx --nvtx-include a\\,b --nvtx-include c --nvtx-include c/ "
                        "--nvtx-exclude warm up --nvtx-exclude warm up/ python bench.py"},
        PlannedLine{"ncu",
                    {"profile-from-start=off", "graph-profiling=graph", "launch-skip-before-match=5",
                     "kernel-id=::regex:gemm:3"},
                    NCU "--set full --metrics METRICS --profile-from-start off --graph-profiling graph "
                        "--launch-skip-before-match 5 --kernel-id ::regex:gemm:3 python bench.py"},
        PlannedLine{"ncu",
                    {"source=true"},
                    NCU "--set full --section SourceCounters --metrics METRICS --import-source yes python bench.py"},
        PlannedLine{"ncu",
                    {"replay-mode=app-range", "retry=2"},
                    "/opt/tool --target-processes all --replay-mode app-range --clock-control none --cache-control "
                    "all " NCU_REST "--set full --metrics METRICS python bench.py"},
        PlannedLine{"ncu",
                    {"cache-control=none"},
                    "/opt/tool --target-processes all --replay-mode kernel --clock-control none --cache-control "
                    "none " NCU_REST "--set full --metrics METRICS python bench.py"},
        PlannedLine{"annotation",
                    {"cache-control=none"},
                    "/opt/tool --target-processes all --replay-mode kernel --clock-control none --cache-control "
                    "none " NCU_REST "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics "
                    "METRICS --nvtx python bench.py"},
        PlannedLine{"annotation",
                    {},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS --nvtx "
                        "python bench.py"},
        PlannedLine{"annotation",
                    {"stages={\"qk\":{\"flops\":1e9},\"pv\":{\"flops\":2e9}}", "launch-count=4"},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS "
                        "--launch-count 4 --nvtx --nvtx-include qk --nvtx-include qk/ --nvtx-include pv --nvtx-include "
                        "pv/ python bench.py"},
        PlannedLine{"annotation",
                    {"params={\"b\":1,\"stages\":[{\"name\":\"qk\",\"flops\":1}]}"},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS --nvtx "
                        "--nvtx-include qk --nvtx-include qk/ python bench.py"},
        PlannedLine{"annotation",
                    {"params={\"stages\":{\"qk\":{}}}", "stages=[{\"name\":\"pv\"}]"},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS --nvtx "
                        "--nvtx-include pv --nvtx-include pv/ python bench.py"},
        // A stage's name is no expression of ncu's; that with a slash is also a path of ranges.
        PlannedLine{"annotation",
                    {"stages={\"f[0],*x@+\":{},\"a/b]\":{},\"/c\":{}}"},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS --nvtx "
                        "--nvtx-include f\\[0\\]\\,\\*x\\@\\+ --nvtx-include f\\[0\\]\\,\\*x\\@\\+/ "
                        "--nvtx-include a\\/b\\] --nvtx-include a\\/b\\]/ --nvtx-include a/b\\] "
                        "--nvtx-include \\/c --nvtx-include \\/c/ python bench.py"},
        PlannedLine{"annotation",
                    {"stages={\"stages\":[{\"name\":\"qk\",\"flops\":1}]}", "nvtx=other/"},
                    NCU "--section LaunchStats --section Occupancy --section SpeedOfLight --metrics METRICS --nvtx "
                        "--nvtx-include other/ python bench.py"}));
#undef NCU
#undef NCU_REST

#define NSYS "/opt/tool profile --kill=none --force-overwrite=true --output OUT/report "

INSTANTIATE_TEST_SUITE_P(
    Nsys, PlannedLines,
    testing::Values(
        PlannedLine{
            "nsys", {}, NSYS "--trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node python bench.py"},
        PlannedLine{"nsys",
                    {"delay=500ms", "duration=10s"},
                    NSYS "--trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node --delay=0.5 "
                         "--duration=10 python bench.py"},
        PlannedLine{"nsys",
                    {"trace=nvtx,osrt", "sample=process-tree"},
                    NSYS "--trace=nvtx,osrt --sample=process-tree python bench.py"},
        PlannedLine{"nsys",
                    {"capture-range=cudaProfilerApi"},
                    NSYS "--trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node "
                         "--capture-range=cudaProfilerApi --capture-range-end=stop python bench.py"},
        PlannedLine{"nsys",
                    {"capture-range=nvtx", "nvtx=step@*"},
                    NSYS "--trace=cuda,nvtx --sample=none --cpuctxsw=none --cuda-graph-trace=node --capture-range=nvtx "
                         "--capture-range-end=stop --nvtx-capture=step@* python bench.py"}));
#undef NSYS

TEST(ToolSteps, PrintTheReportOfNcu) {
  const Planned planned("ncu", {"source=true"});
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_THAT(plan->after, SizeIs(2));
  EXPECT_EQ(planned.Text(plan->after[0].argv),
            "/usr/bin/env LC_ALL=C /opt/tool --import OUT/report.ncu-rep --page raw --csv --print-units base");
  EXPECT_EQ(plan->after[0].stdout_file, "report.csv");
  EXPECT_EQ(planned.Text(plan->after[1].argv),
            "/usr/bin/env LC_ALL=C /opt/tool --import OUT/report.ncu-rep --page source --csv --print-units base "
            "--print-source sass");
  EXPECT_TRUE(plan->after[0].is_optional && plan->after[1].is_optional);  // the report itself is what is read
}

TEST(ToolSteps, PrintTheStagesOfAnnotation) {
  const Planned planned("annotation", {});
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_THAT(plan->after, SizeIs(2));
  EXPECT_EQ(planned.Text(plan->after[1].argv),
            "/usr/bin/env LC_ALL=C /opt/tool --import OUT/report.ncu-rep --page raw --csv --print-units base "
            "--print-nvtx-rename kernel");
  EXPECT_EQ(plan->after[1].stdout_file, "stages.csv");
}

TEST(ToolSteps, ExportTheReportOfNsys) {
  const Planned planned("nsys", {});
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_THAT(plan->after, SizeIs(1));
  EXPECT_EQ(planned.Text(plan->after[0].argv),
            "/opt/tool export --type sqlite --force-overwrite=true --output OUT/report.sqlite OUT/report.nsys-rep");
  EXPECT_FALSE(plan->after[0].is_optional);
}

std::vector<std::string> MetricsOf(const ToolPlan& plan) {
  const auto option = std::find(plan.argv.begin(), plan.argv.end(), "--metrics");
  std::vector<std::string> metrics;
  if (option == plan.argv.end()) return metrics;
  std::string rest = *(option + 1) + ",";
  for (size_t comma = rest.find(','); comma != std::string::npos; comma = rest.find(',')) {
    metrics.push_back(rest.substr(0, comma));
    rest.erase(0, comma + 1);
  }
  return metrics;
}

TEST(NcuMetrics, AreAllThatAnalysesRead) {
  const Result<ToolPlan> light = Planned("annotation", {}).Plan();
  EXPECT_THAT(MetricsOf(*light), testing::ElementsAreArray(kLightNcuMetrics));
  const Result<ToolPlan> full = Planned("ncu", {"metrics=my__metric.sum,gpu__time_duration.sum"}).Plan();
  const std::vector<std::string> metrics = MetricsOf(*full);
  EXPECT_THAT(metrics, SizeIs(std::size(kLightNcuMetrics) + std::size(kFullNcuMetrics) + 1));
  EXPECT_EQ(metrics.back(), "my__metric.sum");
  // The tensor metric that the roofline reads is among those that are asked for.
  EXPECT_THAT(metrics, Contains("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"));
}

TEST(NcuMetrics, ThatTheDeviceLacksAreLeftOut) {
  const Planned planned("annotation", {});
  planned.Write(".ncu-version", "Version 2024.3.1.0\n");
  planned.Write(".ncu-metrics",
                "Device NVIDIA H200 (GH100)\ngpu__time_duration  Counter\nsm__throughput  Throughput\n");
  const Result<ToolPlan> plan = planned.Plan();
  EXPECT_THAT(MetricsOf(*plan), Contains("sm__throughput.avg.pct_of_peak_sustained_elapsed"));
  EXPECT_THAT(MetricsOf(*plan), Contains("launch__registers_per_thread"));
  EXPECT_THAT(MetricsOf(*plan), Not(Contains("dram__bytes_read.sum")));
  EXPECT_THAT(plan->notes, IsEmpty());
  EXPECT_THAT(planned.Read("tool.json"), HasSubstr("\"version\":\"2024.3.1.0\""));
  EXPECT_THAT(planned.Read("tool.json"), HasSubstr("\"dram__bytes_read.sum\""));
  EXPECT_THAT(planned.Read("tool.json"), HasSubstr("\"clock_control\":\"none\",\"cache_control\":\"all\""));
  const Planned warm("annotation", {"cache-control=none"});
  EXPECT_TRUE(warm.Plan().ok());
  EXPECT_THAT(warm.Read("tool.json"), HasSubstr("\"cache_control\":\"none\""));
}

TEST(NcuMetrics, OfADeviceThatNobodyKnowsAreThoseOfSectionsAlone) {
  const Planned planned("ncu", {});
  planned.Write(".ncu-metrics", "");
  planned.Write(".ncu-version", "Version 2024.3.1.0\n");
  EXPECT_THAT(MetricsOf(*planned.Plan()), IsEmpty());
  EXPECT_THAT(planned.Plan()->notes, ElementsAre(StartsWith("metrics_unchecked: ")));
  const Planned asking("ncu", {"metrics=my__metric.sum"});
  asking.Write(".ncu-metrics", "");
  EXPECT_THAT(MetricsOf(*asking.Plan()), ElementsAre("my__metric.sum"));
}

TEST(ToolVersions, ThatAreNotKnownAreSaid) {
  for (const char* version : {"", "Version 2031.1.0.0\n", "Version 2019.5.0\n"}) {
    const Planned planned("ncu", {});
    planned.Write(".ncu-version", version);
    planned.Write(".ncu-metrics", "sm__throughput x\n");
    EXPECT_THAT(planned.Plan()->notes, ElementsAre(StartsWith("tool_version_unknown: ncu is of "))) << version;
  }
  const Planned nsys("nsys", {});
  EXPECT_THAT(nsys.Plan()->notes, ElementsAre(StartsWith("tool_version_unknown: nsys is of ")));
  nsys.Write(".nsys-version", "NVIDIA Nsight Systems version 2024.6.2.225-246235244400v0\n");
  EXPECT_THAT(nsys.Plan()->notes, IsEmpty());
}

TEST(ToolVersions, OfNsysBeforeItsReportsAreRefused) {
  const Planned nsys("nsys", {});
  nsys.Write(".nsys-version", "NVIDIA Nsight Systems version 2021.3.3.2-b99c4d6\n");
  const Status status = nsys.Plan().status();
  EXPECT_EQ(status.code(), ErrorCode::kToolMissing);
  EXPECT_THAT(status.ToString(), HasSubstr("/opt/tool is of 2021.3.3.2"));
  EXPECT_THAT(status.remedy(), HasSubstr("2021.4 or later"));
  nsys.Write(".nsys-version", "NVIDIA Nsight Systems version 2021.4.1.73-08591f7\n");
  EXPECT_THAT(nsys.Plan()->notes, IsEmpty());
}

TEST(NsysEnvironment, LetsARangeOfAnyNameBeginTheTrace) {
  constexpr char kRegisteredOnly[] = "NSYS_NVTX_PROFILER_REGISTER_ONLY";
  Planned planned("nsys", {"capture-range=nvtx", "nvtx=step"});
  EXPECT_THAT(planned.Plan()->environment, Contains(std::string(kRegisteredOnly) + "=0"));
  planned.request().environment.push_back(std::string(kRegisteredOnly) + "=1");  // the caller's word
  EXPECT_THAT(planned.Plan()->environment, Contains(std::string(kRegisteredOnly) + "=1"));
  EXPECT_THAT(planned.Plan()->environment, Not(Contains(std::string(kRegisteredOnly) + "=0")));
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"capture-range=cudaProfilerApi"}}) {
    EXPECT_THAT(Planned("nsys", options).Plan()->environment, Not(Contains(StartsWith(kRegisteredOnly))));
  }
}

class NcuTmpdir : public testing::Test {
 protected:
  NcuTmpdir() {
    EXPECT_TRUE(PrepareNcuFolder(own_ / "ncu").ok());
    planned_.request().environment.push_back("KPROF_NCU_FOLDER=" + (own_ / "ncu"));
  }

  const TemporaryFolder own_;
  Planned planned_{"annotation", {}};
};

TEST_F(NcuTmpdir, IsThatOfAllAndTheCommandKeepsItsOwn) {
  const Result<ToolPlan> plan = planned_.Plan();
  EXPECT_THAT(plan->environment, Contains("TMPDIR=" + (own_ / "ncu")));
  EXPECT_THAT(plan->environment, Not(Contains(StartsWith("KPROF_NCU_FOLDER"))));
  EXPECT_THAT(planned_.Text(plan->argv), testing::EndsWith(" --nvtx /usr/bin/env TMPDIR=OUT python bench.py"));
}

TEST_F(NcuTmpdir, IsTakenFromACommandThatHadNone) {
  std::erase_if(planned_.request().environment, [](const std::string& text) { return text.starts_with("TMPDIR="); });
  const Result<ToolPlan> plan = planned_.Plan();
  const bool is_open = CheckNcuLock("/tmp/nsight-compute-lock", ::geteuid()).ok();
  EXPECT_THAT(planned_.Text(plan->argv),
              testing::EndsWith(is_open ? " /usr/bin/env -u TMPDIR python bench.py" : " --nvtx python bench.py"));
}

TEST_F(NcuTmpdir, IsTheCommandsWhereItsOwnLockIsAnothers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root makes a file another's";
  const TemporaryFolder shared;
  const std::string lock = shared / kNcuLockName;
  std::ofstream(lock) << "";
  // As in a /tmp of which somebody else made the lock; root's own rights do not open it (fs.protected_regular).
  ASSERT_EQ(::chown(lock.c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(std::string(shared.path()).c_str(), 01777), 0);
  if (CheckNcuLock(lock, ::geteuid()).ok()) GTEST_SKIP() << "needs fs.protected_regular";
  SetVariable(planned_.request().environment, "TMPDIR=" + shared.path());
  const Result<ToolPlan> plan = planned_.Plan();
  EXPECT_THAT(plan->environment, Contains("TMPDIR=" + (own_ / "ncu")));
  EXPECT_THAT(planned_.Text(plan->argv), testing::EndsWith(" --nvtx python bench.py"));
}

TEST_F(NcuTmpdir, OfSomebodyElseDoesNotCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root makes a folder another's";
  ASSERT_EQ(::chown((own_ / "ncu").c_str(), 12345, 12345), 0);
  const Result<ToolPlan> plan = planned_.Plan();
  EXPECT_THAT(plan->environment, Not(Contains("TMPDIR=" + (own_ / "ncu"))));
  EXPECT_THAT(planned_.Text(plan->argv), testing::EndsWith(" --nvtx python bench.py"));
}

struct BadToolOptions {
  const char* tool;
  std::vector<std::string> options;
  const char* why;
};
class RefusedToolOptions : public testing::TestWithParam<BadToolOptions> {};

TEST_P(RefusedToolOptions, AreNamed) {
  const Status checked = CheckToolRequest(*FindTool(GetParam().tool), {"prog"}, GetParam().options);
  EXPECT_EQ(checked.code(), ErrorCode::kUsage);
  EXPECT_THAT(checked.ToString(), HasSubstr(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedToolOptions,
    testing::Values(
        BadToolOptions{"ncu", {"launch-count=0"}, "--launch-count"},
        BadToolOptions{"ncu", {"launch-skip=-1"}, "--launch-skip"}, BadToolOptions{"ncu", {"retry=10"}, "--retry"},
        BadToolOptions{"ncu", {"cache-control=flush"}, "use one of: all, none"},
        BadToolOptions{"ncu", {"profile-from-start=later"}, "use one of: on, off"},
        BadToolOptions{"ncu", {"graph-profiling=all"}, "use one of: node, graph"},
        BadToolOptions{"ncu", {"launch-skip-before-match=-1"}, "it is negative"},
        BadToolOptions{"annotation", {"cache-control=l2"}, "read --cache-control"},
        BadToolOptions{"ncu", {"replay-mode=graph"}, "kernel, application, range, app-range"},
        BadToolOptions{"ncu", {"params={\"b\":}"}, "byte 5"}, BadToolOptions{"ncu", {"params=3"}, "plain value"},
        BadToolOptions{"annotation", {"stages={}"}, "names no stage"},
        BadToolOptions{"annotation", {"stages={\"\":{}}"}, "stage's name"},
        BadToolOptions{"annotation", {"stages=[1"}, "byte 2"},
        BadToolOptions{"annotation", {"stages={\"qk\":{\"flops\":-1}}"}, "byte 15: flops of stage 'qk'"},
        BadToolOptions{"annotation", {"stages={\"qk\":{\"dtype\":16}}"}, "the dtype of stage 'qk' is no short text"},
        BadToolOptions{"annotation", {"params={\"stages\":{\"qk\":1}}"}, "read --params: byte 16: stage 'qk'"},
        BadToolOptions{"ncu", {"params={\"stages\":{\"qk\":{\"bytes\":-1}}}"}, "bytes of stage 'qk'"},
        BadToolOptions{"annotation", {R"(stages={"a\\b":{}})"}, "have a backslash"},
        BadToolOptions{"annotation", {R"(params={"stages":{"regex:.*":{}}})"}, "regex: is a word of its language"},
        BadToolOptions{"nsys", {"delay=10"}, "no duration"}, BadToolOptions{"nsys", {"duration=0s"}, "no duration"},
        BadToolOptions{"nsys", {"capture-range=all"}, "cudaProfilerApi"},
        BadToolOptions{"nsys", {"capture-range=nvtx"}, "need each other"},
        BadToolOptions{"nsys", {"nvtx=x"}, "need each other"}, BadToolOptions{"nsys", {"sample=all"}, "--sample"}));

TEST(ToolOptionsOfStages, ThatSelectNothingMayHaveAnyName) {
  const Tool& tool = *FindTool("annotation");
  EXPECT_TRUE(CheckToolRequest(tool, {"prog"}, {R"(stages={"a\\b":{}})", "nvtx=a"}).ok());
  EXPECT_TRUE(CheckToolRequest(*FindTool("ncu"), {"prog"}, {R"(params={"stages":{"a\\b":{}}})"}).ok());
}

struct JudgedEnd {
  const char* log;      // of ncu
  const char* printed;  // by the command
  int exit_code;
  ErrorCode code;  // kOk: by the exit code
  const char* said;
};
class JudgedEnds : public testing::TestWithParam<JudgedEnd> {};

TEST_P(JudgedEnds, AreSaidWithTheirRemedy) {
  const Planned planned("ncu", {});
  planned.Write("ncu.log", GetParam().log);
  const Judgement said =
      planned.Judge({.exit_code = GetParam().exit_code, .signal = {}, .printed = GetParam().printed, .number = 1});
  EXPECT_EQ(said.failed.code(), GetParam().code) << said.failed.ToString();
  EXPECT_THAT(said.failed.ok() ? "" : said.failed.ToString(), HasSubstr(GetParam().said));
  EXPECT_EQ(said.again, "");
}

INSTANTIATE_TEST_SUITE_P(
    Ncu, JudgedEnds,
    testing::Values(
        JudgedEnd{"==PROF== Connected to process 1\n==PROF== Report: r\n", "permission denied\n", 0, ErrorCode::kOk,
                  ""},
        JudgedEnd{"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
                  "Counters on the target device 0.\n",
                  "", 0, ErrorCode::kToolFailed, "NVreg_RestrictProfilingToAdminUsers=0"},
        JudgedEnd{"", "==ERROR== Profiling requires root\n", 1, ErrorCode::kToolFailed, "CAP_SYS_ADMIN"},
        JudgedEnd{"==ERROR== Profiling permissions are missing\n", "", 1, ErrorCode::kToolFailed, "ERR_NVGPUCTRPERM"},
        // Files that cannot be written are no matter of counters.
        JudgedEnd{"==ERROR== Failed to open report file /x/report.ncu-rep: Permission denied\n", "", 1,
                  ErrorCode::kToolFailed,
                  "ncu says: Failed to open report file /x/report.ncu-rep: Permission denied; see that this user may "
                  "write to the file or folder that it names"},
        JudgedEnd{"==ERROR== Access denied: /x/metrics\n", "", 1, ErrorCode::kToolFailed,
                  "see that this user may write"},
        JudgedEnd{"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool "
                  "(like DCGM) is concurrently collecting profiling data.\n",
                  "", 1, ErrorCode::kToolFailed, "DCGM"},
        JudgedEnd{
            "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has "
            "write permissions on it. (InterprocessLockFailed)\n",
            "", 9, ErrorCode::kToolFailed, "nsight-compute-lock"},
        JudgedEnd{"==WARNING== No kernels were profiled.\n", "", 0, ErrorCode::kNoKernels, "--kernel-name"},
        JudgedEnd{"==WARNING== No kernels were profiled.\n==ERROR== The application returned an error code (3).\n", "",
                  3, ErrorCode::kOk, ""},
        JudgedEnd{"==ERROR== The application returned an error code (9).\n", "", 9, ErrorCode::kOk, ""},
        JudgedEnd{"==ERROR== Failed to find metric my__metric.sum\n", "", 1, ErrorCode::kToolFailed,
                  "ncu says: Failed to find metric my__metric.sum"},
        JudgedEnd{"==ERROR== Failed to profile \"x\" in process 3\n", "", 1, ErrorCode::kToolFailed, "ncu.log"},
        // Without --retry also what passes is an error.
        JudgedEnd{"==ERROR== LaunchFailed\n", "Autotuning done\nCUDA error: out of resource\n", 1,
                  ErrorCode::kToolFailed, "LaunchFailed"}));

TEST(Retries, AreForErrorsThatPass) {
  const Planned planned("ncu", {"retry=2"});
  planned.Write("ncu.log", "==ERROR== The application returned an error code (1).\n");
  planned.Write("report.ncu-rep", "half");
  const char* printed = "Autotuning kernel\nRuntimeError: CUDA error: an illegal memory access was encountered\n";
  const Judgement first = planned.Judge({.exit_code = 1, .signal = {}, .printed = printed, .number = 1});
  EXPECT_THAT(first.again, HasSubstr("autotuning"));
  EXPECT_THAT(first.notes, ElementsAre(StartsWith("retried: try 1: ")));
  EXPECT_TRUE(planned.Has("try1.ncu-rep"));
  EXPECT_TRUE(planned.Has("try1.log"));
  EXPECT_FALSE(planned.Has("report.ncu-rep"));
  planned.Write("ncu.log", "==ERROR== a driver resource was unavailable\n");
  EXPECT_THAT(planned.Judge({.exit_code = 1, .signal = {}, .printed = "", .number = 2}).again, HasSubstr("counters"));
  planned.Write("ncu.log", "==ERROR== a driver resource was unavailable\n");
  const Judgement last = planned.Judge({.exit_code = 1, .signal = {}, .printed = "", .number = 3});
  EXPECT_EQ(last.again, "");
  EXPECT_EQ(last.failed.code(), ErrorCode::kToolFailed);
}

// Triton's autotuner says nothing of itself; what does not fit is one of the configurations that it tries.
TEST(Retries, AreForConfigurationsThatDoNotFit) {
  const Planned planned("ncu", {"retry=1"});
  planned.Write("ncu.log", "==ERROR== The application returned an error code (1).\n");
  const char* printed = "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 262144\n";
  EXPECT_THAT(planned.Judge({.exit_code = 1, .signal = {}, .printed = printed, .number = 1}).again,
              HasSubstr("did not fit"));
}

TEST(Retries, AreNotForOthers) {
  const Planned planned("ncu", {"retry=2"});
  planned.Write("ncu.log", "");
  for (const char* printed : {"CUDA error: an illegal memory access\n", "Autotuning\nKeyError: 'x'\n", ""}) {
    EXPECT_EQ(planned.Judge({.exit_code = 1, .signal = {}, .printed = printed, .number = 1}).again, "") << printed;
  }
  EXPECT_EQ(planned.Judge({.exit_code = 0, .signal = {}, .printed = "autotuning\nCUDA error\n", .number = 1}).again,
            "");
}

TEST(NsysEnds, WithoutAReportAreSaid) {
  const Planned planned("nsys", {"delay=10s"});
  const Judgement said = planned.Judge({.exit_code = 0,
                                        .signal = {},
                                        .printed = "Collection was not started\nNo reports were generated\n",
                                        .number = 1});
  EXPECT_EQ(said.failed.code(), ErrorCode::kToolFailed);
  EXPECT_THAT(said.failed.ToString(), HasSubstr("Collection was not started"));
  EXPECT_THAT(said.failed.remedy(), HasSubstr("--delay"));
  planned.Write("report.nsys-rep", "x");
  EXPECT_TRUE(planned.Judge({.exit_code = 0, .signal = {}, .printed = "", .number = 1}).failed.ok());
}

TEST(NsysEnds, WithAnotherSubscriberAreDoubted) {
  const Planned planned("nsys", {});
  planned.Write("report.nsys-rep", "x");
  EXPECT_THAT(
      planned
          .Judge(
              {.exit_code = 0, .signal = {}, .printed = "Nsight Systems will not be able to trace CUDA\n", .number = 1})
          .notes,
      ElementsAre(StartsWith("events_dropped: ")));
}

TEST(JsonOptions, BecomeArtifacts) {
  const auto artifacts = JsonArtifacts(*FindTool("annotation"), {"stages={\"a\":{}}", "retry=1", "params={\"b\":1}"});
  EXPECT_THAT(artifacts,
              ElementsAre(testing::Pair("stages.json", "{\"a\":{}}"), testing::Pair("params.json", "{\"b\":1}")));
  EXPECT_THAT(JsonArtifacts(*FindTool("command"), {"params={}"}), SizeIs(1));
}

}  // namespace
}  // namespace kprof
