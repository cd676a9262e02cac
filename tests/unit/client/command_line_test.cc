#include "client/cli/grammar/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Args = std::vector<std::string>;

template <typename Verb>
Verb Parsed(const Args& args) {
  Result<CommandLine> line = ParseCommandLine(args);
  EXPECT_TRUE(line.ok()) << line.status().ToString();
  if (!line.ok() || !std::holds_alternative<Verb>(line->verb)) {
    ADD_FAILURE() << "another verb";
    return Verb();
  }
  return std::get<Verb>(line->verb);
}

TEST(CommandLine, TakesGlobalOptionsBeforeAndAfterTheVerb) {
  for (const Args& args : {Args{"--json", "--socket", "/s", "status"}, Args{"status", "--json", "--socket=/s"},
                           Args{"--json", "status", "--socket", "/s"}}) {
    Result<CommandLine> line = ParseCommandLine(args);
    ASSERT_TRUE(line.ok());
    EXPECT_TRUE(line->global.json);
    EXPECT_EQ(line->global.socket, "/s");
  }
  Result<CommandLine> nested = ParseCommandLine({"artifacts", "r", "get", "n", "-o", "f", "--json"});
  ASSERT_TRUE(nested.ok());
  EXPECT_TRUE(nested->global.json);
}

TEST(CommandLine, TakesANodeAndItsFilesBeforeAndAfterTheVerb) {
  for (const Args& args : {Args{"--node", "n:1", "--ca", "a", "--cert=c", "--key", "k", "status"},
                           Args{"--node=n:1", "status", "--ca=a", "--cert", "c", "--key=k"}}) {
    Result<CommandLine> line = ParseCommandLine(args);
    ASSERT_TRUE(line.ok()) << line.status().ToString();
    EXPECT_EQ(line->global.node, "n:1");
    EXPECT_EQ(line->global.ca, "a");
    EXPECT_EQ(line->global.cert, "c");
    EXPECT_EQ(line->global.key, "k");
  }
  EXPECT_EQ(ParseCommandLine({"--node", "", "status"}).status().code(), ErrorCode::kUsage);
}

TEST(CommandLine, ReadsAnImport) {
  auto args = Parsed<ImportArgs>({"import", "a.json", "-", "--format", "kineto", "--label", "k=v", "--keep-source",
                                  "--again", "--shared", "--detach", "--rank", "3"});
  EXPECT_THAT(args.files, ElementsAre("a.json", "-"));
  EXPECT_EQ(args.format, "kineto");
  EXPECT_EQ(args.rank, 3);
  EXPECT_EQ(args.labels.at("k"), "v");
  EXPECT_TRUE(args.keep_source && args.again && args.shared && args.detach);
  args = Parsed<ImportArgs>({"import", "a.json"});
  EXPECT_EQ(args.format, "auto");
  EXPECT_FALSE(args.rank || args.keep_source || args.again || args.shared || args.detach);
  EXPECT_EQ(ParseCommandLine({"import"}).status().code(), ErrorCode::kUsage);
  const auto to = Parsed<ExportArgs>({"export", "r", "--format", "csv", "-o", "f", "--rank", "7"});
  EXPECT_EQ(to.run + to.format + to.to, "rcsvf");
  EXPECT_EQ(to.rank, 7);
  EXPECT_EQ(ParseCommandLine({"export", "r", "-o", "f"}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ParseCommandLine({"export", "r", "--format", "csv"}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ParseCommandLine({"import", "a", "--rank", "-1"}).status().code(), ErrorCode::kUsage);
}

TEST(CommandLine, ReadsACapture) {
  auto args = Parsed<CaptureArgs>(
      {"capture",     "command", "--device",    "0,1",      "--timeout", "5m",       "--queue-timeout=2h",
       "--env",       "A=1",     "--env",       "B",        "--cwd",     "/tmp",     "--label",
       "k=v=w",       "--label", "e=",          "--shared", "--detach",  "--clocks", "lock=1500!",
       "--cool-down", "90s",     "--exclusive", "--",       "python",    "--",       "-x",
       "--json"});
  EXPECT_EQ(args.tool, "command");
  EXPECT_EQ(args.device, "0,1");
  EXPECT_EQ(args.timeout_ms, 300'000);
  EXPECT_EQ(args.queue_timeout_ms, 7'200'000);
  EXPECT_THAT(args.env, ElementsAre("A=1", "B"));
  EXPECT_EQ(args.cwd, "/tmp");
  EXPECT_THAT(args.labels, ElementsAre(testing::Pair("e", ""), testing::Pair("k", "v=w")));
  EXPECT_TRUE(args.shared);
  EXPECT_TRUE(args.detach);
  EXPECT_EQ(args.clocks, "lock=1500!");
  EXPECT_EQ(args.cool_down_ms, 90'000);
  EXPECT_TRUE(args.exclusive);
  EXPECT_THAT(args.command, ElementsAre("python", "--", "-x", "--json"));
}

TEST(CommandLine, ReadsWhatToDoWithClocks) {
  Parsed<ClocksStatusArgs>({"clocks", "status"});
  const auto lock = Parsed<LockClocksArgs>(
      {"clocks", "lock", "--device", "0,1", "--sm", "1500", "--mem", "2619", "--ttl", "30m", "--queue-timeout", "10s"});
  EXPECT_EQ(lock.device, "0,1");
  EXPECT_EQ(lock.sm_mhz, 1500);
  EXPECT_EQ(lock.memory_mhz, 2619);
  EXPECT_EQ(lock.ttl_ms, 1'800'000);
  EXPECT_EQ(lock.queue_timeout_ms, 10'000);
  const auto usual = Parsed<LockClocksArgs>({"clocks", "lock", "--device", "all"});
  EXPECT_EQ(usual.sm_mhz + usual.memory_mhz + usual.ttl_ms + usual.queue_timeout_ms, 0);
  EXPECT_EQ(Parsed<ReleaseClocksArgs>({"clocks", "release"}).device, "");
  EXPECT_EQ(Parsed<ReleaseClocksArgs>({"clocks", "release", "--device", "0"}).device, "0");
}

TEST(CommandLine, LeavesTheCommandsBytesAlone) {
  auto args = Parsed<CaptureArgs>({"capture", "command", "--", "[a,b]", "", "\xff", "--help", "--json"});
  EXPECT_THAT(args.command, ElementsAre("[a,b]", "", "\xff", "--help", "--json"));
  Result<CommandLine> line = ParseCommandLine({"capture", "command", "--", "--json"});
  ASSERT_TRUE(line.ok());
  EXPECT_FALSE(line->global.json);
}

TEST(CommandLine, TakesRepeatedValuesAsTheyAre) {
  EXPECT_THAT(Parsed<CaptureArgs>({"capture", "command", "--env", "[x]=[1,2]", "--", "a"}).env,
              ElementsAre("[x]=[1,2]"));
}

TEST(CommandLine, LeavesOtherToolsToTheDaemon) {
  EXPECT_EQ(Parsed<CaptureArgs>({"capture", "ncu"}).tool, "ncu");
}

TEST(CommandLine, ReadsTheOtherVerbs) {
  EXPECT_TRUE(Parsed<DevicesArgs>({"devices", "--watch"}).watch);
  EXPECT_EQ(Parsed<ShowArgs>({"show", "@last~2"}).run, "@last~2");
  EXPECT_EQ(Parsed<ShowArgs>({"show", "runs"}).run, "runs");
  EXPECT_EQ(Parsed<WaitArgs>({"wait", "r"}).run, "r");
  EXPECT_EQ(Parsed<CancelArgs>({"cancel", "r"}).run, "r");
  EXPECT_THAT(Parsed<DeleteArgs>({"delete", "a", "b", "c"}).runs, ElementsAre("a", "b", "c"));
  EXPECT_TRUE(Parsed<PinArgs>({"pin", "r"}).pin);
  EXPECT_FALSE(Parsed<PinArgs>({"unpin", "r"}).pin);
  auto logs = Parsed<LogsArgs>({"logs", "r", "-f", "--stderr"});
  EXPECT_TRUE(logs.follow && logs.from_stderr);
  EXPECT_EQ(Parsed<ListArtifactsArgs>({"artifacts", "r"}).run, "r");
  auto get = Parsed<GetArtifactArgs>({"artifacts", "r", "get", "n", "-o", "-"});
  EXPECT_EQ(get.run + get.name + get.to, "rn-");
  auto put = Parsed<PutArtifactArgs>({"artifacts", "r", "put", "/a/b.txt"});
  EXPECT_EQ(put.run + put.from + put.name, "r/a/b.txtb.txt");
  EXPECT_EQ(Parsed<PutArtifactArgs>({"artifacts", "r", "put", "-", "--name", "n"}).name, "n");
  EXPECT_EQ(Parsed<BackupArgs>({"backup", "f"}).to, "f");
  Parsed<DoctorArgs>({"doctor"});
  EXPECT_EQ(Parsed<CompletionArgs>({"completion", "fish"}).shell, "fish");
}

TEST(CommandLine, ReadsFiltersOfRuns) {
  auto args = Parsed<RunsArgs>(
      {"runs", "--limit", "5", "--label", "a=1", "--tool", "command", "--state", "done", "--state", "failed"});
  EXPECT_EQ(args.limit, 5);
  EXPECT_EQ(args.labels.at("a"), "1");
  EXPECT_THAT(args.tools, ElementsAre("command"));
  EXPECT_THAT(args.states, ElementsAre(v1::RUN_STATE_DONE, v1::RUN_STATE_FAILED));
  EXPECT_EQ(Parsed<RunsArgs>({"runs"}).limit, 20);
}

TEST(CommandLine, ReadsAQuery) {
  auto args = Parsed<QueryArgs>({"query", "SELECT '[1,2]'", "--format", "csv", "--timeout", "1s", "--limit", "3"});
  EXPECT_EQ(args.sql, "SELECT '[1,2]'");
  EXPECT_EQ(args.format, RowFormat::kCsv);
  EXPECT_EQ(args.timeout_ms, 1000);
  EXPECT_EQ(args.limit, 3);
  EXPECT_EQ(Parsed<QueryArgs>({"query", "-"}).sql, "-");
  EXPECT_EQ(Parsed<QueryArgs>({"query", "--", "-- note\nSELECT 1"}).sql, "-- note\nSELECT 1");
}

TEST(CommandLine, WordsOfAnalyzeThatAreNoOptionsOfOursAreTheDaemons) {
  auto args = Parsed<AnalyzeArgs>({"analyze", "kind", "--rank", "3", "@last", "--format", "csv", "--from=-5", "--table",
                                   "t", "--timeout=2s", "--socket", "s"});
  EXPECT_THAT(args.words, ElementsAre("kind", "--rank", "3", "@last", "--from=-5"));
  EXPECT_EQ(args.format, RowFormat::kCsv);
  EXPECT_EQ(args.table, "t");
  EXPECT_EQ(args.timeout_ms, 2000);
  EXPECT_FALSE(args.list);
  EXPECT_TRUE(Parsed<AnalyzeArgs>({"analyze", "--list"}).list);
}

TEST(CommandLine, CompareIsAnAnalysisOfTwoSides) {
  const auto args = Parsed<AnalyzeArgs>(
      {"compare", "a", "b", "--baseline", "c", "d", "--limit", "3", "--fail-on", "slower", "--baseline=e"});
  EXPECT_THAT(args.words, ElementsAre("compare", "a", "b", "--limit", "3", "--baseline", "c,d,e"));
  EXPECT_EQ(args.fail_on, FailOn::kSlower);
  EXPECT_EQ(Parsed<AnalyzeArgs>({"compare", "a", "--baseline", "b"}).fail_on, FailOn::kNothing);
  const std::vector<std::vector<std::string>> wrong = {
      {"compare"},
      {"compare", "a"},
      {"compare", "--baseline", "b", "a"},
      {"compare", "a", "--baseline"},
      {"compare", "a", "--baseline", "b", "--fail-on", "faster"},
  };
  for (const std::vector<std::string>& words : wrong) {
    const auto line = ParseCommandLine(words);
    ASSERT_FALSE(line.ok());
    EXPECT_EQ(line.status().code(), ErrorCode::kUsage);
  }
}

TEST(CommandLine, OptionsOfAToolAreTheDaemons) {
  auto args = Parsed<CaptureArgs>(
      {"capture", "kernel", "--label", "a=b", "--set", "full", "--replay", "--timeout=2s", "--", "./a", "--set"});
  EXPECT_EQ(args.tool, "kernel");
  EXPECT_THAT(args.tool_words, ElementsAre("--set", "full", "--replay"));
  EXPECT_THAT(args.command, ElementsAre("./a", "--set"));
  EXPECT_EQ(args.timeout_ms, 2000);
  EXPECT_EQ(args.labels.count("a"), 1U);
  EXPECT_TRUE(Parsed<CaptureArgs>({"capture", "--list"}).list);
  const auto expanded = ParseCommandLine({"capture", "command", "--collect", "out/a", "out/b", "--", "./a"});
  ASSERT_FALSE(expanded.ok());
  EXPECT_THAT(expanded.status().remedy(), HasSubstr("quote the glob"));
  EXPECT_FALSE(ParseCommandLine({"capture", "command", "--set", "full", "--", "./a"}).ok());
  EXPECT_FALSE(ParseCommandLine({"capture", "--set", "kernel", "--", "./a"}).ok());
}

TEST(CommandLine, HelpAndVersionAreText) {
  EXPECT_THAT(Parsed<PrintText>({"--help"}).text, HasSubstr("capture"));
  EXPECT_THAT(Parsed<PrintText>({"--version"}).text, testing::StartsWith("kprofctl "));
  for (const CommandDescription& verb : DescribeCommandLine().commands) {
    EXPECT_THAT(Parsed<PrintText>({verb.name, "--help"}).text, HasSubstr("Usage: kprofctl " + verb.name));
  }
}

TEST(CommandLine, HelpShowsTheWordsInTheOrderInWhichTheyAreTyped) {
  EXPECT_THAT(Parsed<PrintText>({"--help"}).text, HasSubstr("Usage: kprofctl [OPTIONS] VERB"));
  EXPECT_THAT(Parsed<PrintText>({"capture", "--help"}).text,
              HasSubstr("Usage: kprofctl capture TOOL [OPTIONS] -- CMD ARG...\n"));
  for (const char* function : {"sum_by", "self_time", "busy", "gaps", "overlap", "histogram", "correlated", "tiles",
                               " instant_tiles", " counter_tiles"}) {
    EXPECT_THAT(Parsed<PrintText>({"query", "--help"}).text, HasSubstr(function));
  }
  EXPECT_THAT(Parsed<PrintText>({"artifacts", "--help"}).text,
              HasSubstr("Usage: kprofctl artifacts RUN\n       kprofctl artifacts RUN get NAME -o"));
  EXPECT_THAT(Parsed<PrintText>({"artifacts", "@last", "get", "--help"}).text,
              HasSubstr("Usage: kprofctl artifacts RUN get NAME -o FILE|FOLDER|-\n"));
}

TEST(CommandLine, HelpHasAnExampleForEachVerbThatTakesArguments) {
  for (const char* verb : {"capture", "runs", "show", "wait", "cancel", "delete", "pin", "unpin", "logs", "artifacts",
                           "import", "export", "analyze", "query", "backup", "completion", "rank-exec"}) {
    EXPECT_THAT(Parsed<PrintText>({verb, "--help"}).text,
                testing::ContainsRegex(std::string("\n  .*kprofctl ") + verb));
  }
}

struct Refused {
  Args args;
  const char* says;
};

class BadCommandLine : public testing::TestWithParam<Refused> {};

TEST_P(BadCommandLine, IsUsageInOneLine) {
  Result<CommandLine> line = ParseCommandLine(GetParam().args);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().code(), ErrorCode::kUsage);
  EXPECT_THAT(line.status().ToString(), HasSubstr(GetParam().says));
  EXPECT_THAT(line.status().ToString(), testing::Not(HasSubstr("\n")));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadCommandLine,
    testing::Values(
        Refused{{}, "no verb; see 'kprofctl --help'"},
        Refused{{"sesion", "open"}, "there is no verb 'sesion'; did you mean 'session'? see 'kprofctl --help'"},
        Refused{{"--json", "--socket", "s", "reprot"}, "there is no verb 'reprot'"},
        Refused{{""}, "there is no verb ''"}, Refused{{"status", "extra"}, "extra"},
        Refused{{"status", "--bogus"}, "--bogus"}, Refused{{"show"}, "RUN is required; see 'kprofctl show --help'"},
        Refused{{"show", "\xff"}, "is not UTF-8"}, Refused{{"capture", "command"}, "there is no command to run"},
        Refused{{"capture", "command", "true"},
                "the command does not follow after --; write: kprofctl capture command -- true"},
        Refused{{"--json", "capture", "--device", "0", "command", "./a b", "--steps", "3", "--cwd", "/"},
                "write: kprofctl --json capture --device 0 command -- './a b' --steps 3 --cwd /"},
        Refused{{"capture", "command", "true", "--"}, "write: kprofctl capture command -- true"},
        Refused{{"capture", "command", "--devcie", "0", "true"},
                "--devcie; did you mean '--device'? see 'kprofctl capture --help'"},
        Refused{{"capture", "command", "true", "--", "x"}, "expected: true; see 'kprofctl capture --help'"},
        Refused{{"capture"}, "TOOL is required"}, Refused{{"capture", "command", "--clocks"}, "--clocks"},
        Refused{{"capture", "command", "--cool-down", "soon", "--", "a"}, "write it like 500ms, 10s, 5m or 2h"},
        Refused{{"clocks"}, "say status, lock or release"}, Refused{{"clocks", "lock"}, "--device is required"},
        Refused{{"clocks", "unlock"}, "unlock"},
        Refused{{"clocks", "lock", "--device", "0", "--sm", "0"}, "--sm 0 is no clock; give it in MHz"},
        Refused{{"clocks", "lock", "--device", "0", "--mem", "-5"}, "--mem -5 is no clock"},
        Refused{{"clocks", "lock", "--device", "0", "--sm", "1500000000"}, "is no clock"},
        Refused{{"clocks", "lock", "--device", "0", "--sm", "fast"}, "--sm"},
        Refused{{"capture", "command", "--timeout", "5", "--", "a"}, "write it like 500ms, 10s, 5m or 2h"},
        Refused{{"capture", "command", "--label", "x", "--", "a"}, "--label 'x' is not KEY=VALUE"},
        Refused{{"capture", "command", "--label", "=x", "--", "a"}, "is not KEY=VALUE"},
        Refused{{"capture", "command", "--label", "a=b", "--label", "a=c", "--", "x"}, "label 'a' is given twice"},
        Refused{{"runs", "--label", "a=b", "--label", "a=b"}, "label 'a' is given twice"},
        Refused{{"runs", "--limit", "0"}, "--limit: '0' is not a whole number from 1 to 1000000000"},
        Refused{{"runs", "--limit", "x"}, "'x' is not a whole number"},
        Refused{{"runs", "--limit", "0x2"}, "'0x2' is not a whole number"},
        Refused{{"runs", "--limit", "+2"}, "'+2' is not a whole number"},
        Refused{{"runs", "--limit", "1'000"}, "is not a whole number"},
        Refused{{"runs", "--limit", "99999999999999999999"}, "is not a whole number"},
        Refused{{"query", "q", "--limit", "010x"}, "'010x' is not a whole number from 1 to 10000000"},
        Refused{{"runs", "--state", "asleep"}, "--state 'asleep' is no state"}, Refused{{"query"}, "SQL is required"},
        Refused{{"query", "q", "--format", "xml"}, "use table, csv, json or ndjson"},
        Refused{{"query", "\xff"}, "is not UTF-8"}, Refused{{"query", "@"}, "SQL '@' names no file"},
        Refused{{"artifacts", "r", "get", "n"}, "--output is required; see 'kprofctl artifacts RUN get --help'"},
        Refused{{"artifacts", "r", "put", "-"}, "standard input has no name"},
        Refused{{"analyze"}, "there is no analysis to make"}, Refused{{"analyze", "k", "\xff"}, "is not UTF-8"},
        Refused{{"analyze", "k", "r", "--format", "ndjson"}, "use table, csv or json"},
        Refused{{"artifacts", "r", "put", "dir/"}, "names no file"}, Refused{{"completion", "tcsh"}, "tcsh"}));

// As a shell's variable that is not set leaves it. Every option that takes a value, from the description of what there
// is.
TEST(CommandLine, AnEmptyValueIsNoWishForTheDefault) {
  const std::map<std::string, Args> begin = {{"capture", {"capture", "command"}},
                                             {"import", {"import", "f"}},
                                             {"export", {"export", "r", "--format", "csv", "-o", "f"}},
                                             {"report", {"report", "r"}},
                                             {"show", {"show", "r"}},
                                             {"query", {"query", "q"}},
                                             {"get", {"artifacts", "r", "get", "n"}},
                                             {"put", {"artifacts", "r", "put", "f"}},
                                             {"open", {"session", "open"}},
                                             {"list", {"session", "list"}},
                                             {"lock", {"clocks", "lock", "--device", "0"}},
                                             {"release", {"clocks", "release"}},
                                             {"record", {"peaks", "record", "r", "--of", "copy"}},
                                             {"forget", {"peaks", "forget"}}};
  auto expect_refused = [&](const std::string& verb, const std::vector<OptionDescription>& options) {
    for (const OptionDescription& option : options) {
      if (!option.takes_value) continue;
      for (const std::string& spelling : option.spellings) {
        for (const Args& empty : {Args{spelling, ""}, Args{spelling + "="}}) {
          if (empty.size() == 1 && !spelling.starts_with("--")) continue;
          Args args = begin.contains(verb) ? begin.at(verb) : Args{verb};
          args.insert(args.end(), empty.begin(), empty.end());
          if (verb == "capture") args.insert(args.end(), {"--", "true"});
          Result<CommandLine> line = ParseCommandLine(args);
          ASSERT_FALSE(line.ok()) << verb << " " << spelling;
          EXPECT_EQ(line.status().code(), ErrorCode::kUsage);
          EXPECT_THAT(line.status().why(), testing::StartsWith(option.spellings.back()));
        }
      }
    }
  };
  const CommandDescription program = DescribeCommandLine();
  expect_refused("status", program.options);
  for (const CommandDescription& verb : program.commands) {
    expect_refused(verb.name, verb.options);
    for (const CommandDescription& below : verb.commands) expect_refused(below.name, below.options);
  }
  EXPECT_EQ(ParseCommandLine({"status", "--socket", ""}).status().ToString(),
            "read the command line: --socket is empty; give it a value, or leave it out for its default");
  EXPECT_EQ(ParseCommandLine({"artifacts", "r", "get", "n", "-o", ""}).status().ToString(),
            "read the command line: --output is empty; see 'kprofctl artifacts RUN get --help'");
}

TEST(CommandLine, AnEmptyWordIsNoName) {
  for (const Args& args : {Args{"show", ""}, Args{"delete", "a", ""}, Args{"backup", ""}, Args{"query", ""},
                           Args{"artifacts", "r", "get", "", "-o", "f"}, Args{"capture", "", "--", "true"}}) {
    Result<CommandLine> line = ParseCommandLine(args);
    ASSERT_FALSE(line.ok()) << args.front();
    EXPECT_THAT(line.status().ToString(), HasSubstr(" is empty; see 'kprofctl " + args.front()));
  }
}

TEST(CommandLine, ReadsNumbersAsDecimal) {
  EXPECT_EQ(Parsed<RunsArgs>({"runs", "--limit", "010"}).limit, 10);
}

TEST(CommandLine, SeesJsonEvenWhereTheRestIsWrong) {
  EXPECT_TRUE(WantsJson({"nonsense", "--json"}));
  EXPECT_FALSE(WantsJson({"capture", "--", "--json"}));
}

TEST(CommandLine, HelpOfAVerbIsTheSameWhateverTheWords) {
  const std::string query = Parsed<PrintText>({"query", "--help"}).text;
  EXPECT_THAT(query, HasSubstr("--wide"));
  EXPECT_EQ(Parsed<PrintText>({"help", "query"}).text, query);
  EXPECT_EQ(Parsed<PrintText>({"--json", "help", "query"}).text, query);
  EXPECT_EQ(Parsed<PrintText>({"help"}).text, Parsed<PrintText>({"--help"}).text);
  EXPECT_EQ(Parsed<PrintText>({"help", "capture", "command"}).text, Parsed<PrintText>({"capture", "--help"}).text);
  EXPECT_EQ(Parsed<HelpOfToolArgs>({"capture", "event", "--help"}).tool, "event");
  EXPECT_EQ(Parsed<HelpOfAnalysisArgs>({"help", "analyze", "summary"}).kind, "summary");
  EXPECT_EQ(ParseCommandLine({"help", "frobnicate"}).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(ParseCommandLine({"--help", "frobnicate"}).status().code(), ErrorCode::kUsage);
}

TEST(CommandLine, SuggestsWhatWasMeant) {
  EXPECT_EQ(ParseCommandLine({"shwo", "@last"}).status().remedy(), "did you mean 'show'? see 'kprofctl --help'");
  EXPECT_EQ(ParseCommandLine({"runs", "--lable", "a=b"}).status().remedy(),
            "did you mean '--label'? see 'kprofctl runs --help'");
}

TEST(CommandLine, AResultHasOneForm) {
  for (const Args& args :
       {Args{"--json", "query", "SELECT 1", "--format", "csv"}, Args{"query", "SELECT 1", "--format=table", "--json"},
        Args{"analyze", "summary", "r", "--format", "csv", "--json"}}) {
    const Status status = ParseCommandLine(args).status();
    EXPECT_EQ(status.code(), ErrorCode::kUsage);
    EXPECT_THAT(status.why(), HasSubstr("ask for two forms"));
  }
  Parsed<QueryArgs>({"--json", "query", "SELECT 1", "--format", "ndjson"});
  Parsed<AnalyzeArgs>({"--json", "analyze", "summary", "r", "--format", "json"});
}

}  // namespace
}  // namespace kprof::cli
