// Flows are found in two ways: all of a part at once for SQL, and group by group while an export is written. Both have
// the same ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "daemon/exports/flow_binding.h"
#include "storage/trace/format/flow_rules.h"
#include "tests/unit/exports/exports_fixture.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {
namespace {

class SameFlows : public ExportsTest {
 protected:
  // "id name category from_ns -> to_ns: from_slice -> to_slice", sorted.
  static std::string Word(PartReader& part, const FlowPoint& from, const FlowPoint& to) {
    const auto row = [](int64_t slice) { return slice == kNoValue ? std::string("NULL") : std::to_string(slice); };
    const std::string id = IsNumberedFlow(to.flow_id) ? NumberedFlowText(to.flow_id) : *part.ReadString(to.flow_id);
    return id + "|" + *part.ReadString(to.name) + "|" + *part.ReadString(to.category) + "|" +
           std::to_string(from.time_ns) + "|" + std::to_string(to.time_ns) + "|" + row(from.slice) + "|" +
           row(to.slice);
  }

  static Lines OfSql(const PartReader& part) {
    return Sorted(TraceConnection({{"r", "x", part.path(), {}}})
                      .Ask("SELECT flow_id, name, category, from_ns, to_ns, from_slice, to_slice FROM flow"));
  }

  static Lines OfExports(PartReader& part) {
    FlowBinding binding(part);
    EXPECT_TRUE(binding.FindEarly().ok());
    std::vector<FlowPoint> points;
    for (size_t group = 0; group <= binding.groups(); ++group) {
      const Result<FlowBinding::OfGroup> flows = binding.Next();
      EXPECT_TRUE(flows.ok()) << flows.status().ToString();
      points.insert(points.end(), flows->bound.begin(), flows->bound.end());
      points.insert(points.end(), flows->unbound.begin(), flows->unbound.end());
    }
    EXPECT_EQ(static_cast<int64_t>(points.size()), part.rows(EventKind::kFlow));
    std::map<std::pair<int64_t, int64_t>, uint32_t> labels;
    std::vector<ChainPoint> chained;
    for (const FlowPoint& point : points) {
      const auto label = labels.try_emplace({point.category, point.name}, static_cast<uint32_t>(labels.size())).first;
      chained.push_back({.flow_id = point.flow_id,
                         .time_ns = point.time_ns,
                         .row = static_cast<uint32_t>(point.row),
                         .label = label->second,
                         .phase = ChainPhaseOf(point.phase)});
    }
    SortByFlow(chained);
    std::sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) { return a.row < b.row; });
    Lines lines;
    ForEachFlowStep(chained, [&](const ChainPoint& from, const ChainPoint& to) {
      lines.push_back(Word(part, points[from.row], points[to.row]));
      return true;
    });
    return Sorted(lines);
  }

  static void ExpectSame(PartReader& part, size_t at_least) {
    const Lines expected = OfSql(part);
    EXPECT_GE(expected.size(), at_least);
    EXPECT_EQ(OfExports(part), expected);
  }
};

// Slices in each other, crossing, of no length or without an end; points at begins and ends, with steps, ends before
// begins, several flows of an id.
std::string RandomTrace(uint64_t seed, int64_t length_us, size_t count) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  std::string events;
  const auto add = [&](const std::string& event) { events += (events.empty() ? "" : ",\n") + event; };
  for (size_t i = 0; i < count; ++i) {
    const std::string at =
        ",\"pid\":1,\"tid\":" + std::to_string(below(3)) + ",\"ts\":" + std::to_string(below(length_us));
    if (below(3) != 0) {
      const int64_t duration = below(12) == 0 ? below(length_us) : below(6);
      add("{\"ph\":\"X\",\"name\":\"a\"" + at + (below(20) == 0 ? "" : ",\"dur\":" + std::to_string(duration)) + "}");
      continue;
    }
    const char phase = "sstff"[below(5)];
    add("{\"ph\":\"" + std::string(1, phase) + "\",\"name\":\"" + (below(8) == 0 ? "other" : "flow") + "\",\"cat\":\"" +
        (below(8) == 0 ? "fwdbwd" : "ac2g") +
        "\",\"id\":" + std::to_string(below(static_cast<int64_t>(count / 10 + 1))) + at +
        (phase == 'f' && below(2) == 0 ? ",\"bp\":\"e\"" : "") + (below(9) == 0 ? ",\"args\":{\"bp\":\"e\"}" : "") +
        "}");
  }
  return "[" + events + "]";
}

TEST_F(SameFlows, OfSmallRandomTraces) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    ExpectSame(*Import(RandomTrace(seed, 40, 150)), 1);
  }
}

TEST_F(SameFlows, OfARandomTraceOfSeveralSegments) {
  const std::unique_ptr<PartReader> part = Import(RandomTrace(7, 400'000, 250'000));
  EXPECT_GT(part->segments(EventKind::kSlice).size(), 2u);
  ExpectSame(*part, 10'000);
}

// Points that lie in slices of other segments, and wait for slices of others.
TEST_F(SameFlows, OfPointsFarFromTheirSlices) {
  std::string events = R"({"ph":"X","name":"all","pid":1,"tid":1,"ts":0,"dur":400000})";
  for (int i = 0; i < 180'000; ++i) {
    events += ",\n{\"ph\":\"X\",\"name\":\"k\",\"pid\":1,\"tid\":2,\"ts\":" + std::to_string(2 * i) + ",\"dur\":1}";
  }
  for (int i = 0; i < 400; ++i) {
    const std::string id = ",\"id\":" + std::to_string(i) +
                           ",\"name\":\"f\",\"cat\":\"f\",\"pid\":1,\"ts\":" + std::to_string(100 + i * 900) +
                           ",\"tid\":";
    events += ",\n{\"ph\":\"s\"" + id + "1},\n{\"ph\":\"f\"" + id + (i % 2 == 0 ? "1,\"bp\":\"e\"}" : "3}");
  }
  events += R"(,{"ph":"X","name":"next","pid":1,"tid":3,"ts":359999,"dur":1})";
  const std::unique_ptr<PartReader> part = Import("[" + events + "]");
  EXPECT_GT(part->segments(EventKind::kSlice).size(), 2u);
  ExpectSame(*part, 400);
}

// Of one time on both sides of where segments are cut.
TEST_F(SameFlows, OfPointsAtTheTimesOfSlicesAtACut) {
  std::string events;
  for (int i = 0; i < 200'000; ++i) {
    const std::string at = ",\"pid\":1,\"tid\":" + std::to_string(i % 3) + ",\"ts\":" + std::to_string(i / 1000);
    events += (i == 0 ? "" : ",\n") + ("{\"ph\":\"X\",\"name\":\"k\",\"dur\":1" + at + "}");
    if (i % 50 != 0) continue;
    const std::string flow = R"(,"name":"f","cat":"f","id":)" + std::to_string(i / 50) + at + "}";
    events += ",\n{\"ph\":\"s\"" + flow + ",\n{\"ph\":\"f\"" + flow;
  }
  const std::unique_ptr<PartReader> part = Import("[" + events + "]");
  EXPECT_GT(part->segments(EventKind::kSlice).size(), 2u);
  ExpectSame(*part, 4000);
}

class SameFlowsOfFile : public SameFlows, public testing::WithParamInterface<const char*> {};

TEST_P(SameFlowsOfFile, AreFound) {
  const std::string path = std::string(KPROF_SOURCE_DIR) + "/../shared/data/kineto/" + GetParam() + ".json.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << GetParam() << " is not here";
  const std::unique_ptr<PartReader> part = Import(ReadFile(path));
  ExpectSame(*part, 0);
}

INSTANTIATE_TEST_SUITE_P(Kineto, SameFlowsOfFile,
                         testing::Values("a100_cupti_counters", "b200_eager_rank0of8", "cpu_only_rank34", "h100_owlv2",
                                         "h100_qwen15", "mi210_gpu_only", "mi250_minitoy", "mi300_owlv2",
                                         "mi300x_flux_rank0", "mi300x_triton", "no_distributed_info",
                                         "rtx2080ti_resnet", "v100_resnet50_2021schema"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kprof
