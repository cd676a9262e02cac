#include "daemon/exports/chrome_export.h"

#include <cstdlib>

#include "tests/unit/exports/exports_fixture.h"

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
  EXPECT_NE(exported.find(R"("ts":1,"pid":1,"id2":{"local":"0x1"},"args":{"a":1}})"), std::string::npos) << exported;
  EXPECT_NE(exported.find(R"("ts":5,"pid":2,"id2":{"global":"7"}})"), std::string::npos) << exported;
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

TEST_F(ChromeExportTest, TheBaseAndTheFactsBesideEventsReadBack) {
  ExpectReadsBack(
      R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"A \"B\""}],"distributedInfo":{"rank":3,"world_size":8},)"
      R"("baseTimeNanoseconds":1700000000000000123,"displayTimeUnit":"ms","traceName":"a b",)"
      R"("traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5000.123,"dur":1}]})");
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
  for (const char* expected :
       {R"("name":"process_name","pid":2568473,)", R"("pid":2568473,"tid":2568473,"args":{"name":"climate_train_u"})",
        R"("tid":"OS runtime of climate_train_u")", R"("baseTimeNanoseconds":1763851018)"}) {
    EXPECT_NE(exported.find(expected), std::string::npos) << expected;
  }
  EXPECT_EQ(exported.find("\"environment\""), std::string::npos);
  const std::unique_ptr<PartReader> again = Import(exported);
  EXPECT_EQ(again->rows(EventKind::kSlice), part->rows(EventKind::kSlice));
  EXPECT_EQ(again->IntegerFact("base_unix_ns"), part->IntegerFact("base_unix_ns"));
}

TEST_F(ChromeExportTest, EndsWhenItIsToldTo) {
  const std::unique_ptr<PartReader> part = Import(List(R"({"ph":"X","name":"a","ts":1})"));
  std::stop_source stop;
  stop.request_stop();
  const ExportPart parts[] = {{part.get()}};
  EXPECT_EQ(ExportChrome(parts, [](std::string_view) { return OkStatus(); }, {.stop = stop.get_token()}).code(),
            ErrorCode::kCancelled);
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
