#include "daemon/exports/perfetto_export.h"

#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "tests/unit/exports/exports_fixture.h"

namespace kprof {
namespace {

// A message taken apart, without a line of what makes them.
class Message {
 public:
  explicit Message(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t tag = Varint(bytes);
      const auto field = static_cast<int>(tag >> 3);
      if ((tag & 7) == 0) {
        numbers_.emplace(field, Varint(bytes));
      } else if ((tag & 7) == 1) {
        uint64_t value = 0;
        EXPECT_GE(bytes.size(), sizeof(value));
        std::memcpy(&value, bytes.data(), sizeof(value));
        bytes.remove_prefix(sizeof(value));
        numbers_.emplace(field, value);
      } else {
        EXPECT_EQ(tag & 7, 2u);
        const uint64_t size = Varint(bytes);
        EXPECT_LE(size, bytes.size());
        texts_.emplace(field, bytes.substr(0, size));
        bytes.remove_prefix(std::min<size_t>(size, bytes.size()));
      }
    }
  }
  bool Has(int field) const { return numbers_.count(field) + texts_.count(field) > 0; }
  uint64_t Number(int field) const { return Has(field) ? numbers_.find(field)->second : 0; }
  std::string Text(int field) const { return texts_.count(field) > 0 ? texts_.find(field)->second : ""; }
  Message Sub(int field) const { return Message(Text(field)); }
  std::vector<Message> All(int field) const {
    std::vector<Message> all;
    const auto [first, last] = texts_.equal_range(field);
    for (auto text = first; text != last; ++text) all.emplace_back(text->second);
    return all;
  }

 private:
  static uint64_t Varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      if (bytes.empty()) {
        ADD_FAILURE() << "a number is cut off";
        return value;
      }
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::multimap<int, uint64_t> numbers_;
  std::multimap<int, std::string> texts_;
};

struct Event {
  uint64_t time = 0;
  uint64_t type = 0;
  std::string track;
  std::string name;
  std::string category;
  std::string args;
  std::vector<uint64_t> flows;
  std::vector<uint64_t> last_flows;
  double counter = 0;
};

// Reads a trace as Perfetto does: strings by the sequence that sent them, events by their times.
class PerfettoTrace {
 public:
  explicit PerfettoTrace(const std::string& bytes) {
    for (const Message& packet : Message(bytes).All(1)) Take(packet);
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  }

  std::vector<Event> events;
  std::map<uint64_t, Message> tracks;
  std::vector<Message> clocks;

  // "track: begin..end name/category {args}" of slices, which must nest; "track: time name/category" of points.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::map<std::string, std::vector<Event>> open;
    for (const Event& event : events) {
      const std::string what = " " + event.name + "/" + event.category + event.args;
      if (event.type == 1) {
        open[event.track].push_back(event);
      } else if (event.type == 2) {
        std::vector<Event>& of_track = open[event.track];
        if (of_track.empty()) {
          lines.push_back(event.track + ": an end without a begin");
          continue;
        }
        const Event& begin = of_track.back();
        lines.push_back(begin.track + ": " + std::to_string(begin.time) + ".." + std::to_string(event.time) + " " +
                        begin.name + "/" + begin.category + begin.args);
        of_track.pop_back();
      } else if (event.type == 4) {
        lines.push_back(event.track + ": " + std::to_string(event.time) + " = " + std::to_string(event.counter));
      } else {
        lines.push_back(event.track + ": " + std::to_string(event.time) + what);
      }
    }
    for (const auto& [track, of_track] : open) {
      for (const Event& begin : of_track) {
        lines.push_back(track + ": " + std::to_string(begin.time) + ".. " + begin.name + "/" + begin.category);
      }
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  struct Sequence {
    bool is_clear = false;
    std::map<int, std::map<uint64_t, std::string>> strings;
  };

  std::string TrackName(uint64_t uuid) const {
    const auto found = tracks.find(uuid);
    if (found == tracks.end()) return "no track";
    const Message& track = found->second;
    std::string name = track.Text(2);
    if (track.Has(3)) name = "p" + std::to_string(track.Sub(3).Number(1)) + " " + track.Sub(3).Text(6);
    if (track.Has(4)) name = "t" + std::to_string(track.Sub(4).Number(2)) + " " + track.Sub(4).Text(5);
    return track.Has(5) ? TrackName(track.Number(5)) + " > " + name : name;
  }

  void Take(const Message& packet) {
    Sequence& sequence = sequences_[packet.Number(10)];
    EXPECT_NE(packet.Number(10), 0u);
    if ((packet.Number(13) & 1) != 0) sequence = Sequence{true, {}};
    for (const int kind : {1, 2, 3}) {
      for (const Message& entry : packet.Sub(12).All(kind)) {
        const bool is_new = sequence.strings[kind].emplace(entry.Number(1), entry.Text(2)).second;
        EXPECT_TRUE(is_new && entry.Number(1) > 0) << entry.Text(2);
      }
    }
    if (packet.Has(6)) clocks.push_back(packet.Sub(6));
    if (packet.Has(60)) {
      EXPECT_TRUE(tracks.emplace(packet.Sub(60).Number(1), packet.Sub(60)).second);
    }
    if (!packet.Has(11)) return;
    EXPECT_TRUE(sequence.is_clear && (packet.Number(13) & 2) != 0);
    const Message event = packet.Sub(11);
    auto text = [&](int kind, uint64_t iid) { return iid == 0 ? "" : sequence.strings[kind].at(iid); };
    Event made;
    made.time = packet.Number(8);
    made.type = event.Number(9);
    made.track = TrackName(event.Number(11));
    made.name = text(2, event.Number(10));
    made.category = text(1, event.Number(3));
    made.counter = std::bit_cast<double>(event.Number(44));
    for (const Message& arg : event.All(4)) {
      made.args += " " + (arg.Has(10) ? arg.Text(10) : text(3, arg.Number(1))) + "=";
      if (arg.Has(2)) made.args += arg.Number(2) != 0 ? "true" : "false";
      if (arg.Has(3)) made.args += std::to_string(arg.Number(3)) + "u";
      if (arg.Has(4)) made.args += std::to_string(static_cast<int64_t>(arg.Number(4)));
      if (arg.Has(5)) made.args += std::to_string(std::bit_cast<double>(arg.Number(5)));
      made.args += arg.Text(6) + arg.Text(9);
    }
    if (event.Has(47)) made.flows.push_back(event.Number(47));
    if (event.Has(48)) made.last_flows.push_back(event.Number(48));
    events.push_back(std::move(made));
  }

  std::map<uint64_t, Sequence> sequences_;
};

class PerfettoExportTest : public ExportsTest {
 protected:
  std::vector<std::string> LinesOf(const std::string& events) {
    return PerfettoTrace(Export("perfetto", *Import("[" + events + "]"))).Lines();
  }
};

using Lines = std::vector<std::string>;

TEST_F(PerfettoExportTest, SlicesAreOnTheirThreadsWithTheirArguments) {
  EXPECT_EQ(LinesOf(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},)"
                    R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}},)"
                    R"({"ph":"X","name":"a","cat":"c","pid":1,"tid":2,"ts":1,"dur":3,"args":{"i":-7,"d":1.5,"s":"x",)"
                    R"("t":true,"n":null,"l":[1,2],"correlation":9}},)"
                    R"({"ph":"X","name":"b","cat":"c","pid":1,"tid":2,"ts":2,"dur":2},)"
                    R"({"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":3,"dur":1})"),
            (Lines{"p1 python > t2 main: 0..3000 a/c i=-7 d=1.500000 s=x t=true n=null l=[1,2] correlation=9",
                   "p1 python > t2 main: 1000..3000 b/c", "process 0 > stream 7: 2000..3000 k/kernel"}));
}

TEST_F(PerfettoExportTest, IntegersKeepAllTheirDigits) {
  EXPECT_EQ(LinesOf(R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1,"args":{"most":9223372036854775807,)"
                    R"("more":9223372036854775808,"hash":18446744073709551615,"least":-9223372036854775808,)"
                    R"("beyond":18446744073709551616,"exponent":1e3}})"),
            (Lines{"p1  > t2 2: 0..1000 a/ most=9223372036854775807 more=9223372036854775808u "
                   "hash=18446744073709551615u least=-9223372036854775808 beyond=18446744073709551616.000000 "
                   "exponent=1000.000000"}));
}

TEST_F(PerfettoExportTest, WhatOverlapsIsOnATrackBelow) {
  EXPECT_EQ(LinesOf(R"({"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":3},)"
                    R"({"ph":"X","name":"b","pid":1,"tid":2,"ts":2,"dur":3},)"
                    R"({"ph":"X","name":"c","pid":1,"tid":2,"ts":4,"dur":9},)"
                    R"({"ph":"X","name":"zero","pid":1,"tid":2,"ts":4,"dur":0},)"
                    R"({"ph":"X","name":"open","pid":1,"tid":2,"ts":4})"),
            (Lines{"p1  > t2 2 > 2 (no end): 3000.. open/", "p1  > t2 2 > 2 (overlapping 1): 1000..4000 b/",
                   "p1  > t2 2: 0..3000 a/", "p1  > t2 2: 3000..12000 c/", "p1  > t2 2: 3000..3000 zero/"}));
}

TEST_F(PerfettoExportTest, PointsAndCountersAreThereWithTheirTimes) {
  EXPECT_EQ(LinesOf(R"({"ph":"i","name":"mark","pid":1,"tid":2,"ts":5,"s":"t"},)"
                    R"({"ph":"C","name":"mem","pid":1,"ts":6,"args":{"bytes":12.5}},)"
                    R"({"ph":"b","name":"w","cat":"async","id":1,"pid":1,"ts":5},)"
                    R"({"ph":"e","name":"w","cat":"async","id":1,"pid":1,"ts":7},)"
                    R"({"ph":"E","name":"alone","pid":1,"tid":2,"ts":8})"),
            (Lines{"p1  > async 1: 0..2000 w/async", "p1  > mem bytes: 1000 = 12.500000", "p1  > t2 2: 0 mark/ s=t",
                   "p1  > t2 2: 3000 alone/ ph=E"}));
}

TEST_F(PerfettoExportTest, FlowsTouchTheInnermostSliceOfTheirTime) {
  const PerfettoTrace trace(
      Export("perfetto", *Import(R"([{"ph":"X","name":"outer","pid":1,"tid":2,"ts":1,"dur":9},)"
                                 R"({"ph":"X","name":"launch","pid":1,"tid":2,"ts":2,"dur":2},)"
                                 R"({"ph":"X","name":"kernel","cat":"kernel","pid":0,"tid":7,"ts":5,"dur":1},)"
                                 R"({"ph":"s","id":5,"name":"ac2g","cat":"ac2g","pid":1,"tid":2,"ts":2},)"
                                 R"({"ph":"f","id":5,"name":"ac2g","cat":"ac2g","pid":0,"tid":7,"ts":5,"bp":"e"},)"
                                 R"({"ph":"s","id":6,"name":"lost","cat":"x","pid":3,"tid":2,"ts":2}])")));
  std::map<std::string, const Event*> with_flows;
  for (const Event& event : trace.events) {
    if (!event.flows.empty() || !event.last_flows.empty()) with_flows[event.name] = &event;
  }
  ASSERT_EQ(with_flows.size(), 3u);
  EXPECT_EQ(with_flows.at("launch")->flows, with_flows.at("kernel")->last_flows);
  EXPECT_EQ(with_flows.at("lost")->type, 3u);
  EXPECT_NE(with_flows.at("lost")->flows, with_flows.at("launch")->flows);
}

TEST_F(PerfettoExportTest, WithoutFlowPointsCorrelationsAreFlows) {
  const std::string events =
      R"({"ph":"X","name":"launch 1","cat":"cuda_runtime","pid":1,"tid":2,"ts":1,"dur":1,"args":{"correlation":1}},)"
      R"({"ph":"X","name":"launch 2","cat":"cuda_runtime","pid":1,"tid":2,"ts":3,"dur":1,"args":{"correlation":2}},)"
      R"({"ph":"X","name":"kernel 1","cat":"kernel","pid":0,"tid":7,"ts":5,"dur":1,"args":{"stream":7,"correlation":1}},)"
      R"({"ph":"X","name":"kernel 2","cat":"kernel","pid":0,"tid":7,"ts":6,"dur":1,"args":{"stream":7,"correlation":2}},)"
      R"({"ph":"X","name":"kernel 2 too","cat":"kernel","pid":0,"tid":7,"ts":8,"dur":1,"args":{"stream":7,"correlation":2}},)"
      R"({"ph":"X","name":"plain","pid":1,"tid":2,"ts":9,"dur":1})";
  const auto flows_of = [&](const std::string& trace) {
    std::map<std::string, std::vector<uint64_t>> flows;
    for (const Event& event : PerfettoTrace(Export("perfetto", *Import("[" + trace + "]"))).events) {
      if (event.type == 1) flows[event.name] = event.flows;
    }
    return flows;
  };
  std::map<std::string, std::vector<uint64_t>> flows = flows_of(events);
  EXPECT_EQ(flows["launch 1"].size(), 1u);
  EXPECT_EQ(flows["launch 1"], flows["kernel 1"]);
  EXPECT_EQ(flows["launch 2"], flows["kernel 2"]);
  EXPECT_EQ(flows["launch 2"], flows["kernel 2 too"]);
  EXPECT_NE(flows["launch 1"], flows["launch 2"]);
  EXPECT_TRUE(flows["plain"].empty());
  // Who says what belongs together is believed.
  flows = flows_of(events + R"(,{"ph":"s","id":5,"name":"f","cat":"f","pid":1,"tid":2,"ts":1})");
  EXPECT_EQ(flows["launch 1"].size(), 1u);
  EXPECT_TRUE(flows["kernel 1"].empty());
}

// More slices than a segment has lie between the begin of the slice and the point in it.
TEST_F(PerfettoExportTest, AFlowTouchesASliceThatBeganLongBefore) {
  std::string events = R"({"ph":"X","name":"step","pid":1,"tid":2,"ts":0,"dur":900000},)"
                       R"({"ph":"s","id":5,"name":"f","cat":"f","pid":1,"tid":2,"ts":150000},)"
                       R"({"ph":"f","id":5,"name":"f","cat":"f","pid":1,"tid":9,"ts":150000})";
  for (int i = 0; i < 150'000; ++i) {
    events += ",\n{\"ph\":\"X\",\"name\":\"k\",\"pid\":1,\"tid\":3,\"ts\":" + std::to_string(2 * i) + ",\"dur\":1}";
  }
  events += R"(,{"ph":"X","name":"next","pid":1,"tid":9,"ts":299999,"dur":1})";
  const PerfettoTrace trace(Export("perfetto", *Import("[" + events + "]")));
  std::map<std::string, const Event*> with_flows;
  for (const Event& event : trace.events) {
    if (!event.flows.empty() || !event.last_flows.empty()) with_flows[event.name] = &event;
  }
  ASSERT_EQ(with_flows.size(), 2u);
  for (const auto& [name, event] : with_flows) EXPECT_EQ(event->type, 1u) << name << " " << event->time;
  ASSERT_TRUE(with_flows.count("step") > 0 && with_flows.count("next") > 0);
  EXPECT_EQ(with_flows.at("step")->type, 1u);
  EXPECT_EQ(with_flows.at("step")->flows, with_flows.at("next")->last_flows);
}

TEST_F(PerfettoExportTest, TheClockSaysWhenItWas) {
  const PerfettoTrace trace(Export("perfetto", *Import(R"({"baseTimeNanoseconds":1700000000000000000,"traceEvents":[)"
                                                       R"({"ph":"X","name":"a","ts":2.001}]})")));
  ASSERT_EQ(trace.clocks.size(), 1u);
  const std::vector<Message> clocks = trace.clocks[0].All(1);
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].Number(1), 6u);
  EXPECT_EQ(clocks[0].Number(2), 0u);
  EXPECT_EQ(clocks[1].Number(1), 1u);
  EXPECT_EQ(clocks[1].Number(2), 1'700'000'000'000'002'001u);
}

TEST_F(PerfettoExportTest, SeveralPartsHaveTracksAndStringsOfTheirOwn) {
  const std::unique_ptr<PartReader> first = Import(R"([{"ph":"X","name":"a","pid":1,"tid":2,"ts":1,"dur":1}])");
  const std::unique_ptr<PartReader> second = Import(R"([{"ph":"X","name":"b","pid":1,"tid":2,"ts":1,"dur":1}])");
  EXPECT_EQ(PerfettoTrace(Export("perfetto", {first.get(), second.get()})).Lines(),
            (Lines{"p1 rank 0: process 1 > t2 2: 0..1000 a/", "p10000001 rank 1: process 1 > t2 2: 0..1000 b/"}));
}

TEST_F(PerfettoExportTest, BytesThatAreNoUtf8AreMadeReadable) {
  EXPECT_EQ(LinesOf("{\"ph\":\"X\",\"name\":\"a\xff\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1}"),
            (Lines{"p1  > t2 2: 0..1000 a\\xff/"}));
}

TEST_F(PerfettoExportTest, AllSlicesOfARealTraceAreThere) {
  const std::string path = std::string(KPROF_SOURCE_DIR) + "/../shared/data/kineto/a100_cupti_counters.json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "a100_cupti_counters.json.gz is not here";
  const std::unique_ptr<PartReader> part = Import(ReadFile(path));
  const PerfettoTrace trace(Export("perfetto", *part));
  int64_t begins = 0;
  int64_t ends = 0;
  int64_t counters = 0;
  for (const Event& event : trace.events) {
    begins += event.type == 1 ? 1 : 0;
    ends += event.type == 2 ? 1 : 0;
    counters += event.type == 4 ? 1 : 0;
  }
  EXPECT_EQ(begins, part->rows(EventKind::kSlice));
  EXPECT_EQ(ends, begins);
  EXPECT_EQ(counters, part->rows(EventKind::kCounter));
  for (const std::string& line : trace.Lines()) EXPECT_EQ(line.find("without a begin"), line.npos) << line;
}

}  // namespace
}  // namespace kprof
