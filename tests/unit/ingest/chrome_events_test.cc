#include "daemon/ingest/chrome/chrome_events.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "daemon/ingest/assemble/batch_sink.h"
#include "daemon/ingest/text/json_scan.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/flow_rules.h"

namespace kprof {
namespace {

// Reads events and keeps what their batches say, in words.
class Reader {
 public:
  explicit Reader(size_t sample_text_bytes = ChromeEvents::kMostSampleTextBytes) : events_(0, sample_text_bytes) {}

  ChromeEvents::Stop Add(const std::string& text) {
    const std::string padded = text + std::string(kScanSlackBytes, '\0');
    const ChromeEvents::Stop stop =
        events_.Add(padded.data(), padded.data() + text.size(), padded.data() + text.size());
    stopped_at = static_cast<size_t>(stop.at - padded.data());
    batch_ = events_.TakeBatch();
    strings_.insert(strings_.end(), batch_.strings.begin(), batch_.strings.end());
    tracks_.insert(tracks_.end(), batch_.tracks.begin(), batch_.tracks.end());
    shapes_.insert(shapes_.end(), batch_.shapes.begin(), batch_.shapes.end());
    return stop;
  }

  // A row: "time+duration track name/category #correlation phase {arguments}".
  std::vector<std::string> Rows(EventKind kind) {
    EventRows& rows = batch_.of(kind);
    std::vector<size_t> next(shapes_.size());
    std::vector<std::string> out;
    for (size_t row = 0; row < rows.size(); ++row) {
      auto value = [&](EventColumn column) { return rows.of(column).empty() ? kNoValue : rows.of(column)[row]; };
      std::string text = std::to_string(value(EventColumn::kTime));
      if (kind == EventKind::kSlice) {
        text += value(EventColumn::kDuration) == kNoValue ? "+?" : "+" + std::to_string(value(EventColumn::kDuration));
      }
      text += " " + TrackText(value(EventColumn::kTrack));
      if (kind == EventKind::kCounter) {
        const auto shape = static_cast<size_t>(value(EventColumn::kShape));
        out.push_back(text + " " + std::to_string(std::bit_cast<double>(value(EventColumn::kValue))) +
                      ArgText(rows, shape, next));
        continue;
      }
      text += " " + Text(value(EventColumn::kName)) + "/" + Text(value(EventColumn::kCategory));
      if (kind == EventKind::kSlice && value(EventColumn::kCorrelation) != kNoValue) {
        text += " #" + std::to_string(value(EventColumn::kCorrelation));
      }
      if (kind == EventKind::kFlow) text += " id " + FlowText(value(EventColumn::kFlowId));
      if (value(EventColumn::kPhase) != kNoValue)
        text += std::string(" ") + static_cast<char>(value(EventColumn::kPhase));
      const auto shape = static_cast<size_t>(value(EventColumn::kShape));
      out.push_back(text + ArgText(rows, shape, next));
    }
    return out;
  }

  // What tells of threads without being a row: "what pid:tid name sort_index".
  std::vector<std::string> Told() const {
    std::vector<std::string> out;
    for (const ToldName& told : batch_.told_names) {
      out.push_back(Text(told.what) + " " + Text(told.thread.pid) + ":" + Text(told.thread.tid) + " " +
                    Text(told.name) + " " + (told.sort_index ? std::to_string(*told.sort_index) : "-"));
    }
    return out;
  }
  size_t tracks() const { return tracks_.size(); }

  const ChromeEvents& events() const { return events_; }
  size_t stopped_at = 0;

 private:
  std::string Text(int64_t id) const {
    const std::string& text = strings_.at(static_cast<size_t>(id));
    return text.starts_with(kPlainText) ? text.substr(1) : text;
  }

  std::string FlowText(int64_t id) const { return IsNumberedFlow(id) ? NumberedFlowText(id) : "'" + Text(id) + "'"; }

  std::string TrackText(int64_t track) const {
    const TrackKey& key = tracks_.at(static_cast<size_t>(track));
    switch (key.family) {
      case TrackKey::Family::kThread:
        return Text(key.pid) + ":" + Text(key.tid);
      case TrackKey::Family::kAsync:
        return "async " + Text(key.pid) + ":" + Text(key.name) + ":" + (key.tid == 0 ? "" : Text(key.tid) + "/") +
               Text(key.series);
      case TrackKey::Family::kCounter:
        return "counter " + Text(key.pid) + ":" + Text(key.name) + ":" + Text(key.series);
    }
    return "?";
  }

  std::string ArgText(const EventRows& rows, size_t shape, std::vector<size_t>& next) {
    if (shape == kNoArgs) return "";
    const size_t at = next.at(shape)++;
    std::string text;
    for (size_t slot = 0; slot < shapes_[shape].size(); ++slot) {
      const ArgSlot& as = shapes_[shape][slot];
      text += (text.empty() ? " {" : ", ") + std::string(as.of_event ? "*" : "") + Text(as.key) + "=";
      const int64_t value = HasColumn(as.type) ? rows.args.at(shape).at(slot).at(at) : 0;
      switch (as.type) {
        case ArgType::kNull:
          text += "null";
          break;
        case ArgType::kFalse:
          text += "false";
          break;
        case ArgType::kTrue:
          text += "true";
          break;
        case ArgType::kInteger:
          text += std::to_string(value);
          break;
        case ArgType::kDecimal:
          text += std::to_string(UnpackDecimal(value).digits) + "e-" + std::to_string(UnpackDecimal(value).places);
          break;
        case ArgType::kNumber:
          text += "number " + Text(value);
          break;
        case ArgType::kString:
          text += "'" + Text(value) + "'";
          break;
        case ArgType::kJson:
          text += Text(value);
          break;
        case ArgType::kCorrelation:
          text += "#";
          break;
      }
    }
    return text + "}";
  }

  ChromeEvents events_;
  TraceBatch batch_;
  std::vector<std::string> strings_{""};
  std::vector<TrackKey> tracks_;
  std::vector<ArgShape> shapes_{{}};
};

using Rows = std::vector<std::string>;

TEST(ChromeEvents, ASliceHasWhatItsEventSays) {
  Reader reader;
  reader.Add(R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 12.5, "dur": 0.25,
    "args": {"correlation": 42, "grid": [1, 2, 3], "occupancy": 62.50, "dtype": "bf16", "graph": null, "ok": true}})");
  EXPECT_EQ(
      reader.Rows(EventKind::kSlice),
      Rows{"12500+250 0:stream 7 gemm/kernel #42 {correlation=#, grid={[1, 2, 3], occupancy=6250e-2, dtype='bf16', "
           "graph=null, ok=true}"});
}

TEST(ChromeEvents, ACorrelationMayBeWrittenInSeveralWays) {
  struct Case {
    std::string value;
    std::string shown;
  };
  Reader reader;
  for (const Case& c : {Case{"5", " #5 {correlation=#}"}, Case{"\"5\"", " #5 {correlation='5'}"},
                        Case{"5.0", " #5 {correlation=50e-1}"}, Case{"\"5.00\"", " #5 {correlation='5.00'}"},
                        Case{"-7", " #-7 {correlation=#}"}, Case{"5.5", " {correlation=55e-1}"},
                        Case{"\"five\"", " {correlation='five'}"}, Case{"\"\"", " {correlation=''}"},
                        Case{"18446744073709551615", " {correlation=number 18446744073709551615}"}}) {
    reader.Add(R"({"ph":"X","name":"n","ts":1,"dur":1,"args":{"correlation":)" + c.value + "}}");
    EXPECT_EQ(reader.Rows(EventKind::kSlice), Rows{"1000+1000 : n/" + c.shown});
  }
  reader.Add(R"({"ph":"X","name":"n","ts":1,"dur":1,"args":{"correlation":5,"correlation":6}})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice), Rows{"1000+1000 : n/ #6 {correlation=5, correlation=#}"});
  reader.Add(R"({"ph":"i","name":"n","ts":1,"args":{"correlation":"5"}})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant), Rows{"1000 : n/ {correlation='5'}"});
}

TEST(ChromeEvents, EachPhaseBecomesWhatTheTableSays) {
  Reader reader;
  reader.Add(R"(
    {"ph":"i","name":"mark","ts":1,"pid":1,"tid":2,"s":"g"},
    {"ph":"I","name":"old mark","ts":2,"pid":1,"tid":2},
    {"ph":"C","name":"memory","ts":3,"pid":1,"args":{"used":1.5,"free":-2,"unit":"GB"}},
    {"ph":"s","cat":"ac2g","name":"flow","id":9,"ts":4,"pid":1,"tid":2},
    {"ph":"f","cat":"ac2g","name":"flow","id":9,"bp":"e","ts":5,"pid":0,"tid":7},
    {"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},
    {"ph":"B","name":"begin","ts":6,"pid":1,"tid":2},
    {"ph":"b","cat":"io","name":"read","id":"0x1","ts":7,"pid":1,"tid":2},
    {"ph":"odd","name":"unknown","ts":8,"pid":1,"tid":2})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant), (Rows{"1000 1:2 mark/ {*s='g'}", "2000 1:2 old mark/"}));
  EXPECT_EQ(reader.Rows(EventKind::kCounter),
            (Rows{"3000 counter 1:memory:used 1.500000", "3000 counter 1:memory:free -2.000000"}));
  EXPECT_EQ(reader.Rows(EventKind::kFlow), (Rows{"4000 1:2 flow/ac2g id 9 s", "5000 0:7 flow/ac2g id 9 f {*bp='e'}"}));
  const Rows others = reader.Rows(EventKind::kMetadata);
  ASSERT_EQ(others.size(), 5u);
  EXPECT_EQ(others[0], "3000 1: memory/ C {unit='GB'}");
  EXPECT_EQ(others[1], "0 1: process_name/ M {name='python'}");
  EXPECT_EQ(others[2], "6000 1:2 begin/ B");
  EXPECT_EQ(others[3], "7000 async 1:io:0x1 read/io b {*tid=2}");
  EXPECT_EQ(others[4], std::string("8000 1:2 unknown/ ") + '\0' + " {*ph='odd'}");
}

TEST(ChromeEvents, ArgumentsOfOneLayoutMayHaveSeveralTypes) {
  struct Case {
    std::string value;
    std::string shown;
  };
  Reader reader;
  for (const Case& c : {Case{"1", "1"}, Case{"2.5", "25e-1"}, Case{"1e9", "number 1e9"}, Case{"3", "3"},
                        Case{"NaN", "number NaN"}, Case{"12345678901234567890", "number 12345678901234567890"},
                        Case{"0.12345678901234567", "number 0.12345678901234567"}}) {
    reader.Add(R"({"ph":"i","name":"n","ts":1,"args":{"v":)" + c.value + "}}");
    EXPECT_EQ(reader.Rows(EventKind::kInstant), Rows{"1000 : n/ {v=" + c.shown + "}"});
  }
}

TEST(ChromeEvents, AnIdMayHoldForAProcessOrForAllOrInAScope) {
  Reader reader;
  reader.Add(R"({"ph":"b","cat":"c","name":"n","pid":1,"ts":1,"id2":{"local":"0x1"}},
    {"ph":"b","cat":"c","name":"n","pid":1,"ts":2,"id2":{"local":"0x2"}},
    {"ph":"b","cat":"c","name":"n","pid":1,"ts":3,"id2":{"global":7}},
    {"ph":"n","cat":"c","name":"n","pid":1,"ts":4,"id":"0x1","scope":"s"},
    {"ph":"b","cat":"c","name":"n","pid":1,"ts":5,"id":"0x3","id2":{}},
    {"ph":"b","cat":"c","name":"n","pid":1,"ts":6,"id":"0x4","id2":null})");
  EXPECT_EQ(
      reader.Rows(EventKind::kMetadata),
      (Rows{R"(1000 async 1:c:0x1 n/c b {*pid=1, *id2={{"local":"0x1"}})",
            R"(2000 async 1:c:0x2 n/c b {*pid=1, *id2={{"local":"0x2"}})",
            R"(3000 async :c:7 n/c b {*pid=1, *id2={{"global":7}})", R"(4000 async 1:c:s/0x1 n/c n {*scope='s'})",
            R"(5000 async 1:c:0x3 n/c b {*pid=1, *id='0x3', *id2={{}})", R"(6000 async 1:c:0x4 n/c b {*id2=null})"}));
}

TEST(ChromeEvents, AFlowsIdHoldsForAllUnlessItSaysOtherwise) {
  Reader reader;
  reader.Add(R"({"ph":"s","name":"n","pid":1,"tid":2,"ts":1,"id":5},
    {"ph":"s","name":"n","pid":1,"tid":2,"ts":2,"id2":{"local":"5"}},
    {"ph":"s","name":"n","pid":1,"tid":2,"ts":3,"id2":{"global":"5"}},
    {"ph":"s","name":"n","pid":1,"tid":2,"ts":4,"id":"5","scope":"s"})");
  EXPECT_EQ(reader.Rows(EventKind::kFlow),
            (Rows{"1000 1:2 n/ id 5 s", R"(2000 1:2 n/ id '1 5' s {*id2={{"local":"5"}})",
                  R"(3000 1:2 n/ id 5 s {*id2={{"global":"5"}})", "4000 1:2 n/ id 's 5' s {*id='5', *scope='s'}"}));
}

TEST(ChromeEvents, WhatIsCalledAnEnvironmentIsLeftOut) {
  Reader reader;
  reader.Add(R"({"ph":"X","name":"a","ts":1,"env":"S=1","args":{"env_vars":{"S":1},"k":{"Environment":{"S":1},"x":2},
    "environ":"S=1","num_envs":8,"l":[{"\u0065nv":"S=1","y":3}],"\u0065nv":"S=1"}})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice), Rows{R"(1000+? : a/ {k={{"x":2}, num_envs=8, l={[{"y":3}]})"});
  reader.Add(R"({"ph":"M","name":"environment","args":{"S":"1"}},{"ph":"M","name":"labels","args":{"k":1}},
    {"ph":"M","name":"env","args":{"k":1}},{"ph":"C","name":"c","ts":1,"args":{"env":1,"k":2}})");
  EXPECT_EQ(reader.Rows(EventKind::kMetadata), (Rows{"0 : environment/ M", "0 : labels/ M {k=1}", "0 : env/ M"}));
  EXPECT_EQ(reader.Rows(EventKind::kCounter), (Rows{"1000 counter :c:env 1.000000", "1000 counter :c:k 2.000000"}));
}

TEST(ChromeEvents, ArgumentsThatAreVariablesAreLeftOutWhateverTheEventIsCalled) {
  Reader reader;
  reader.Add(
      R"({"ph":"i","name":"launch","ts":1,"args":{"A_B":"S","HOME":"/S","N_M":4,"k":"x","cmd":"HOME=/S A_B=S run"}},
    {"ph":"i","name":"launch","ts":2,"args":{"A_B":"x","M":"16"}},{"ph":"C","name":"cpu","ts":3,"args":{"USER":12}})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant),
            (Rows{"1000 : launch/ {N_M=4, k='x', cmd=''}", "2000 : launch/ {A_B='x', M='16'}"}));
  EXPECT_EQ(reader.Rows(EventKind::kCounter), Rows{"3000 counter :cpu:USER 12.000000"});
}

TEST(ChromeEvents, OfEventsThatAreCalledAnEnvironmentTheArgumentsAreLeftOut) {
  Reader reader;
  reader.Add(R"({"ph":"i","name":"environment","ts":1,"s":"g","args":{"A":"S","n":1,"PORT":80,"x":{"A":"S"}}},
    {"ph":"i","name":"environ","ts":2,"args":{"http_proxy":"S"}},{"ph":"i","name":"env\u0073","ts":3,"args":{"A":"S"}},
    {"ph":"i","name":"env_step","ts":4,"args":{"A":"S","x":"y","l":["float"],"t":"A=S","d":{"A":"S"}}},
    {"ph":"i","name":"gym/env.py(1): env","ts":5,"args":{"x":"y"}},{"ph":"i","name":"a","ts":6,"args":{"A":"b"}})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant), (Rows{"1000 : environment/ {*s='g', n=1}", "2000 : environ/",
                                                    "3000 : \\env\\u0073/", "4000 : env_step/ {x='y', l={[\"float\"]}",
                                                    "5000 : gym/env.py(1): env/ {x='y'}", "6000 : a/ {A='b'}"}));
  reader.Add(R"({"ph":"C","name":"environment","ts":7,"args":{"A":"S","n":2}},
    {"ph":"N","name":"Environment","id":1,"ts":8,"args":{"snapshot":{"A":"S"}}})");
  EXPECT_EQ(reader.Rows(EventKind::kCounter), Rows{"7000 counter :environment:n 2.000000"});
  EXPECT_EQ(reader.Rows(EventKind::kMetadata), (Rows{"7000 : environment/ C", "8000 : Environment/ N {*id=1}"}));
}

TEST(ChromeEvents, OfAPairThatIsAnEnvironmentTheValueIsLeftOut) {
  Reader reader;
  reader.Add(R"({"ph":"i","name":"a","ts":1,"args":{"name":"env","value":["A=S"],"x":1}},
    {"ph":"i","name":"a","ts":2,"args":{"name":"lr","value":["a=b"],"x":1}},
    {"ph":"i","name":"a","ts":3,"args":{"name":"env","value":["1"],"x":1}})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant),
            (Rows{"1000 : a/ {name='env', x=1}", R"(2000 : a/ {name='lr', value={["a=b"], x=1})",
                  "3000 : a/ {name='env', x=1}"}));
}

TEST(ChromeEvents, WhatOfAnEnvironmentIsNoneStaysAndSoDoWhatVariablesAreListed) {
  Reader reader;
  reader.Add(R"({"ph":"i","name":"a","ts":1,"args":{"env":"CartPole-v1","environment":"prod","env_ids":[0,1]}},
    {"ph":"i","name":"a","ts":2,"args":{"env":"A=S","environment":"prod","env_ids":["A=S"]}},
    {"ph":"i","name":"a","ts":3,"args":{"env":{"NCCL_ALGO":"Ring","A":"S"},"env_RANK":1,"env_PORT":80}},
    {"ph":"i","name":"a","ts":4,"args":{"env":{"NCCL_ALGO":"Ring","A":"S"},"env_RANK":1,"env_PORT":80}})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant),
            (Rows{"1000 : a/ {env='CartPole-v1', environment='prod', env_ids={[0,1]}", "2000 : a/ {environment='prod'}",
                  R"(3000 : a/ {env={{"NCCL_ALGO":"Ring"}, env_RANK=1})",
                  R"(4000 : a/ {env={{"NCCL_ALGO":"Ring"}, env_RANK=1})"}));
}

TEST(ChromeEvents, WhatIsOnlyPartlyCalledAnEnvironmentIsLeftOutWhereItIsNoNumber) {
  Reader reader;
  reader.Add(R"({"ph":"X","name":"a","ts":1,"args":{"worker_env":{"S":1},"userEnvironment":"S=1","num_env":4,
    "environment_id":"e","config":"{\"env\":{\"S\":\"1\"},\"x\":2}","l":["{\"my_env\":\"S=1\"}"]}})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice),
            Rows{R"(1000+? : a/ {num_env=4, environment_id='e', config='\{\"x\":2}', l={["{}"]})"});
}

TEST(ChromeEvents, OfHowManySomethingWasLeftOutIsCounted) {
  ChromeEvents events(1);
  const std::string text =
      R"({"ph":"i","ts":1,"args":{"env":{"S":1},"b":{"env":"S=1"}}},{"ph":"i","ts":2,"args":{"b":{"x":1}}},)"
      R"({"ph":"i","ts":3,"args":{"b":{"env":"S=1"}}},{"ph":"i","ts":4,"args":{"b":{"env":"S=1"}}},)"
      R"({"ph":"i","ts":5,"args":{"c":"{\"env\":[\"\"]}"}},{"ph":"i","ts":6,"args":{"c":"{\"env\":[\"\"]}"}},)"
      R"({"ph":"i","ts":7,"args":{"c":"x"}},{"ph":"M","name":"env","args":{"S":1}},{"ph":"C","ts":8,"args":{"env":"S=1"}},)"
      R"({"ph":"i","ts":"none","env":"S=1"},{"ph":"M","name":"labels","args":{"S":1}}])" +
      std::string(kScanSlackBytes, '\0');
  const char* end = text.data() + text.size() - kScanSlackBytes;
  events.Add(text.data(), end, end);
  EXPECT_EQ(events.events(), 11);
  EXPECT_EQ(events.with_left_out(), 8);
}

TEST(ChromeEvents, OfArgumentsThatAreOneTheEnvironmentIsLeftOut) {
  std::string args = R"("env":{"S":1})";
  for (int i = 0; i < 1100; ++i) args += ",\"k" + std::to_string(i) + "\":1";
  Reader reader;
  reader.Add(R"({"ph":"i","name":"a","ts":1,"args":{)" + args + "}}");
  const Rows rows = reader.Rows(EventKind::kInstant);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].find("env"), rows[0].npos);
  EXPECT_NE(rows[0].find("k1099"), rows[0].npos);
}

TEST(ChromeEvents, ADurationThatIsNoneIsAnArgument) {
  Reader reader;
  reader.Add(
      R"({"ph":"X","name":"a","ts":1},{"ph":"X","name":"b","ts":1,"dur":-1},{"ph":"X","name":"c","ts":1,"dur":"2"},)"
      R"({"ph":"X","name":"d","ts":1,"dur":"long"},{"ph":"X","name":"e","ts":1,"dur":9e99,"args":{"correlation":4}})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice),
            (Rows{"1000+? : a/", "1000+? : b/ {*dur=-1}", "1000+2000 : c/", "1000+? : d/ {*dur='long'}",
                  "1000+? : e/ #4 {*dur=number 9e99, correlation=#}"}));
}

TEST(ChromeEvents, AProcessOrThreadOfAWholeDecimalIsThatOfTheInteger) {
  Reader reader;
  reader.Add(
      R"({"ph":"X","name":"a","ts":1,"pid":1,"tid":2},{"ph":"X","name":"a","ts":2,"pid":1.0,"tid":2.0},)"
      R"({"ph":"X","name":"a","ts":3,"pid":"-1.0","tid":"v2.0"},{"ph":"X","name":"a","ts":4,"pid":1.5,"tid":".0"})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice),
            (Rows{"1000+? 1:2 a/", "2000+? 1:2 a/", "3000+? -1:v2.0 a/", "4000+? 1.5:.0 a/"}));
}

TEST(ChromeEvents, WithoutATimeItIsMetadataAndCounted) {
  Reader reader;
  reader.Add(R"({"ph":"X","name":"a","cat":"c","dur":1,"pid":1,"tid":2},{"name":"a","ph":"b","id":7,"ts":"soon"},)"
             R"({"ph":"X","ts":9e99,"args":{"k":1}},{"ph":"X","ts":3},{"ph":"odd"},{"dur":1})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice), Rows{"3000+? : /"});
  EXPECT_EQ(reader.Rows(EventKind::kMetadata),
            (Rows{"0 1:2 a/c M {*ph='X', *dur=1}", "0 : a/ M {*ph='b', *id=7, *ts='soon'}",
                  "0 : / M {*ph='X', *ts=number 9e99, k=1}", "0 : / M {*ph='odd'}", "0 : / M {*dur=1}"}));
  EXPECT_EQ(reader.events().events(), 6);
  EXPECT_EQ(reader.events().untimed(), 5);
}

TEST(ChromeEvents, WhatACounterSaysBesidesItsNumbersIsMetadata) {
  Reader reader;
  reader.Add(
      R"({"ph":"C","name":"m","ts":1,"pid":1,"tid":3,"cat":"c","args":{"v":1,"note":"x","n":null,"o":{"x":1}},"tts":5},)"
      R"({"ph":"C","name":"m","ts":2,"pid":1,"tid":3,"cat":"c","args":{"v":1e999,"note":"2","n":nan,"o":{"x":1}},"tts":5},)"
      R"({"ph":"C","name":"none","ts":3},{"ph":"C","name":"plain","ts":4,"args":{"v":+inf}})");
  EXPECT_EQ(reader.Rows(EventKind::kCounter),
            (Rows{"1000 counter 1:m:v 1.000000", "2000 counter 1:m:note 2.000000 {value='2'}",
                  "2000 counter 1:m:n nan {value=number nan}", "4000 counter :plain:v inf {value=number +inf}"}));
  EXPECT_EQ(reader.Rows(EventKind::kMetadata),
            (Rows{"1000 1:3 m/c C {note='x', n=null, o={{\"x\":1}, *tts=5}",
                  "2000 1:3 m/c C {v=number 1e999, o={{\"x\":1}, *tts=5}", "3000 : none/ C"}));
}

TEST(ChromeEvents, CountersWithDifferentIdsAreDifferent) {
  Reader reader;
  reader.Add(
      R"({"ph":"C","name":"m","ts":1,"pid":1,"id":"a","args":{"v":1}},{"ph":"C","name":"m","ts":1,"pid":1,"id":7,"args":{"v":2}},)"
      R"({"ph":"C","name":"m","ts":1,"pid":1,"id":"a","args":{"v":3,"t":"x"}})");
  EXPECT_EQ(reader.Rows(EventKind::kCounter), (Rows{"1000 counter 1:m[a]:v 1.000000", "1000 counter 1:m[7]:v 2.000000",
                                                    "1000 counter 1:m[a]:v 3.000000"}));
  EXPECT_EQ(reader.Rows(EventKind::kMetadata), Rows{"1000 1: m/ C {*id='a', t='x'}"});
}

TEST(ChromeEvents, StringsWithEscapesAreTold) {
  Reader reader;
  reader.Add(R"({"ph":"i","name":"a\"b","cat":"plain","ts":1})");
  EXPECT_EQ(reader.Rows(EventKind::kInstant), Rows{R"(1000 : \a\"b/plain)"});
}

TEST(ChromeEvents, ABatchHasOnlyWhatIsNew) {
  Reader reader;
  const std::string event = R"({"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1,"args":{"k":1}})";
  reader.Add(event);
  const Rows first = reader.Rows(EventKind::kSlice);
  reader.Add(event);
  EXPECT_EQ(reader.Rows(EventKind::kSlice), first);
  ChromeEvents events(3);
  const std::string padded = event + std::string(kScanSlackBytes, '\0');
  events.Add(padded.data(), padded.data() + event.size(), padded.data() + event.size());
  EXPECT_GT(events.TakeBatch().strings.size(), 0u);
  events.Add(padded.data(), padded.data() + event.size(), padded.data() + event.size());
  const TraceBatch second = events.TakeBatch();
  EXPECT_EQ(second.source, 3u);
  EXPECT_TRUE(second.strings.empty() && second.tracks.empty() && second.shapes.empty());
  EXPECT_EQ(second.rows[IndexOf(EventKind::kSlice)].size(), 1u);
}

TEST(ChromeEvents, StopsWhereTheEventsDo) {
  Reader reader;
  EXPECT_EQ(reader.Add(" {\"ph\":\"i\",\"ts\":1} ,\n ] ,\"x\":1}").why, ChromeEvents::Stopped::kAtBracket);
  EXPECT_EQ(reader.stopped_at, 22u);
  EXPECT_EQ(reader.Add("{\"ph\":\"i\",\"ts\":1},").why, ChromeEvents::Stopped::kAtLimit);
  EXPECT_EQ(reader.Add("{\"ph\":\"i\",\"ts\":1},{\"ph\":\"i\",").why, ChromeEvents::Stopped::kAtCut);
  EXPECT_EQ(reader.stopped_at, 18u);
  EXPECT_EQ(reader.Rows(EventKind::kInstant).size(), 1u);
}

TEST(ChromeEvents, KnowsWhatIsCutFromWhatIsNoEvent) {
  Reader reader;
  for (const std::string cut : {"{", "{\"p", "{\"ph\":\"i", "{\"ph\":nu", "{\"ph\":1", "{\"a\":[1,{", "{\"a\":-"}) {
    EXPECT_EQ(reader.Add(cut).why, ChromeEvents::Stopped::kAtCut) << cut;
  }
  for (const std::string none :
       {"x", "{1", "{\"a\" 1", "{\"a\":x}", "{\"a\":1]", "{\"a\":\"b\" c", "{\"a\":nully", "}"}) {
    EXPECT_EQ(reader.Add(none).why, ChromeEvents::Stopped::kAtNoEvent) << none;
  }
}

TEST(ChromeEvents, SamplesThatADoubleDoesNotSayHaveAnArgument) {
  Reader reader;
  reader.Add(
      R"({"ph":"C","name":"m","pid":1,"ts":1,"args":{"a":1.5,"b":9007199254740993,"c":"7","d":1.10}},
         {"ph":"C","name":"m","pid":1,"ts":2,"args":{"a":2.50,"b":7,"c":"7","d":18446744073709551615}})");
  EXPECT_EQ(reader.Rows(EventKind::kCounter),
            (Rows{"1000 counter 1:m:a 1.500000", "1000 counter 1:m:b 9007199254740992.000000 {value=9007199254740993}",
                  "1000 counter 1:m:c 7.000000 {value='7'}", "1000 counter 1:m:d 1.100000 {value=110e-2}",
                  "2000 counter 1:m:a 2.500000 {value=250e-2}", "2000 counter 1:m:b 7.000000",
                  "2000 counter 1:m:c 7.000000 {value='7'}",
                  "2000 counter 1:m:d 18446744073709551616.000000 {value=number 18446744073709551615}"}));
}

TEST(ChromeEvents, TextsOfSamplesHaveABound) {
  Reader reader(5);
  reader.Add(
      R"({"ph":"C","ts":1,"args":{"v":"123"}},{"ph":"C","ts":2,"args":{"v":"124"}},{"ph":"C","ts":3,"args":{"v":1.0}},
         {"ph":"C","ts":4,"args":{"v":"7"}})");
  EXPECT_EQ(reader.Rows(EventKind::kCounter),
            (Rows{"1000 counter ::v 123.000000 {value='123'}", "2000 counter ::v 124.000000",
                  "3000 counter ::v 1.000000 {value=10e-1}", "4000 counter ::v 7.000000 {value='7'}"}));
  EXPECT_EQ(reader.events().rounded(), 1);
}

// docs/exports.md: what an export added for other readers goes, and the argument that it names is the correlation.
TEST(ChromeEvents, ACorrelationThatAnExportAddedIsNoArgument) {
  Reader reader;
  reader.Add(
      R"({"ph":"X","name":"a","ts":1,"args":{"correlationId":11,"k":1,"correlation":11},"kprofCorrelation":"correlationId"},
         {"ph":"X","name":"b","ts":2,"args":{"correlationId":12,"k":1,"correlation":12},"kprofCorrelation":"correlationId"},
         {"ph":"X","name":"c","ts":3,"args":{"k":1,"correlation":13},"kprofCorrelation":""},
         {"ph":"X","name":"d","ts":4,"args":{"k":14,"correlation":14},"kprofCorrelation":"k"},
         {"ph":"X","name":"e","ts":5,"args":{"correlation":"x","\u00e4":15,"correlation":15},"kprofCorrelation":"\u00e4"},
         {"ph":"X","name":"f","ts":6,"dur":-1,"args":{"i":16,"correlation":16},"kprofCorrelation":"i"},
         {"ph":"X","name":"g","ts":7,"args":{"correlation":17,"correlation":17},"kprofCorrelation":"correlation"})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice),
            (std::vector<std::string>{"1000+? : a/ #11 {correlationId=#, k=1}",
                                      "2000+? : b/ #12 {correlationId=#, k=1}", "3000+? : c/ #13 {k=1}",
                                      "4000+? : d/ #14 {k=#}", "5000+? : e/ #15 {correlation='x', \\\\u00e4=#}",
                                      "6000+? : f/ #16 {*dur=-1, i=#}", "7000+? : g/ #17 {correlation=#}"}));
}

TEST(ChromeEvents, WhatIsNotSoOfACorrelationIsAnArgument) {
  Reader reader;
  reader.Add(
      R"({"ph":"X","name":"a","ts":1,"args":{"i":11,"correlation":12},"kprofCorrelation":"i"},
         {"ph":"X","name":"b","ts":2,"args":{"i":11,"correlation":11},"kprofCorrelation":"j"},
         {"ph":"X","name":"c","ts":3,"args":{"i":1.5,"correlation":1.5},"kprofCorrelation":"i"},
         {"ph":"X","name":"d","ts":4,"args":{"i":1},"kprofCorrelation":"i"},
         {"ph":"X","name":"e","ts":5,"args":{"i":11,"correlation":11},"kprofCorrelation":"i"},
         {"ph":"i","name":"f","ts":6,"args":{"i":1,"correlation":1},"kprofCorrelation":"i"},
         {"ph":"X","name":"g","ts":7,"args":{"correlation":1},"kprofCorrelation":7})");
  EXPECT_EQ(reader.Rows(EventKind::kSlice),
            (std::vector<std::string>{"1000+? : a/ #12 {i=11, correlation=#, *kprofCorrelation='i'}",
                                      "2000+? : b/ #11 {i=11, correlation=#, *kprofCorrelation='j'}",
                                      "3000+? : c/ {i=15e-1, correlation=15e-1, *kprofCorrelation='i'}",
                                      "4000+? : d/ {i=1, *kprofCorrelation='i'}", "5000+? : e/ #11 {i=#}",
                                      "7000+? : g/ #1 {correlation=#, *kprofCorrelation=7}"}));
  EXPECT_EQ(reader.Rows(EventKind::kInstant),
            std::vector<std::string>{"6000 : f/ {i=1, correlation=1, *kprofCorrelation='i'}"});
}

TEST(ChromeEvents, MetadataThatAnExportAddedIsNoRow) {
  Reader reader;
  reader.Add(
      R"({"ph":"M","name":"process_name","cat":"","pid":1,"kprofAdded":1,"args":{"name":"p"}},
         {"ph":"M","name":"thread_name","cat":"","pid":1,"tid":"t","kprofAdded":1,"args":{"name":"n"}},
         {"ph":"M","name":"thread_sort_index","cat":"","pid":1,"tid":"t","kprofAdded":1,"args":{"sort_index":-3}})");
  EXPECT_EQ(reader.Rows(EventKind::kMetadata), std::vector<std::string>());
  EXPECT_EQ(reader.Told(),
            (std::vector<std::string>{"process_name 1: p -", "thread_name 1:t n -", "thread_sort_index 1:t  -3"}));
  EXPECT_EQ(reader.tracks(), 0u);
}

TEST(ChromeEvents, MetadataThatSaysMoreIsARow) {
  Reader reader;
  reader.Add(
      R"({"ph":"M","name":"process_name","ts":1,"pid":1,"kprofAdded":1,"args":{"name":"p"}},
         {"ph":"M","name":"process_name","pid":1,"kprofAdded":1,"args":{"name":"p","more":1}},
         {"ph":"M","name":"process_name","pid":1,"kprofAdded":"1","args":{"name":"p"}},
         {"ph":"i","name":"process_name","ts":1,"kprofAdded":1,"args":{"name":"p"}})");
  EXPECT_EQ(reader.Rows(EventKind::kMetadata).size(), 3u);
  EXPECT_EQ(reader.Rows(EventKind::kInstant).size(), 1u);
  EXPECT_TRUE(reader.Told().empty());
}

}  // namespace
}  // namespace kprof
