// The command lines of the Neuron tools, word for word, the steps behind them by what was left, and what the program's
// words are read as.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "daemon/capture/neuron_files.h"
#include "daemon/capture/neuron_plan.h"
#include "daemon/capture/tools.h"
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

constexpr char kHelpOfExplorer[] =
    "usage: view [--output-format parquet|json|perfetto|summary-text|summary-json] [--disable-ui] "
    "[--framework-source-root P] [--nki-source-root P] [--ignore-device-profile]\n";
constexpr char kHelpOfOlder[] =
    "usage: view [--output-format db|summary-text|summary-json|json|perfetto|parquet] [--framework-source-root P] "
    "[--ignore-device-profile]\n";

// An NTFF of version 5 of 64 bytes of message and 32 of records.
std::string NtffBytes() {
  std::string bytes(128 + 64 + 32, '\0');
  bytes[0] = 5;
  bytes[1] = 64;
  bytes[9] = 32;
  return bytes;
}

// A tool's plan, in a folder of its own and one where its command runs.
class NeuronPlanned {
 public:
  explicit NeuronPlanned(const char* tool, const std::vector<std::string>& options,
                         const std::vector<std::string>& command = {}, const char* program = "/opt/neuron-explorer")
      : tool_(*FindTool(tool)), program_(program) {
    request_.tool = tool;
    request_.argv = command;
    request_.options = options;
    request_.cwd = cwd_.path();
    request_.environment = {"PATH=/usr/bin", "HOME=/home/u", "KPROF_TOOL_PATH=/x"};
    options_ = *ReadToolOptions(tool_, options);
    const bool is_older = program_.ends_with("neuron-profile");
    Write(".neuron-version", is_older ? "neuron-profile 2.28.23.0%kaena\n" : "neuron-explorer 2.33.38.0%kaena\n");
    Write(".neuron-view-help", is_older ? kHelpOfOlder : kHelpOfExplorer);
    std::ofstream(cwd_ / "file.neff") << "NEFF";
    std::ofstream(cwd_ / "file.ntff") << NtffBytes();
  }

  PlanInput Input() const { return {request_, options_, folder_path_, program_}; }
  Result<ToolPlan> Plan() const { return tool_.plan(Input()); }
  Result<NextSteps> Next(int64_t round) const { return tool_.next(Input(), round); }
  const Tool& tool() const { return tool_; }
  Status Check() const { return CheckToolRequest(tool_, request_.argv, request_.options); }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  void WriteInCwd(const std::string& name, const std::string& text) const { std::ofstream(cwd_ / name) << text; }
  std::string InCwd(const std::string& name) const { return cwd_ / name; }
  std::string InFolder(const std::string& name) const { return folder_ / name; }
  LaunchRequest& request() { return request_; }

  // A command line as text; OUT is the tool's folder, CWD that of the command.
  std::string Text(const std::vector<std::string>& argv) const {
    std::string text;
    for (std::string word : argv) {
      for (const auto& [path, name] : {std::pair(folder_path_, "OUT"), std::pair(std::string(cwd_.path()), "CWD")}) {
        if (const size_t at = word.find(path); at != std::string::npos) word.replace(at, path.size(), name);
      }
      text += (text.empty() ? "" : " ") + word;
    }
    return text;
  }

 private:
  const Tool& tool_;
  const std::string program_;
  TemporaryFolder folder_;
  TemporaryFolder cwd_;
  const std::string folder_path_ = folder_.path();
  LaunchRequest request_;
  ToolOptions options_;
};

std::vector<std::string> Lines(const NeuronPlanned& planned, const std::vector<ToolStep>& steps) {
  std::vector<std::string> lines;
  for (const ToolStep& step : steps) {
    lines.push_back(planned.Text(step.argv) + (step.stdout_file.empty() ? "" : " > " + step.stdout_file) +
                    (step.is_optional ? " (optional)" : ""));
  }
  return lines;
}

struct NeuronLine {
  std::vector<std::string> options;
  const char* line;
};
class NeuronLines : public testing::TestWithParam<NeuronLine> {};

TEST_P(NeuronLines, AreWordForWord) {
  const NeuronPlanned planned("neuron", GetParam().options);
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(planned.Text(plan->argv), GetParam().line);
  EXPECT_THAT(plan->environment, Not(Contains(StartsWith("KPROF_TOOL_PATH"))));
}

#define CAPTURE "/opt/neuron-explorer capture -n file.neff -s OUT/profile.ntff --profile-nth-exec=2 --num-exec=2"

INSTANTIATE_TEST_SUITE_P(
    Neuron, NeuronLines,
    testing::Values(
        NeuronLine{{"neff=file.neff"}, CAPTURE},
        NeuronLine{{"neff=file.neff", "profile-nth-exec=10", "num-exec=10", "exec-mode=async"},
                   "/opt/neuron-explorer capture -n file.neff -s OUT/profile.ntff --profile-nth-exec=10 --num-exec=10 "
                   "--exec-mode=async"},
        NeuronLine{
            {"neff=file.neff", "workers-per-node=2", "worker-count=4", "worker-start-id=2", "profile-worker=all"},
            CAPTURE " --collectives-workers-per-node=2 --collectives-worker-count=4 "
                    "--collectives-worker-start-id=2 --collectives-profile-id=all"},
        NeuronLine{{"neff=file.neff", "ignore-exec-errors=true", "enable-dge-notifs=true", "single-io=true"},
                   CAPTURE " --ignore-exec-errors --enable-dge-notifs --single-io"},
        NeuronLine{{"neff=file.neff", "inputs=q=q.npy,k=/data/k.npy"}, CAPTURE " q q.npy k /data/k.npy"},
        NeuronLine{{"neff=file.neff", "ntff=file.ntff"},
                   "/opt/neuron-explorer view -n file.neff -s file.ntff --output-format parquet --output-file "
                   "OUT/file.tables --disable-ui"}));
#undef CAPTURE

TEST(NeuronSteps, MakeAProfileReadable) {
  const NeuronPlanned planned("neuron", {"neff=file.neff", "source-root=/src"});
  planned.Write("profile_exec_2.ntff", NtffBytes());
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(Lines(planned, next->steps),
              ElementsAre("/opt/neuron-explorer view -n file.neff -s OUT/profile_exec_2.ntff --output-format parquet "
                          "--output-file OUT/profile_exec_2.tables --disable-ui --framework-source-root /src "
                          "--nki-source-root /src",
                          "/opt/neuron-explorer view -n file.neff -s OUT/profile_exec_2.ntff --output-format "
                          "summary-json > profile_exec_2.summary.json (optional)"));
  EXPECT_THAT(planned.Next(1)->steps, IsEmpty());
}

TEST(NeuronSteps, OfTheOlderProgramAreJson) {
  const NeuronPlanned planned("neuron", {"neff=file.neff", "source-root=/src"}, {}, "/opt/neuron-profile");
  planned.Write("profile.ntff", NtffBytes());
  EXPECT_EQ(planned.Text(planned.Next(0)->steps[0].argv),
            "/opt/neuron-profile view -n file.neff -s OUT/profile.ntff --output-format json --output-file "
            "OUT/profile.view.json --framework-source-root /src");
}

TEST(NeuronSteps, OfASummaryAloneAreOne) {
  const NeuronPlanned planned("neuron", {"neff=file.neff", "view=summary"});
  planned.Write("profile.ntff", NtffBytes());
  EXPECT_THAT(Lines(planned, planned.Next(0)->steps),
              ElementsAre("/opt/neuron-explorer view -n file.neff -s OUT/profile.ntff --output-format summary-json > "
                          "profile.view.json"));
}

TEST(NeuronSteps, AreThoseOfEachExecutionInTheirOrder) {
  const NeuronPlanned planned("neuron", {"neff=file.neff", "view=json"});
  for (const char* name : {"profile_exec_10.ntff", "profile_exec_2.ntff", "profile_exec_4.ntff"}) {
    planned.Write(name, NtffBytes());
  }
  std::vector<std::string> names;
  const Result<NextSteps> next = planned.Next(0);
  for (const ToolStep& step : next->steps) names.push_back(step.name);
  EXPECT_THAT(names, ElementsAre("view profile_exec_2", "summarise profile_exec_2", "view profile_exec_4",
                                 "summarise profile_exec_4", "view profile_exec_10", "summarise profile_exec_10"));
}

// A reader would take the tables of two profiles for one.
TEST(NeuronSteps, OfSeveralProfilesAreJsonOrTheFirst) {
  const NeuronPlanned by_itself("neuron", {"neff=file.neff"});
  const NeuronPlanned told("neuron", {"neff=file.neff", "view=tables"});
  const NeuronPlanned later("neuron", {"neff=file.neff"});
  later.Write(".neuron-view-help", "--output-format parquet|perfetto|summary-text|summary-json\n");
  for (const NeuronPlanned* planned : {&by_itself, &told, &later}) {
    planned->Write("profile_rank_0.ntff", NtffBytes());
    planned->Write("profile_rank_1.ntff", NtffBytes());
  }
  EXPECT_THAT(by_itself.Next(0)->steps, SizeIs(4));
  EXPECT_THAT(by_itself.Text(by_itself.Next(0)->steps[2].argv), HasSubstr("--output-format json"));
  EXPECT_THAT(by_itself.Next(0)->notes, IsEmpty());
  for (const NeuronPlanned* planned : {&told, &later}) {
    const Result<NextSteps> next = planned->Next(0);
    EXPECT_THAT(next->steps, SizeIs(2));
    EXPECT_THAT(planned->Text(next->steps[0].argv), HasSubstr("profile_rank_0.ntff --output-format parquet"));
    EXPECT_THAT(next->notes, ElementsAre(StartsWith("output_left_out: 1 NTFFs more are kept")));
  }
}

TEST(NeuronSteps, KeepTheNeff) {
  const NeuronPlanned planned("neuron", {"neff=file.neff"});
  EXPECT_THAT(Lines(planned, planned.Plan()->after),
              ElementsAre("/bin/cp --reflink=auto -- file.neff OUT/file.neff (optional)"));
}

TEST(NeuronOfACommand, CompilesSoThatItsNeffIsLeft) {
  NeuronPlanned planned("neuron", {"disable-dge=true", "debug-info=true"}, {"python", "train.py"});
  planned.request().environment.emplace_back("NEURON_CC_FLAGS=-O1");
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(planned.Text(plan->argv), "python train.py");
  for (const char* variable : {"NEURON_FRAMEWORK_DEBUG=1", "NKI_DEBUG_INFO=True", "XLA_IR_DEBUG=1", "XLA_HLO_DEBUG=1",
                               "NEURON_CC_FLAGS=-O1 --disable-dge"}) {
    EXPECT_THAT(plan->environment, Contains(variable));
  }
  EXPECT_THAT(plan->after, IsEmpty());
}

TEST(NeuronOfACommand, ProfilesTheNewestNeffThatItLeft) {
  const NeuronPlanned planned("neuron", {}, {"python", "train.py"});
  std::filesystem::remove(planned.InCwd("file.neff"));
  ASSERT_TRUE(planned.Plan().ok());
  planned.WriteInCwd("a.neff", "1");
  std::filesystem::create_directory(planned.InCwd("cache"));
  planned.WriteInCwd("cache/b.neff", "2");
  while (FilesEndingWith(planned.InCwd(""), "b.neff", 2)[0].changed_ns <=
         FilesEndingWith(planned.InCwd(""), "a.neff", 0)[0].changed_ns) {
    planned.WriteInCwd("cache/b.neff", "2");  // until the file system's clock has moved on
  }
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(
      Lines(planned, next->steps),
      ElementsAre(
          "/opt/neuron-explorer capture -n CWD/cache/b.neff -s OUT/profile.ntff --profile-nth-exec=2 --num-exec=2",
          "/bin/cp --reflink=auto -- CWD/cache/b.neff OUT/b.neff (optional)"));
  EXPECT_THAT(next->notes, ElementsAre(AllOf(StartsWith("neff_chosen: "), HasSubstr("2 NEFFs"), HasSubstr("a.neff"))));
  planned.Write("profile_exec_2.ntff", NtffBytes());
  EXPECT_THAT(planned.Text(planned.Next(1)->steps[0].argv), HasSubstr("view -n CWD/cache/b.neff "));
}

TEST(NeuronOfACommand, ProfilesTheNeffThatIsTold) {
  const NeuronPlanned planned("neuron", {"neff=*fwd*"}, {"python", "train.py"});
  ASSERT_TRUE(planned.Plan().ok());
  planned.WriteInCwd("fwd.neff", "1");
  planned.WriteInCwd("bwd.neff", "2");
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(planned.Text(next->steps[0].argv), HasSubstr("-n CWD/fwd.neff "));
  EXPECT_THAT(next->notes, IsEmpty());
}

TEST(NeuronOfACommand, FindsANeffAmongTheFilesOfTheRun) {
  const NeuronPlanned planned("neuron", {}, {"python", "train.py"});
  std::filesystem::remove(planned.InCwd("file.neff"));
  ASSERT_TRUE(planned.Plan().ok());
  planned.Write("own.neff", "1");
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(
      Lines(planned, next->steps),
      ElementsAre(
          "/opt/neuron-explorer capture -n OUT/own.neff -s OUT/profile.ntff --profile-nth-exec=2 --num-exec=2"));
}

TEST(NeuronOfACommand, SaysThatANeffIsOlder) {
  NeuronPlanned planned("neuron", {"neff=file.neff"}, {"python", "train.py"});
  planned.Write(".neuron-begun", "9000000000000000000");
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(next->notes, ElementsAre(StartsWith("neff_older: file.neff")));
}

TEST(NeuronOfACommand, FailsWithoutANeff) {
  for (const bool has_older : {false, true}) {
    const NeuronPlanned planned("neuron", {}, {"python", "train.py"});
    if (!has_older) std::filesystem::remove(planned.InCwd("file.neff"));
    planned.Write(".neuron-begun", "9000000000000000000");
    const Result<NextSteps> next = planned.Next(0);
    ASSERT_FALSE(next.ok());
    EXPECT_EQ(next.status().code(), ErrorCode::kToolFailed);
    EXPECT_THAT(next.status().ToString(), HasSubstr(has_older ? "--neff PATTERN" : "NEURON_COMPILE_CACHE_URL"));
  }
}

struct WrongNeuron {
  std::vector<std::string> options;
  std::vector<std::string> command;
  const char* says;
};
class WrongNeurons : public testing::TestWithParam<WrongNeuron> {};
TEST_P(WrongNeurons, AreRefused) {
  const NeuronPlanned planned("neuron", GetParam().options, GetParam().command);
  const Status checked = planned.Check();
  EXPECT_EQ(checked.code(), ErrorCode::kUsage);
  EXPECT_THAT(checked.ToString(), HasSubstr(GetParam().says));
}
INSTANTIATE_TEST_SUITE_P(
    Neuron, WrongNeurons,
    testing::Values(WrongNeuron{{}, {}, "neither a NEFF nor a command"},
                    WrongNeuron{{"neff=a.neff", "ntff=b.ntff"}, {"python"}, "nothing is run for an NTFF"},
                    WrongNeuron{{"neff=a.neff", "disable-dge=true"}, {}, "is compiled already"},
                    WrongNeuron{{"neff=a.neff", "profile-nth-exec=0"}, {}, "less than 1"},
                    WrongNeuron{{"neff=a.neff", "num-exec=1"}, {}, "the one to profile is number 2"},
                    WrongNeuron{{"neff=a.neff", "inputs=q"}, {}, "'q' is not NAME=FILE"},
                    WrongNeuron{{"neff=a.neff", "exec-mode=fast"}, {}, "sync, async, async-wait"},
                    WrongNeuron{{"neff=a.neff", "profile-worker=x"}, {}, "neither a number nor all"},
                    WrongNeuron{{"neff=a.neff", "view=db"}, {}, "auto, tables, json, summary"}));

TEST(NeuronPlan, NeedsHome) {
  NeuronPlanned planned("neuron", {"neff=file.neff"});
  planned.request().environment = {"PATH=/usr/bin"};
  EXPECT_THAT(planned.Plan().status().ToString(), HasSubstr("--env HOME=/tmp"));
}

TEST(NeuronPlan, NamesAFileThatIsNotThere) {
  const NeuronPlanned neff("neuron", {"neff=other.neff"});
  EXPECT_THAT(neff.Plan().status().ToString(), HasSubstr("no NEFF 'other.neff'"));
  const NeuronPlanned ntff("neuron", {"neff=file.neff", "ntff=other.ntff"});
  EXPECT_THAT(ntff.Plan().status().ToString(), HasSubstr("no NTFF 'other.ntff'"));
}

TEST(NeuronPlan, FailsWhereNoNtffWasLeft) {
  const NeuronPlanned planned("neuron", {"neff=file.neff"});
  EXPECT_THAT(planned.Next(0).status().ToString(), HasSubstr("--num-exec 2"));
}

// The header of an NTFF is looked at before the vendor's program is.
TEST(Ntff, ThatIsCutIsSaidToBe) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.ntff";
  const auto check = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::trunc) << bytes;
    return CheckNtff(path);
  };
  EXPECT_EQ(*check(NtffBytes()), 5);
  EXPECT_THAT(check(NtffBytes().substr(0, 223)).status().ToString(),
              HasSubstr("it has 223 bytes, and by its header at least 224"));
  EXPECT_THAT(check(NtffBytes().substr(0, 20)).status().ToString(), HasSubstr("at least 128"));
  EXPECT_THAT(check("").status().ToString(), HasSubstr("x.ntff is empty"));
  std::string huge = NtffBytes();
  for (int i = 1; i < 17; ++i) huge[static_cast<size_t>(i)] = '\xff';
  EXPECT_FALSE(check(huge).ok());
  std::string later = NtffBytes();
  later[0] = 115;  // what its lengths are nobody knows
  EXPECT_EQ(*check(later), 115);
  EXPECT_FALSE(CheckNtff(folder / "none.ntff").ok());
  EXPECT_FALSE(CheckNtff(folder.path()).ok());
}

struct NeuronWords {
  const char* printed;
  const char* why;
  const char* remedy;
};
class NeuronFailures : public testing::TestWithParam<NeuronWords> {};
TEST_P(NeuronFailures, HaveARemedy) {
  const NeuronPlanned planned("neuron", {"neff=file.neff"});
  const TriedCommand ended{.exit_code = 1, .signal = std::nullopt, .printed = GetParam().printed};
  const Judgement said = planned.tool().judge(planned.Input(), ended);
  EXPECT_EQ(said.failed.code(), ErrorCode::kToolFailed);
  EXPECT_THAT(said.failed.why(), HasSubstr(GetParam().why));
  EXPECT_THAT(said.failed.remedy(), HasSubstr(GetParam().remedy));
}
INSTANTIATE_TEST_SUITE_P(
    Neuron, NeuronFailures,
    testing::Values(
        NeuronWords{"level=fatal msg=\"error: $HOME is not defined\"", "HOME is not set", "--env HOME"},
        NeuronWords{"error: No neuron device available", "no Neuron device here", "neuron-ls"},
        NeuronWords{"ERROR open /dev/neuron0: permission denied", "may not open the Neuron devices", "/dev/neuron*"},
        NeuronWords{"failed: nrt_load: RESOURCE_EXHAUSTED", "memory is too small", "smaller NEFF"},
        NeuronWords{"error: unsupported NTFF version 115, supported versions are 1-6", "of a version", "of the SDK"},
        NeuronWords{"error: ERROR_PROCESS_INCOMPLETE", "cannot be processed whole", "ids must be equal"},
        NeuronWords{"error: NRT_BUSY", "another process has the NeuronCore", "--device"},
        NeuronWords{"error: connect to InfluxDB", "wants its database", "--view json"},
        NeuronWords{"a line\nerror: something new\nlast", "it says: error: something new", "kprofctl logs"},
        NeuronWords{"", "ended with 1", "kprofctl logs"}));

TEST(NeuronWarningsOf, DroppedEventsAreNotes) {
  const std::vector<std::string> notes = NeuronWarnings(
      "x\nWarning: 1001 trace events were dropped during capture (stored 530560 out of 531561 total events).\ny");
  EXPECT_THAT(notes, ElementsAre(AllOf(StartsWith("events_dropped: Warning: 1001 "), HasSubstr("--max-events"))));
}

TEST(NeuronSummaries, AreCleanedOfLogs) {
  const TemporaryFolder folder;
  std::ofstream(folder / "x.summary.json") << "INFO reading\n[INFO] more\n{\"n\": [1]}\n";
  std::ofstream(folder / "y.summary.json") << "[{\"n\": 1}]\n";
  std::ofstream(folder / "z.summary.json") << "nothing";
  CleanSummaries(folder.path());
  const auto read = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(read("x.summary.json"), "{\"n\": [1]}\n");
  EXPECT_EQ(read("y.summary.json"), "[{\"n\": 1}]\n");
  EXPECT_EQ(read("z.summary.json"), "nothing");
}

TEST(NeuronSystem, TellsTheRuntimeByEnvironment) {
  const NeuronPlanned planned("neuron-system",
                              {"device-profile=model", "warmup=3", "events=hardware,^cc_exec", "cores=0-3",
                               "max-events=5000000", "cpu-util=true", "host-memory=true", "on-fail=true"},
                              {"python", "train.py"});
  const Result<ToolPlan> plan = planned.Plan();
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(planned.Text(plan->argv), "python train.py");
  std::vector<std::string> told;
  for (const std::string& variable : plan->environment) {
    if (variable.starts_with("NEURON_RT_INSPECT_")) told.push_back(planned.Text({variable}));
  }
  EXPECT_THAT(told, ElementsAre("NEURON_RT_INSPECT_ENABLE=1", "NEURON_RT_INSPECT_OUTPUT_DIR=OUT/inspect",
                                "NEURON_RT_INSPECT_SYSTEM_PROFILE=1", "NEURON_RT_INSPECT_DEVICE_PROFILE=model",
                                "NEURON_RT_INSPECT_DEVICE_PROFILE_NUM_WARMUP=3",
                                "NEURON_RT_INSPECT_EVENT_FILTER_TYPE=hardware,^cc_exec",
                                "NEURON_RT_INSPECT_EVENT_FILTER_NC=0-3",
                                "NEURON_RT_INSPECT_SYS_TRACE_MAX_EVENTS_PER_NC=5000000", "NEURON_RT_INSPECT_CPU_UTIL=1",
                                "NEURON_RT_INSPECT_HOST_MEMORY=1", "NEURON_RT_INSPECT_ON_FAIL=1"));
  EXPECT_THAT(plan->notes, IsEmpty());
}

TEST(NeuronSystem, RefusesTheCallersOwnInspection) {
  NeuronPlanned planned("neuron-system", {}, {"python", "train.py"});
  planned.request().environment.emplace_back("NEURON_RT_INSPECT_ENABLE=1");
  const Result<std::vector<ToolStep>> probed = planned.tool().probe(planned.Input());
  EXPECT_THAT(probed.status().ToString(), HasSubstr("unset NEURON_RT_INSPECT_ENABLE"));
}

TEST(NeuronSystem, SaysThatTheCommandHasAProfilerOfItsOwn) {
  const NeuronPlanned planned("neuron-system", {}, {"python", "train.py"});
  planned.WriteInCwd("train.py", "import torch\nwith torch.profiler.profile() as p:\n  pass\n");
  EXPECT_THAT(planned.Plan()->notes, ElementsAre(AllOf(StartsWith("profiler_conflict"), HasSubstr("torch.profiler"))));
}

// The runtime's tree, with files of the given sizes.
void MakeTree(const NeuronPlanned& planned, const std::vector<std::pair<std::string, std::string>>& files) {
  std::filesystem::create_directories(planned.InFolder("inspect/i-1_pid_7"));
  for (const auto& [name, text] : files) planned.Write("inspect/i-1_pid_7/" + name, text);
}

TEST(NeuronSystem, ViewsTheTreeThatWasLeft) {
  const NeuronPlanned planned("neuron-system", {}, {"python", "train.py"});
  MakeTree(planned, {{"ntrace.pb", "x"}, {"trace_info.pb", "x"}, {"cpu_util.pb", ""}});
  const Result<NextSteps> next = planned.Next(0);
  ASSERT_TRUE(next.ok()) << next.status().ToString();
  EXPECT_THAT(Lines(planned, next->steps),
              ElementsAre("/usr/bin/env -C OUT/view /opt/neuron-explorer view -d OUT/inspect --output-format json "
                          "--ignore-device-profile"));
  EXPECT_THAT(next->notes, ElementsAre(StartsWith("output_empty: i-1_pid_7/cpu_util.pb has 0 bytes")));
}

TEST(NeuronSystem, ViewsItAsTablesWhereThatIsAllThereIs) {
  const NeuronPlanned planned("neuron-system", {}, {"python", "train.py"});
  planned.Write(".neuron-view-help", "--output-format parquet|perfetto|summary-text|summary-json [--disable-ui]\n");
  MakeTree(planned, {{"ntrace.pb", "x"}});
  const Result<NextSteps> next = planned.Next(0);
  EXPECT_THAT(Lines(planned, next->steps),
              ElementsAre("/usr/bin/env -C OUT/view /opt/neuron-explorer view -d OUT/inspect --output-format parquet "
                          "--output-file OUT/system.tables --disable-ui"));
  EXPECT_THAT(next->notes, IsEmpty());
}

TEST(NeuronSystem, ViewsItAsJsonWithTheOlderProgram) {
  const NeuronPlanned planned("neuron-system", {"device-profile=session"}, {"python"}, "/opt/neuron-profile");
  MakeTree(planned, {{"ntrace.pb", "x"}, {"profile_nc_0_session_0.ntff", NtffBytes()}});
  EXPECT_THAT(Lines(planned, planned.Next(0)->steps),
              ElementsAre("/usr/bin/env -C OUT/view /opt/neuron-profile view -d OUT/inspect --output-format json"));
}

TEST(NeuronSystem, FailsWhereTheRuntimeLeftNothing) {
  const NeuronPlanned planned("neuron-system", {}, {"python"});
  EXPECT_THAT(planned.Next(0).status().ToString(), HasSubstr("did not use the Neuron runtime"));
  MakeTree(planned, {{"ntrace.pb", ""}});
  EXPECT_THAT(planned.Next(0).status().ToString(), HasSubstr("has no events"));
}

TEST(NeuronSystem, LooksAtDeviceProfilesBeforeTheProgramDoes) {
  const NeuronPlanned planned("neuron-system", {"device-profile=model"}, {"python"});
  MakeTree(planned, {{"ntrace.pb", "x"}, {"1_instid_0_vnc_0.ntff", NtffBytes().substr(0, 200)}});
  EXPECT_THAT(planned.Next(0).status().ToString(), HasSubstr("1_instid_0_vnc_0.ntff is cut"));
}

}  // namespace
}  // namespace kprof
