#include "daemon/exports/chrome_export.h"

#include <cstdlib>

#include "tests/unit/exports/exports_fixture.h"
#include "tests/unit/ingest/made_source.h"

namespace kprof {
namespace {

class ChromeExportTest : public ExportsTest {
 protected:
  static std::string List(const std::string& events) { return "{\"traceEvents\":[" + events + "]}"; }
  // Takes it apart as any reader of JSON would, and looks at each event: tests/unit/exports/check_chrome.py.
  void ExpectIsChromeTrace(const std::string& text) {
    const std::string path = folder_ / "exported.json";
    std::ofstream(path, std::ios::binary) << text;
    const std::string command =
        "/usr/bin/python3 " KPROF_SOURCE_DIR "/tests/unit/exports/check_chrome.py '" + path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << text.substr(0, 4000);
  }
  void ExpectReadsBack(const std::string& source, bool is_json = true) {
    const std::unique_ptr<PartReader> first = Import(source);
    const std::string exported = Export("chrome", *first);
    const std::unique_ptr<PartReader> second = Import(exported);
    EXPECT_EQ(Words(*second), Words(*first)) << exported.substr(0, 4000);
    EXPECT_EQ(FactsOf(*second), FactsOf(*first)) << exported.substr(0, 4000);
    if (is_json) ExpectIsChromeTrace(exported);
  }
  void ExpectFileReadsBack(const std::string& name) {
    const std::string path = std::string(KPROF_SOURCE_DIR) + "/../shared/data/kineto/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << name << " is not here";
    ExpectReadsBack(ReadFile(path));
  }
  // Tracks, sorted; their numbers are not compared.
  static std::vector<std::string> TracksOf(const PartReader& part) {
    std::vector<std::string> tracks;
    for (const TrackRow& track : part.tracks()) {
      std::string line = track.kind + " \"" + track.name + "\"";
      for (const auto& text : {track.pid, track.tid, track.process}) line += " " + text.value_or("-");
      for (const auto& number : {track.device, track.stream, track.sort_index}) {
        line += " " + (number ? std::to_string(*number) : "-");
      }
      tracks.push_back(line);
    }
    std::sort(tracks.begin(), tracks.end());
    return tracks;
  }
  // All rows and tracks, and all facts but what a Chrome trace is by itself.
  void ExpectNsightReadsBack(const std::string& source) {
    const std::unique_ptr<PartReader> first = Import(source, {{"source_format", "nsys-sqlite"}});
    const std::string exported = Export("chrome", *first);
    ExpectIsChromeTrace(exported);
    const std::unique_ptr<PartReader> second = Import(exported);
    EXPECT_EQ(TracksOf(*second), TracksOf(*first));
    const std::vector<std::string> expected = Words(*first);
    const std::vector<std::string> words = Words(*second);
    ASSERT_EQ(words.size(), expected.size());
    const auto [word, expected_word] = std::mismatch(words.begin(), words.end(), expected.begin());
    if (word != words.end()) FAIL() << *word << " instead of " << *expected_word;
    std::map<std::string, std::string> facts = FactsOf(*first);
    std::map<std::string, std::string> facts_again = FactsOf(*second);
    for (const char* other : {"source_format", "source.baseTimeNanoseconds", "base_source_ns"}) {
      facts.erase(other);
      facts_again.erase(other);
    }
    EXPECT_EQ(facts_again, facts);
    const std::unique_ptr<PartReader> third = Import(Export("chrome", *second));
    EXPECT_EQ(Words(*third), Words(*second));
    EXPECT_EQ(TracksOf(*third), TracksOf(*second));
  }
  void ExpectNsightFileReadsBack(const std::string& name) {
    const std::string path = std::string(KPROF_SOURCE_DIR) + "/../shared/data/nsys/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << name << " is not here";
    ExpectNsightReadsBack(ReadFile(path));
  }
};

TEST_F(ChromeExportTest, EachTypeOfArgumentReadsBack) {
  ExpectReadsBack(List(
      R"({"ph":"X","name":"a","cat":"c","pid":1,"tid":2,"ts":10.5,"dur":3.25,"args":{"i":-7,"d":12.50,"small":-0.001,)"
      R"("zero":0.0,"e":1e400,"long":123456789012345678901234567890,"s":"x\n\"y\" \\ \u00e4","t":true,"f":false,)"
      R"("n":null,"list":[1, {"a": "b c"}],"object":{"k":[]},"correlation":42,"empty":""},"id":5,"tts":1.5})"));
}

TEST_F(ChromeExportTest, EachPhaseReadsBack) {
  ExpectReadsBack(List(
      R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}},)"
      R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"ts":5,"args":{"name":"main"}},)"
      R"({"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":-3}},)"
      R"({"ph":"X","name":"whole","pid":1,"tid":2,"ts":10,"dur":30},)"
      R"({"ph":"X","name":"crosses","pid":1,"tid":2,"ts":20,"dur":30},)"
      R"({"ph":"X","name":"no end","pid":1,"tid":2,"ts":21,"args":{"correlation":1}},)"
      R"({"ph":"B","name":"outer","pid":1,"tid":3,"ts":11,"args":{"a":1}},)"
      R"({"ph":"B","name":"inner","pid":1,"tid":3,"ts":12},)"
      R"({"ph":"E","pid":1,"tid":3,"ts":13},{"ph":"E","pid":1,"tid":3,"ts":14.001,"args":{"b":2}},)"
      R"({"ph":"E","name":"alone","pid":1,"tid":3,"ts":15},{"ph":"B","name":"open","pid":1,"tid":3,"ts":16},)"
      R"({"ph":"b","name":"work","cat":"async","id":"0x7","pid":1,"ts":10,"args":{"x":"y"}},)"
      R"({"ph":"n","name":"step","cat":"async","id":"0x7","pid":1,"ts":11},)"
      R"({"ph":"e","name":"work","cat":"async","id":"0x7","pid":1,"ts":19},)"
      R"({"ph":"e","name":"alone","cat":"other","id":8,"pid":1,"ts":19},)"
      R"({"ph":"b","name":"open","cat":"async","id":"0x7","pid":1,"ts":20},)"
      R"({"ph":"i","name":"mark","pid":1,"tid":2,"ts":22,"s":"g"},{"ph":"I","name":"old","pid":1,"tid":2,"ts":23},)"
      R"({"ph":"C","name":"used memory","pid":1,"ts":24,"args":{"in bytes":5,"share":0.25,"text":"no"}},)"
      R"({"ph":"s","id":5,"name":"ac2g","cat":"ac2g","pid":1,"tid":2,"ts":10},)"
      R"({"ph":"t","id":5,"name":"ac2g","cat":"ac2g","pid":1,"tid":2,"ts":12},)"
      R"({"ph":"f","id":5,"name":"ac2g","cat":"ac2g","pid":1,"tid":3,"ts":13,"bp":"e"},)"
      R"({"ph":"N","id":"0x1","name":"object","pid":1,"tid":2,"ts":30})"));
}

TEST_F(ChromeExportTest, ABeginAndAnEndWithTheSameKeysReadBack) {
  ExpectReadsBack(List(
      R"({"ph":"B","name":"a","pid":1,"tid":3,"ts":11,"args":{"k":1,"correlation":7},"tts":4,"dur":5},)"
      R"({"ph":"E","pid":1,"tid":3,"ts":14,"args":{"k":2},"tts":5},)"
      R"({"ph":"B","name":"b","pid":1,"tid":3,"ts":15,"args":{"correlation":7}},{"ph":"E","pid":1,"tid":3,"ts":16},)"
      R"({"ph":"b","name":"c","cat":"x","id":1,"pid":1,"ts":15,"args":{"k":7}},)"
      R"({"ph":"e","name":"c","cat":"x","id":1,"pid":1,"ts":16,"args":{"k":8}})"));
}

TEST_F(ChromeExportTest, CorrelationsInOtherWordsReadBack) {
  ExpectReadsBack(
      List(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"correlation":"5"}},)"
           R"({"ph":"X","name":"a","ts":2,"dur":1,"args":{"correlation":5.0,"k":1}},)"
           R"({"ph":"X","name":"a","ts":3,"dur":1,"args":{"correlation":"five"}},)"
           R"({"ph":"X","name":"a","ts":4,"args":{"correlation":"6"}},)"
           R"({"ph":"B","name":"a","ts":5,"args":{"correlation":"5"}},{"ph":"E","ts":6,"args":{"correlation":5.5}})"));
}

TEST_F(ChromeExportTest, IdsOfSeveralValuesReadBack) {
  const std::string source =
      List(R"({"ph":"b","cat":"c","name":"n","pid":1,"tid":1,"ts":1,"id2":{"local":"0x1"},"args":{"a":1}},)"
           R"({"ph":"b","cat":"c","name":"n","pid":1,"tid":1,"ts":2,"id2":{"local":"0x2"}},)"
           R"({"ph":"e","cat":"c","name":"n","pid":1,"tid":1,"ts":10,"id2":{"local":"0x1"},"args":{"a":2}},)"
           R"({"ph":"e","cat":"c","name":"n","pid":1,"tid":1,"ts":20,"id2":{"local":"0x2"}},)"
           R"({"ph":"b","cat":"c","name":"g","pid":1,"tid":1,"ts":3,"id2":{"global":"7"}},)"
           R"({"ph":"e","cat":"c","name":"g","pid":2,"tid":1,"ts":5,"id2":{"global":"7"}},)"
           R"({"ph":"n","cat":"c","name":"g","pid":2,"tid":1,"ts":4,"id2":{"global":"7"}},)"
           R"({"ph":"b","cat":"c","name":"s","pid":1,"ts":3,"id":"7","scope":"s"},)"
           R"({"ph":"b","cat":"c","name":"s","pid":1,"ts":4,"id":"7","scope":"t"},)"
           R"({"ph":"e","cat":"c","name":"s","pid":1,"ts":5,"id":"7","scope":"s"},)"
           R"({"ph":"b","cat":"c","name":"m","pid":1,"ts":30,"id2":{"local":"9"}},)"
           R"({"ph":"e","cat":"c","name":"m","pid":1,"ts":31,"id":"9"},)"
           R"({"ph":"b","cat":"c","name":"o","pid":1,"ts":32,"id":"9"},)"
           R"({"ph":"e","cat":"c","name":"o","pid":1,"ts":33,"id2":{"local":"9"},"id":4},)"
           R"({"ph":"s","cat":"f","name":"f","pid":1,"tid":2,"ts":1,"id":5,"scope":"s"},)"
           R"({"ph":"s","cat":"f","name":"f","pid":1,"tid":2,"ts":2,"id2":{"local":5}},)"
           R"({"ph":"f","cat":"f","name":"f","pid":2,"tid":2,"ts":3,"id2":{"global":"5"},"args":{"k":1}},)"
           R"({"ph":"X","cat":"c","name":"x","pid":1,"tid":2,"ts":3,"dur":1,"id2":{"local":"5"},"scope":"z","id":6})");
  ExpectReadsBack(source);
  const std::unique_ptr<PartReader> part = Import(source);
  const std::string exported = Export("chrome", *part);
  EXPECT_NE(exported.find(R"("ts":1,"pid":1,"tid":1,"id2":{"local":"0x1"},"args":{"a":1}})"), std::string::npos)
      << exported;
  EXPECT_NE(exported.find(R"("ts":5,"pid":2,"tid":1,"id2":{"global":"7"}})"), std::string::npos) << exported;
}

TEST_F(ChromeExportTest, WhatIsMissingOrOddReadsBack) {
  ExpectReadsBack(
      List(R"({"ph":"X","ts":1},{"ph":"X","name":null,"cat":["c"],"pid":"p","tid":"t","ts":"2.5","dur":"1"},)"
           R"({"name":"no phase","ts":3},{"ph":"two","name":"odd","ts":4},{"ph":"X","name":"a","ts":5,"args":[1,2]},)"
           R"({"ph":"X","name":"a","ts":6,"args":{}},)"
           R"({"ph":"i","name":"i","ts":8,"dur":3},{"ph":"X","name":"z","pid":-1,"tid":"007","ts":9,"dur":0})"));
}

TEST_F(ChromeExportTest, WhatIsNoJsonReadsBack) {
  ExpectReadsBack(List(R"({"ph":"X","n\u0061me":"x","name":"b","ts":7},)"
                       R"({"ph":"X","name":"a","ts":1,"args":{"a":NaN,"b":-Infinity}},)"
                       R"({"ph":"C","name":"c","pid":1,"ts":2,"args":{"v":NaN}})"),
                  false);
}

TEST_F(ChromeExportTest, WhatCountersSayBesidesTheirNumbersReadsBack) {
  ExpectReadsBack(List(
      R"({"ph":"C","name":"m","pid":1,"tid":2,"ts":1,"id":"a","cat":"c","tts":4,"args":{"v":1,"note":"x","o":{"x":1},"s":"12"}},)"
      R"({"ph":"C","name":"m","pid":1,"ts":2,"id":"b","args":{"v":2}},{"ph":"C","name":"none","pid":1,"ts":3,"args":{"t":"x"}},)"
      R"({"ph":"C","name":"none","pid":1,"ts":4,"args":{}},{"ph":"C","name":"v[","pid":1,"ts":5,"id":7,"args":{"a b":2.5}})"));
}

TEST_F(ChromeExportTest, SamplesReadBackAsTheyWereWritten) {
  const std::string source = List(
      R"({"ph":"C","name":"m","pid":1,"ts":1,"args":{"v":9007199254740993}},{"ph":"C","name":"m","pid":1,"ts":2,"args":{"v":7}},)"
      R"({"ph":"C","name":"m","pid":1,"ts":3,"args":{"v":18446744073709551615}},{"ph":"C","name":"m","pid":1,"ts":4,"args":{"v":"7"}},)"
      R"({"ph":"C","name":"m","pid":1,"ts":5,"args":{"v":"nan","w":1000000}},{"ph":"C","name":"m","pid":1,"ts":6,"args":{"v":1e400}},)"
      R"({"ph":"C","name":"m","pid":1,"ts":7,"args":{"v":1.10,"w":0.00001}})");
  ExpectReadsBack(source);
  const std::unique_ptr<PartReader> part = Import(source);
  const std::string exported = Export("chrome", *part);
  for (const char* sample : {R"("ts":1,"args":{"v":9007199254740993}})", R"("ts":2,"args":{"v":7}})",
                             R"("ts":3,"args":{"v":18446744073709551615}})", R"("ts":4,"args":{"v":"7"}})",
                             R"("ts":5,"args":{"v":"nan"}})", R"("ts":5,"args":{"w":1000000}})",
                             R"("ts":6,"args":{"v":1e400}})", R"("ts":7,"args":{"v":1.10,"w":0.00001}})"}) {
    EXPECT_NE(exported.find(sample), std::string::npos) << sample << " in " << exported;
  }
  ExpectReadsBack(List(R"({"ph":"C","name":"m","ts":1,"args":{"a":NaN,"b":nan,"c":-Infinity,"d":inf}})"), false);
}

TEST_F(ChromeExportTest, EventsWithoutATimeReadBack) {
  ExpectReadsBack(
      List(R"({"ph":"X","name":"a","ts":1,"dur":1},{"ph":"X","name":"b","pid":3,"tid":4,"dur":5,"args":{"k":1}},)"
           R"({"name":"c","tts":3,"ph":"B","ts":"soon","id":7},{"ph":"odd","cat":"x","args":[1]},{"dur":1},)"
           R"({"ph":"C","name":"d","args":{"v":1}},{"ph":"b","id":1,"ts":1e300},{"ph":null,"name":"e"})"),
      false);
}

TEST_F(ChromeExportTest, DurationsThatAreNoneReadBack) {
  ExpectReadsBack(
      List(R"({"ph":"X","name":"a","ts":1,"dur":-1},{"ph":"X","name":"b","ts":2,"dur":"long","args":{"k":1}},)"
           R"({"ph":"X","name":"c","ts":3,"dur":1e300,"args":{"correlation":5}})"),
      false);
}

TEST_F(ChromeExportTest, WhatEndsSayBesidesReadsBack) {
  ExpectReadsBack(List(
      R"({"ph":"B","name":"a","pid":1,"tid":3,"ts":11,"args":{"k":1}},)"
      R"({"ph":"E","name":"other","cat":"c","pid":1,"tid":3,"ts":14,"args":{"l":2}},)"
      R"({"ph":"B","name":"late","pid":1,"tid":3,"ts":30},{"ph":"E","pid":1,"tid":3,"ts":20},)"
      R"({"ph":"b","name":"c","cat":"x","id":1,"pid":1,"tid":5,"ts":15},{"ph":"e","name":"d","cat":"x","id":1,"pid":1,"tid":6,"ts":16})"));
}

TEST_F(ChromeExportTest, TheBaseAndTheFactsBesideEventsReadBack) {
  ExpectReadsBack(
      R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A \"B\""}],"distributedInfo":{"rank":3,"world_size":8},)"
      R"("baseTimeNanoseconds":1700000000000000123,"displayTimeUnit":"ms","traceName":"a b",)"
      R"("traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5000.123,"dur":1}]})");
}

// Two files of rank 3 are two ranks of a run, and --rank says another one than the file.
TEST_F(ChromeExportTest, TheRankOfTheRunReadsBackWhateverTheSourceSaid) {
  const std::unique_ptr<PartReader> part = Import(
      R"({"distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"traceEvents":[{"ph":"X","name":"a","ts":5}]})");
  for (const int64_t rank : {3, 0, 7}) {
    const std::string exported = ExportParts("chrome", {{part.get(), rank}});
    const std::unique_ptr<PartReader> again = Import(exported);
    EXPECT_EQ(again->IntegerFact("rank"), rank);
    EXPECT_EQ(again->IntegerFact("world_size"), 8);
    EXPECT_EQ(again->TextFact("source.distributedInfo"),
              "{\"backend\":\"nccl\",\"rank\":" + std::to_string(rank) + ",\"world_size\":8}");
  }
}

TEST_F(ChromeExportTest, TimesSince1970ReadBack) {
  ExpectReadsBack(List(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1623143089861885,"dur":1},)"
                       R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":1623143089861880,"dur":1})"));
}

TEST_F(ChromeExportTest, TimesOfAClockThatIsNotKnownReadBack) {
  const std::string source = List(R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":81234567.125,"dur":1},)"
                                  R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":81234560,"dur":1})");
  ExpectReadsBack(source);
  const std::unique_ptr<PartReader> part = Import(source);
  EXPECT_EQ(part->IntegerFact("base_source_ns"), 81'234'560'000);
  EXPECT_NE(Export("chrome", *part).find("\"ts\":81234567.125,"), std::string::npos);
}

TEST_F(ChromeExportTest, TimesBeforeTheBaseReadBack) {
  ExpectReadsBack(R"({"kprofTimeZeroNs":5000,"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1},)"
                  R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"p"}},)"
                  R"({"ph":"X","name":"b","pid":1,"tid":1,"ts":7.5,"dur":1}]})");
}

TEST_F(ChromeExportTest, HalvesOfSurrogatePairsReadBackEachAsItself) {
  const std::string source =
      R"({"traceEvents":[{"ph":"X","name":"a\ud800","pid":1,"tid":1,"ts":0,"dur":1},)"
      R"({"ph":"X","name":"a\udc00","pid":1,"tid":1,"ts":2,"dur":1,"args":{"k\udfff":"\ude00"}},)"
      R"({"ph":"X","name":"\ud83d\ude00","pid":1,"tid":1,"ts":4,"dur":1}]})";
  ExpectReadsBack(source);
  const std::string exported = Export("chrome", *Import(source));
  for (const char* expected : {R"("name":"a\ud800")", R"("name":"a\udc00")", R"({"k\udfff":"\ude00"})"}) {
    EXPECT_NE(exported.find(expected), std::string::npos) << exported;
  }
}

TEST_F(ChromeExportTest, AnEnvironmentStaysBehind) {
  const std::unique_ptr<PartReader> part = Import(
      R"({"deviceProperties":{"name":"n","Environment":{"SECRET":"1"}},"env_vars":{"SECRET":"2"},"traceEvents":[)"
      R"({"ph":"X","name":"a","ts":1,"args":{"environ":"SECRET=3","kept":{"env":["SECRET=4"],"x":1}}}]})",
      {{"source.environment", R"(["SECRET=5"])"}, {"source.kept", R"({"env":"SECRET=6","y":1})"}});
  for (const char* format : {"chrome", "perfetto", "csv"}) {
    EXPECT_EQ(Export(format, *part).find("SECRET"), std::string::npos) << format;
  }
  const std::string exported = Export("chrome", *part);
  EXPECT_NE(exported.find("\"deviceProperties\":{\"name\":\"n\"}"), std::string::npos) << exported;
  EXPECT_NE(exported.find("\"kept\":{\"y\":1}"), std::string::npos) << exported;
  EXPECT_NE(exported.find("\"args\":{\"kept\":{\"x\":1}}"), std::string::npos) << exported;
}

TEST_F(ChromeExportTest, SoDoVariablesThatAnImportKeeps) {
  const std::unique_ptr<PartReader> part = Import(
      R"({"env":{"NCCL_ALGO":"Ring"},"num_envs":8,"traceEvents":[)"
      R"({"ph":"X","name":"a","ts":1,"args":{"env":{"NCCL_ALGO":"Ring"},"env_NCCL_ALGO":"Ring","env_RANK":1,"x":1}},)"
      R"({"ph":"X","name":"b","ts":2,"args":{"c":"{\"env\":{\"NCCL_ALGO\":\"Ring\"}}","d":{"env":["NCCL_ALGO=Ring"]}}},)"
      R"({"ph":"X","name":"c","ts":3,"args":{"env":"CartPole-v1","env_ids":[0,1]}}]})");
  EXPECT_EQ(part->TextFact("source.env"), R"({"NCCL_ALGO":"Ring"})");
  for (const char* format : {"chrome", "perfetto", "csv"}) {
    EXPECT_EQ(Export(format, *part).find("NCCL"), std::string::npos) << format;
  }
  const std::string exported = Export("chrome", *part);
  for (const char* expected : {R"("args":{"x":1})", R"("num_envs":8)", R"("env":"CartPole-v1","env_ids":[0,1])"}) {
    EXPECT_NE(exported.find(expected), std::string::npos) << expected << " in " << exported;
  }
}

TEST_F(ChromeExportTest, SeveralPartsHaveProcessesAndFlowsOfTheirOwn) {
  const std::string source = R"({"distributedInfo":{"rank":RANK},"baseTimeNanoseconds":BASE,"traceEvents":[)"
                             R"({"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}},)"
                             R"({"ph":"X","name":"a","pid":7,"tid":1,"ts":1,"dur":5},)"
                             R"({"ph":"s","id":9,"name":"f","cat":"f","pid":7,"tid":1,"ts":1}]})";
  std::vector<std::unique_ptr<PartReader>> parts;
  for (const auto& [rank, base] : {std::pair("4", "1700000000000000000"), std::pair("5", "1700000000000002000")}) {
    std::string text = source;
    text.replace(text.find("RANK"), 4, rank);
    text.replace(text.find("BASE"), 4, base);
    parts.push_back(Import(text));
  }
  const std::string exported = Export("chrome", {parts[0].get(), parts[1].get()});
  ExpectIsChromeTrace(exported);
  for (const char* expected : {R"("name":"rank 4: python")", R"("name":"rank 5: python")", R"("pid":7,"tid":1,"ts":0,)",
                               R"("pid":10000007,"tid":1,"ts":2,)", R"("id":9})", R"("id":1099511627785})",
                               R"("baseTimeNanoseconds":1700000000000001000)"}) {
    EXPECT_NE(exported.find(expected), std::string::npos) << expected << " in " << exported;
  }
}

// Its tracks are told of by no event, its times count from the start of the capture.
TEST_F(ChromeExportTest, AnNsightExportHasNamesAndABase) {
  const std::string path = std::string(KPROF_SOURCE_DIR) + "/../shared/data/nsys/rtx4060_no_kernels.sqlite";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "rtx4060_no_kernels.sqlite is not here";
  const std::unique_ptr<PartReader> part = Import(ReadFile(path), {{"source_format", "nsys-sqlite"}});
  const std::string exported = Export("chrome", *part);
  ExpectIsChromeTrace(exported);
  for (const char* expected : {R"("name":"process_name","cat":"","pid":2568473,)",
                               R"("pid":2568473,"tid":2568473,"kprofAdded":1,"args":{"name":"climate_train_u"})",
                               R"("tid":"OS runtime of climate_train_u")", R"("baseTimeNanoseconds":1763851018)"}) {
    EXPECT_NE(exported.find(expected), std::string::npos) << expected;
  }
  EXPECT_EQ(exported.find("\"environment\""), std::string::npos);
}

// Two processes that number their calls alike, a thread without a name, a stream of two contexts, counters of one name.
TEST_F(ChromeExportTest, AMadeNsightExportReadsBack) {
  const int64_t machine = int64_t{1} << 48;
  const std::string first = std::to_string(machine | 100 << 24 | 101);
  const std::string second = std::to_string(machine | 200 << 24 | 201);
  ExpectNsightReadsBack(DatabaseOf(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'loader'), (4, 'read');"
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.2');"
      "CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
      "INSERT INTO ThreadNames VALUES (3, 1, " +
      first +
      ");"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (5, 0, 100), (6, 0, 200);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,"
      " streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1500, 0, 1, 7, 11, " +
      first +
      ", 1),"
      " (1200, 1700, 0, 2, 7, 12, " +
      first + ", 1), (1100, 1150, 0, 1, 7, 11, " + second +
      ", 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,"
      " nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, 950, " +
      first + ", 11, 2), (960, NULL, " + first + ", 12, 2), (901, 951, " + second +
      ", 11, 2);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, graphId INTEGER,"
      " graphExecId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (3000, 5000, 0, 2, 6, 1, 7, 13, " +
      first +
      ");"
      "CREATE TABLE MARKS (timestamp INTEGER, name TEXT, streamId INTEGER, deviceId INTEGER);"
      "INSERT INTO MARKS VALUES (1300, 'here', 7, 0);"
      "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
      "INSERT INTO OSRT_API VALUES (905, 945, " +
      first + ", 4), (906, 946, " + second +
      ", 4);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,"
      " domainId INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES (800, 2000, 60, 'step', " +
      first + ", 0), (850, 1900, 60, 'step', " + first + ", 0), (810, 1990, 59, 'pushed', " + second +
      ", 0), (820, NULL, 34, 'mark', " + second +
      ", 0);"
      "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId INTEGER, metricName TEXT);"
      "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 1, 'GPU Active [Throughput %]'), (2, 1, 'GPU Active [Throughput "
      "%]');"
      "CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId INTEGER, value INTEGER);"
      "INSERT INTO GPU_METRICS VALUES (1000, 1, 1, 50), (1001, 2, 1, 60), (2000, 1, 1, 70),"
      " (2001, 1, 1, 9007199254740993), (2002, 1, 1, '7'), (2003, 1, 1, 1.25), (2004, 1, 1, 9e999);"));
}

// Viewers know no times before 0: all of them are moved, and what was the capture's start is a time above 0.
TEST_F(ChromeExportTest, AnNsightExportWithTimesBeforeItsStartReadsBackButForWhatItsStartWasCalled) {
  const std::unique_ptr<PartReader> part =
      Import(DatabaseOf("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
                        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
                        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1754324972242076786);"
                        "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT);"
                        "INSERT INTO DIAGNOSTIC_EVENT VALUES (500, 'a'), (-5000, 'b');"),
             {{"source_format", "nsys-sqlite"}});
  const std::string exported = Export("chrome", *part);
  EXPECT_EQ(exported.find("\"ts\":-"), std::string::npos);
  const std::unique_ptr<PartReader> again = Import(exported);
  EXPECT_EQ(Words(*again), Words(*part));
  EXPECT_EQ(again->IntegerFact("base_unix_ns"), part->IntegerFact("base_unix_ns"));
  EXPECT_EQ(part->IntegerFact("base_source_ns"), 0);
  EXPECT_EQ(again->IntegerFact("base_source_ns"), 6000);
}

TEST_F(ChromeExportTest, ReadsBackNsightTwoGpusAfter) {
  ExpectNsightFileReadsBack("2gpu_mfu_after.sqlite");
}
TEST_F(ChromeExportTest, ReadsBackNsightTwoGpusBefore) {
  ExpectNsightFileReadsBack("2gpu_mfu_before.sqlite");
}
TEST_F(ChromeExportTest, ReadsBackNsightWithoutKernels) {
  ExpectNsightFileReadsBack("rtx4060_no_kernels.sqlite");
}
TEST_F(ChromeExportTest, ReadsBackNsightPowerIteration) {
  ExpectNsightFileReadsBack("t4_power_iteration.sqlite");
}

// As other programs leave an export that know the events alone.
TEST_F(ChromeExportTest, NamesThatItAddsAreTakenFromEventsWhereTheListOfTracksIsMissing) {
  const std::unique_ptr<PartReader> first = Import(std::string(
      R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1},{"ph":"C","name":"m","pid":7,"ts":1,"args":{"v":1}}],)"
      R"("kprofTracks":[{"of":"thread","pid":"1","tid":"2","track":{"kind":"cpu_thread","name":"main","pid":"1","tid":"2",)"
      R"("process":"p","sort_index":-4}},)"
      R"({"of":"counter","pid":"7","name":"m","series":"v","track":{"kind":"counter","name":"m v","pid":"7","process":"q"}}]})"));
  std::string exported = Export("chrome", *first);
  EXPECT_NE(exported.find(R"({"ph":"M","name":"process_name","cat":"","pid":7,"kprofAdded":1,"args":{"name":"q"}})"),
            std::string::npos)
      << exported;
  exported.replace(exported.find("kprofTracks"), 11, "otherTracks");
  const std::unique_ptr<PartReader> second = Import(exported);
  EXPECT_EQ(TracksOf(*second), TracksOf(*first));
  EXPECT_EQ(Words(*second), Words(*first));
}

TEST_F(ChromeExportTest, TracksReadBackAsTheyAre) {
  const std::unique_ptr<PartReader> first = Import(std::string(
      R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":2,"ts":1},{"ph":"X","name":"b","pid":1,"tid":3,"ts":1},)"
      R"({"ph":"b","name":"w","cat":"c","id":1,"pid":1,"ts":1},{"ph":"C","name":"m","pid":1,"ts":1,"args":{"v":1}}],)"
      R"("kprofTracks":[{"of":"thread","pid":"1","tid":"2","track":{"kind":"gpu_stream","name":"\u00e4 \"q\"",)"
      R"("pid":"other","tid":"7","process":"p","device":3,"stream":9,"sort_index":-4}},)"
      R"({"of":"thread","pid":"1","tid":"3","track":{"kind":"other","name":""}},)"
      R"({"of":"async","pid":"1","cat":"c","id":"1","track":{"kind":"async","name":"ranges","tid":"5"}},)"
      R"({"of":"counter","pid":"1","name":"m","series":"v","track":{"kind":"counter","name":"m","device":0}}]})"));
  const std::vector<std::string> words = Words(*first);
  for (const char* expected : {"<gpu_stream \xc3\xa4 \"q\" other:7 p 3/9 -4>", "<other  -:- - -/- ->",
                               "<async ranges -:5 - -/- ->", "<counter m -:- - 0/- ->"}) {
    EXPECT_TRUE(std::any_of(words.begin(), words.end(), [&](const std::string& line) {
      return line.find(expected) != line.npos;
    })) << expected;
  }
  const std::unique_ptr<PartReader> second = Import(Export("chrome", *first));
  EXPECT_EQ(Words(*second), words);
  EXPECT_EQ(TracksOf(*second), TracksOf(*first));
}

// Each is known by all that its events' ids are, and what is said of one makes no other.
TEST_F(ChromeExportTest, TracksOfIdsWithAScopeOrOfSeveralValuesReadBack) {
  const std::string events = R"({"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":3}},)"
                             R"({"ph":"b","cat":"c","name":"n","pid":1,"ts":1,"id":9,"scope":"s"},)"
                             R"({"ph":"e","cat":"c","name":"n","pid":1,"ts":2,"id":9,"scope":"s"},)"
                             R"({"ph":"b","cat":"c","name":"n","pid":1,"ts":3,"id":9,"scope":"t"},)"
                             R"({"ph":"n","cat":"c","name":"n","pid":1,"ts":4,"id2":{"local":"0x5"},"id":8},)"
                             R"({"ph":"n","cat":"c","name":"n","pid":1,"ts":5,"id2":{"global":"\u00e4"},"scope":"s"},)"
                             R"({"ph":"e","cat":"c","name":"alone","pid":"p","ts":6,"id2":{"local":6}})";
  const std::string names =
      R"({"of":"async","pid":"1","cat":"c","id":"0x5","track":{"kind":"async","name":"local","pid":"other"}},)"
      R"({"of":"async","pid":"","cat":"c","id":"\u00e4","scope":"s","track":{"kind":"async","name":"global"}},)"
      R"({"of":"async","pid":"p","cat":"c","id":"6","track":{"kind":"async","name":"c 6","pid":"p","device":2}})";
  for (const std::string& list : {std::string(), names}) {
    const std::unique_ptr<PartReader> first =
        Import("{\"traceEvents\":[" + events + "],\"kprofTracks\":[" + list + "]}");
    EXPECT_EQ(first->tracks().size(), 6u);
    const std::string exported = Export("chrome", *first);
    const std::unique_ptr<PartReader> second = Import(exported);
    EXPECT_EQ(TracksOf(*second), TracksOf(*first)) << exported;
    EXPECT_EQ(Words(*second), Words(*first)) << exported;
  }
}

TEST_F(ChromeExportTest, EndsWhenItIsToldTo) {
  const std::unique_ptr<PartReader> part = Import(List(R"({"ph":"X","name":"a","ts":1})"));
  std::stop_source stop;
  stop.request_stop();
  const ExportPart parts[] = {{part.get()}};
  EXPECT_EQ(ExportChrome(parts, [](std::string_view) { return OkStatus(); }, {.stop = stop.get_token()}).code(),
            ErrorCode::kCancelled);
}

// There are readers that take a counter's first event for all of its series.
TEST_F(ChromeExportTest, SeriesOfACounterStandInOneEvent) {
  const std::string source = List(
      R"({"ph":"C","name":"mem","pid":1,"ts":2,"args":{"a":3,"b":4}},{"ph":"C","name":"mem","pid":1,"ts":1,"args":{"a":1,"b":2}},)"
      R"({"ph":"C","name":"mem","pid":1,"ts":2,"args":{"a":5}},{"ph":"C","name":"mem","pid":2,"ts":1,"args":{"a":7}},)"
      R"({"ph":"C","name":"other","pid":1,"ts":1,"args":{"b":8}})");
  const std::string exported = Export("chrome", *Import(source));
  const std::string first = R"("name":"mem","cat":"","pid":1,"ts":1,"args":{"a":1,"b":2}})";
  const std::string second = R"("name":"mem","cat":"","pid":1,"ts":2,"args":{"a":3,"b":4}})";
  const std::string third = R"("name":"mem","cat":"","pid":1,"ts":2,"args":{"a":5}})";
  EXPECT_LT(exported.find(first), exported.find(second)) << exported;
  EXPECT_LT(exported.find(second), exported.find(third)) << exported;
  EXPECT_NE(exported.find(third), std::string::npos) << exported;
  size_t events = 0;
  for (size_t at = exported.find("\"ph\":\"C\""); at != exported.npos; at = exported.find("\"ph\":\"C\"", at + 1))
    ++events;
  EXPECT_EQ(events, 5u) << exported;
  ExpectReadsBack(source);
}

TEST_F(ChromeExportTest, FailsAsItsSinkDoes) {
  const std::unique_ptr<PartReader> part = Import(List(R"({"ph":"X","name":"a","ts":1})"));
  const ExportPart parts[] = {{part.get()}};
  const auto full = [](std::string_view) { return Fail(ErrorCode::kStorageFull, "write it", "no room"); };
  EXPECT_EQ(ExportChrome(parts, full, {}).code(), ErrorCode::kStorageFull);
}

TEST_F(ChromeExportTest, ReadsBackMi250Minitoy) {
  ExpectFileReadsBack("mi250_minitoy.json.gz");
}
TEST_F(ChromeExportTest, ReadsBackMi300xTriton) {
  ExpectFileReadsBack("mi300x_triton.json.gz");
}
TEST_F(ChromeExportTest, ReadsBackCpuOnlyRank34) {
  ExpectFileReadsBack("cpu_only_rank34.json.gz");
}
TEST_F(ChromeExportTest, ReadsBackA100CuptiCounters) {
  ExpectFileReadsBack("a100_cupti_counters.json.gz");
}
TEST_F(ChromeExportTest, ReadsBackMi210GpuOnly) {
  ExpectFileReadsBack("mi210_gpu_only.json.gz");
}

}  // namespace
}  // namespace kprof
