// Analyses of made traces find what is true of them, to the nanosecond.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "tests/unit/neuron/made_system_trace.h"
#include "tests/unit/neuron/neuron_traces.h"

namespace kprof {
namespace {

constexpr int kSeeds = 1'000;
constexpr std::array<const char*, 6> kCategories = {"d2h_transfer",  "h2d_transfer", "memory_mgmt",
                                                    "exec_overhead", "sync_wait",    "unattributed"};

MadeShape ShapeOf(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto one_of = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  MadeShape shape;
  shape.lnc = 1 + one_of(2);
  shape.ncs = 1 + one_of(2);
  shape.is_async = one_of(3) == 0;
  shape.is_lifted = one_of(2) == 0;
  shape.has_points = one_of(5) != 0;
  shape.points_by_local = one_of(3) == 0;
  shape.drops = one_of(4) == 0;
  shape.is_one_file = one_of(2) == 0;
  const int calls = one_of(3);
  if (calls == 1 && shape.is_async) shape.calls = MadeShape::Calls::kIds;
  if (calls == 2 && shape.ncs == 1) shape.calls = MadeShape::Calls::kOrder;
  return shape;
}

void AddMade(NeuronTraces& traces, const MadeSystemTrace& made, std::optional<int64_t> rank) {
  traces.Add(made.ProfileText(), rank);
  if (!made.shape().is_one_file) traces.Add(made.SystemText(), rank);
}

struct Row {
  int64_t calls = 0;
  int64_t executions = 0;
  int64_t nc_ns = 0;
  int64_t nc_core_ns = 0;
  int64_t nrt_ns = 0;
  AnalysisValue ratio;
  std::string reading;
};

// Rows by place; the last one's place is empty: what is of no call.
std::map<MadePlace, Row> RowsOf(NeuronTraces& traces, const AnalysisAnswer& answer, size_t table,
                                std::optional<int64_t> rank = {}) {
  std::map<MadePlace, Row> rows;
  for (size_t i = 0; i < answer.rows(table).size(); ++i) {
    if (rank && traces.Number(answer, table, i, "rank") != *rank) continue;
    MadePlace place;
    const AnalysisValue file = traces.At(answer, table, i, "file");
    if (file.index() != 0) {
      place = {std::get<std::string>(file), traces.Number(answer, table, i, "line"),
               std::get<std::string>(traces.At(answer, table, i, "kernel"))};
    }
    rows[place] = {traces.Number(answer, table, i, "calls"),
                   traces.Number(answer, table, i, "executions"),
                   traces.Number(answer, table, i, "nc_ns"),
                   traces.Number(answer, table, i, "nc_core_ns"),
                   traces.Number(answer, table, i, "nrt_ns"),
                   traces.At(answer, table, i, "nc_nrt_ratio"),
                   std::get<std::string>(traces.At(answer, table, i, "reading"))};
  }
  return rows;
}

void ExpectPlaces(const std::map<MadePlace, MadeSums>& truth, const std::map<MadePlace, Row>& rows, bool is_async) {
  ASSERT_EQ(rows.size(), truth.size());
  for (const auto& [place, sums] : truth) {
    const auto found = rows.find(place);
    ASSERT_NE(found, rows.end()) << place.kernel;
    const Row& row = found->second;
    EXPECT_EQ(row.calls, sums.calls) << place.kernel;
    EXPECT_EQ(row.executions, sums.executions) << place.kernel;
    EXPECT_EQ(row.nc_ns, sums.nc_ns) << place.kernel;
    EXPECT_EQ(row.nc_core_ns, sums.nc_core_ns) << place.kernel;
    EXPECT_EQ(row.nrt_ns, sums.nrt_ns) << place.kernel;
    EXPECT_EQ(row.reading, is_async ? "async" : "sync") << place.kernel;
    if (is_async) {
      EXPECT_EQ(row.ratio.index(), 0u) << place.kernel;
    } else {
      EXPECT_DOUBLE_EQ(std::get<double>(row.ratio), static_cast<double>(sums.nc_ns) / static_cast<double>(sums.nrt_ns));
    }
  }
}

// Of what a ring buffer left, nothing is charged to another's call, and what is sure is there.
void ExpectNothingShifted(const MadeSystemTrace& made, const std::map<MadePlace, Row>& rows) {
  int64_t all_ns = 0;
  for (const auto& [place, row] : rows) {
    all_ns += row.nc_ns;
    const auto sums = made.truth().places.find(place);
    if (sums == made.truth().places.end()) {
      EXPECT_EQ(place.file, "");
      continue;
    }
    EXPECT_EQ(row.nc_ns & ~sums->second.nc_ns, 0) << place.kernel;
    if (made.shape().calls != MadeShape::Calls::kOrder) {
      EXPECT_EQ(row.nc_ns & sums->second.sure_nc_ns, sums->second.sure_nc_ns) << place.kernel;
    }
  }
  EXPECT_EQ(all_ns, made.truth().all.nc_ns);
}

// Each core's idle time is its categories, all cores' add up to the facts, and what has no place in time has no times.
void ExpectIdle(NeuronTraces& traces, const AnalysisAnswer& answer, const MadeTruth& truth) {
  const size_t table = traces.Table("cores");
  MadeIdle all;
  size_t known = 0;
  for (size_t row = 0; row < answer.rows(table).size(); ++row) {
    const int64_t nc = traces.Number(answer, table, row, "nc");
    const auto of = truth.cores.find(nc);
    const AnalysisValue wall_ns = traces.At(answer, table, row, "wall_ns");
    ASSERT_EQ(std::holds_alternative<std::monostate>(wall_ns), of == truth.cores.end()) << "nc " << nc;
    if (of == truth.cores.end()) continue;
    ++known;
    EXPECT_EQ(traces.Number(answer, table, row, "wall_ns"), of->second.wall_ns) << "nc " << nc;
    EXPECT_EQ(traces.Number(answer, table, row, "busy_ns"), of->second.busy_ns) << "nc " << nc;
    int64_t sum_ns = 0;
    for (size_t i = 0; i < kCategories.size(); ++i) {
      const int64_t ns = traces.Number(answer, table, row, std::string(kCategories[i]) + "_ns");
      EXPECT_EQ(ns, of->second.idle_ns[i]) << "nc " << nc << ' ' << kCategories[i];
      all.idle_ns[i] += ns;
      sum_ns += ns;
    }
    EXPECT_EQ(traces.Number(answer, table, row, "idle_ns"), sum_ns) << "nc " << nc;
    EXPECT_EQ(sum_ns, of->second.wall_ns - of->second.busy_ns) << "nc " << nc;
    all.wall_ns += of->second.wall_ns;
    all.busy_ns += of->second.busy_ns;
  }
  EXPECT_EQ(known, truth.cores.size());
  // Where no execution has a place in time nothing is said of idle time.
  if (known == 0) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(traces.Fact(answer, "wall_ns")));
    EXPECT_EQ(answer.rows(0).size(), 0u);
    return;
  }
  EXPECT_EQ(std::get<int64_t>(traces.Fact(answer, "wall_ns")), all.wall_ns);
  EXPECT_EQ(std::get<int64_t>(traces.Fact(answer, "busy_ns")), all.busy_ns);
  EXPECT_EQ(std::get<int64_t>(traces.Fact(answer, "idle_ns")), all.wall_ns - all.busy_ns);
  ASSERT_EQ(answer.rows(0).size(), kCategories.size());
  for (size_t i = 0; i < kCategories.size(); ++i) {
    EXPECT_EQ(std::get<std::string>(traces.At(answer, 0, i, "category")), kCategories[i]);
    EXPECT_EQ(traces.Number(answer, 0, i, "ns"), all.idle_ns[i]) << kCategories[i];
  }
}

TEST(MadeTraces, AreUnderstoodExactly) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const MadeShape shape = ShapeOf(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape.Text());
    const MadeSystemTrace made(seed, shape);
    NeuronTraces traces;
    AddMade(traces, made, {});
    const AnalysisAnswer lines = traces.Ask("lines");
    const std::map<MadePlace, Row> rows = RowsOf(traces, lines, 0);
    const size_t totals = traces.Table("totals");
    EXPECT_EQ(traces.Number(lines, totals, 0, "dropped_events"), made.truth().dropped);
    if (shape.drops) {
      ExpectNothingShifted(made, rows);
    } else {
      ExpectPlaces(made.truth().places, rows, shape.is_async);
      EXPECT_EQ(traces.Number(lines, totals, 0, "lnc"), shape.lnc);
      EXPECT_EQ(traces.Number(lines, totals, 0, "odd_lnc"), 0);
    }
    const AnalysisAnswer idle = traces.Ask("device-idle");
    ExpectIdle(traces, idle, made.truth());
    if (HasFailure()) {
      std::printf("%s\n", made.SystemText().c_str());
      std::printf("%s\n", made.ProfileText().c_str());
      return;
    }
  }
}

TEST(MadeTraces, OfEightRanksAreKeptApartAndAddedUp) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MadeShape shape = ShapeOf(seed);
    shape.drops = false;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shape.Text());
    NeuronTraces traces;
    std::map<MadePlace, MadeSums> all;
    std::vector<MadeSystemTrace> ranks;
    for (uint64_t rank = 0; rank < 8; ++rank) {
      ranks.emplace_back(seed * 100 + rank, shape);
      AddMade(traces, ranks.back(), static_cast<int64_t>(rank));
      for (const auto& [place, sums] : ranks.back().truth().places) all[place].Add(sums);
    }
    const AnalysisAnswer lines = traces.Ask("lines");
    ExpectPlaces(all, RowsOf(traces, lines, 0), shape.is_async);
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      ExpectPlaces(ranks[rank].truth().places,
                   RowsOf(traces, lines, traces.Table("rank_lines"), static_cast<int64_t>(rank)), shape.is_async);
    }
    const AnalysisAnswer one = traces.Ask("device-idle", {{"rank", "5"}});
    ExpectIdle(traces, one, ranks[5].truth());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace kprof
