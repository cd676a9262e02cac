// How long common questions to a trace take: the first time after its parts were opened, and the median of the next
// five. Then some of them asked in SQL.
//
//     build/release/bin/bench_trace_questions [--sum | --plain] PART.trace.db...
//
// --sum: that by name of all slices alone; prints the seconds that it takes, with opening, and how many names there
// are. --plain: questions in SQL as people begin with, over the tables alone; warm is the median of 15.
//
// Tiles, of slices, of instants and of counters, are 1,000 at random places and zooms, of 1,000 pixels and all tracks,
// the same ones each time; "cold" are those after opening, one after the other.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/analysis/operators/aggregate.h"
#include "daemon/analysis/operators/busy_time.h"
#include "daemon/analysis/operators/correlated_slices.h"
#include "daemon/analysis/operators/counter_tiles.h"
#include "daemon/analysis/operators/event_tiles.h"
#include "daemon/analysis/operators/self_time.h"
#include "daemon/analysis/sql/table_functions.h"
#include "storage/trace_sql/attach/statement_shortcuts.h"
#include "storage/trace_sql/trace_tables.h"

namespace {

using namespace kprof;

constexpr int64_t kCacheBytes = int64_t{512} << 20;
constexpr int kWarmTurns = 5;
constexpr int kTiles = 1'000;

struct Trace {
  ColumnCache cache{kCacheBytes};
  std::vector<std::unique_ptr<PartReader>> readers;
  std::vector<TracePart> parts;
};

std::unique_ptr<Trace> Open(char** paths) {
  auto trace = std::make_unique<Trace>();
  for (; *paths != nullptr; ++paths) {
    Result<std::unique_ptr<PartReader>> reader = PartReader::Open(*paths, trace->cache);
    if (!reader.ok()) {
      std::fprintf(stderr, "%s\n", reader.status().ToString().c_str());
      std::exit(1);
    }
    trace->parts.push_back(PartOf(**reader));
    trace->readers.push_back(*std::move(reader));
  }
  return trace;
}

double MillisecondsOf(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

template <typename T>
T Must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

// `question` returns something of its answer, to be shown.
void Ask(const char* name, char** paths, const std::function<std::string(Trace&)>& question) {
  const std::unique_ptr<Trace> trace = Open(paths);
  std::string answer;
  const double cold = MillisecondsOf([&] { answer = question(*trace); });
  std::vector<double> warm;
  for (int turn = 0; turn < kWarmTurns; ++turn) warm.push_back(MillisecondsOf([&] { question(*trace); }));
  std::sort(warm.begin(), warm.end());
  std::printf("%-36s cold %8.2f ms   warm %8.2f ms   %s\n", name, cold, warm[kWarmTurns / 2], answer.c_str());
}

std::string SumByName(Trace& trace) {
  AggregateRequest request;
  request.filter.categories = {"kernel"};
  request.by = {GroupBy::kName};
  const std::vector<Aggregate> sums = Must(AggregateEvents(trace.parts, request, {}));
  return std::to_string(sums.size()) + " names, the first " + (sums.empty() ? "" : std::to_string(sums[0].sum_ns)) +
         " ns";
}

std::string PercentilesByName(Trace& trace) {
  AggregateRequest request;
  request.by = {GroupBy::kName};
  request.percentiles = {50, 99};
  return std::to_string(Must(AggregateEvents(trace.parts, request, {})).size()) + " names";
}

std::string CountByCategory(Trace& trace) {
  AggregateRequest request;
  request.by = {GroupBy::kCategory};
  request.durations = false;
  request.order = Measure::kCount;
  std::string answer;
  for (const Aggregate& group : Must(AggregateEvents(trace.parts, request, {}))) {
    answer += std::get<std::string>(group.key[0]) + " " + std::to_string(group.count) + " ";
  }
  return answer;
}

std::string BusyByStream(Trace& trace) {
  BusyRequest request;
  request.filter.track_kinds = {"gpu_stream"};
  std::string answer;
  for (const BusyTime& time : Must(FindBusyTimes(trace.parts, request, {}))) {
    answer += std::to_string(time.busy_ns) + " ns ";
  }
  return answer;
}

std::string SelfByName(Trace& trace) {
  SelfTimeRequest request;
  request.by = {GroupBy::kName};
  return std::to_string(Must(FindSelfTimes(trace.parts, request, {})).size()) + " names";
}

std::string LaunchesAndKernels(Trace& trace) {
  size_t pairs = 0;
  CorrelationRequest request;
  request.from.track_kinds = {"cpu_thread"};
  request.to.categories = {"kernel"};
  for (const TracePart& part : trace.parts) {
    const auto joined = Must(CorrelatedSlices::Make(part, part, request));
    std::vector<CorrelatedPair> window;
    do {
      if (!joined->Next(8'192, {}, window).ok()) std::exit(1);
      pairs += window.size();
    } while (!window.empty());
  }
  return std::to_string(pairs) + " pairs";
}

int64_t MiddleCorrelation(Trace& trace) {
  for (const TracePart& part : trace.parts) {
    const auto segments = part.reader->segments(EventKind::kSlice);
    for (size_t i = segments.size() / 2; i < segments.size(); ++i) {
      const DecodedColumn column = Must(part.reader->Read(segments[i], EventColumn::kCorrelation));
      for (const int64_t correlation : *column) {
        if (correlation != kNoValue) return correlation;
      }
    }
  }
  return 0;
}

void AskSumOnly(char** paths) {
  const auto began = std::chrono::steady_clock::now();
  const std::unique_ptr<Trace> trace = Open(paths);
  AggregateRequest request;
  request.by = {GroupBy::kName};
  const size_t names = Must(AggregateEvents(trace->parts, request, {})).size();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  std::printf("%.6f %zu\n", taken.count(), names);
}

// `draw` returns how many boxes, or points, it made.
void AskTiles(const char* what, char** paths, EventKind kind,
              const std::function<size_t(PartReader&, const Viewport&)>& draw) {
  const std::unique_ptr<Trace> trace = Open(paths);
  for (const std::unique_ptr<PartReader>& reader : trace->readers) {
    if (reader->segments(kind).empty()) return;
  }
  for (const char* turn : {"cold", "warm"}) {
    std::mt19937_64 random(7);
    std::vector<double> times;
    size_t boxes = 0;
    size_t most_boxes = 0;
    for (int i = 0; i < kTiles; ++i) {
      PartReader& reader = *trace->readers[random() % trace->readers.size()];
      int64_t from = INT64_MAX;
      int64_t to = INT64_MIN;
      for (const Segment& segment : reader.segments(kind)) {
        from = std::min(from, segment.min_time_ns);
        to = std::max(to, segment.max_end_ns);
      }
      const double zoom = std::uniform_real_distribution<double>(0, std::log(double(to - from) / 1e3))(random);
      const auto width = static_cast<int64_t>(double(to - from) / std::exp(zoom));
      Viewport viewport;
      viewport.from_ns = from + static_cast<int64_t>(random() % static_cast<uint64_t>(to - from - width + 1));
      viewport.to_ns = viewport.from_ns + width;
      times.push_back(MillisecondsOf([&] {
        const size_t count = draw(reader, viewport);
        boxes += count;
        most_boxes = std::max(most_boxes, count);
      }));
    }
    std::sort(times.begin(), times.end());
    std::printf("%d %s, %s: median %.2f ms, p99 %.2f ms, max %.2f ms; boxes: %zu on average, %zu at most\n", kTiles,
                what, turn, times[times.size() / 2], times[times.size() * 99 / 100], times.back(), boxes / kTiles,
                most_boxes);
  }
}

// The same through SQL, as a query does it: each time a connection of its own, and parts from the pool.
void AskSql(const char* name, const char* sql, char** paths, int warm_turns = kWarmTurns) {
  ColumnCache cache(kCacheBytes);
  PartPool pool(cache);
  int64_t rows = 0;
  const auto ask = [&] {
    TraceSet set(pool);
    for (char** path = paths; *path != nullptr; ++path) {
      const Status added = set.Add({"run", *path, *path, {}});
      if (!added.ok()) std::fprintf(stderr, "%s\n", added.ToString().c_str());
    }
    sqlite3* db = nullptr;
    sqlite3_stmt* statement = nullptr;
    const bool is_ready = sqlite3_open(":memory:", &db) == SQLITE_OK && RegisterTraceTables(db, set).ok() &&
                          RegisterTraceFunctions(db, set).ok() && AllowShortcuts(db, set, sql).ok() &&
                          sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) == SQLITE_OK;
    rows = 0;
    while (is_ready && sqlite3_step(statement) == SQLITE_ROW) ++rows;
    if (sqlite3_errcode(db) != SQLITE_DONE) std::fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close_v2(db);
  };
  const double cold = MillisecondsOf(ask);
  std::vector<double> warm;
  for (int turn = 0; turn < warm_turns; ++turn) warm.push_back(MillisecondsOf(ask));
  std::sort(warm.begin(), warm.end());
  std::printf("%-36s cold %8.2f ms   warm %8.2f ms   %lld rows   %s\n", name, cold, warm[warm.size() / 2],
              static_cast<long long>(rows), sql);
}

size_t DrawSlices(PartReader& reader, const Viewport& viewport) {
  return Must(MakeSliceTiles(reader, viewport, {})).boxes.size();
}

size_t DrawInstants(PartReader& reader, const Viewport& viewport) {
  return Must(MakeInstantTiles(reader, viewport, {})).boxes.size();
}

size_t DrawCounters(PartReader& reader, const Viewport& viewport) {
  size_t points = 0;
  for (const CounterTrack& track : Must(MakeCounterTiles(reader, viewport, {})).tracks) points += track.points.size();
  return points;
}

}  // namespace

constexpr const char* kSqlQuestions[] = {"SELECT name, sum(dur_ns) FROM slice GROUP BY name",
                                         "SELECT name, sum_ns FROM sum_by('name')",
                                         "SELECT name, sum(dur_ns) FROM slice WHERE category = 'kernel' GROUP BY name",
                                         "SELECT name, sum_ns FROM sum_by('name') WHERE category = 'kernel'",
                                         "SELECT category, count FROM sum_by('category')",
                                         "SELECT name, p50_ns, p99_ns FROM sum_by('name')",
                                         "SELECT name, self_ns FROM self_time('name')",
                                         "SELECT stream, busy_ns FROM busy('stream') WHERE track_kind = 'gpu_stream'",
                                         "SELECT both_ns FROM overlap('nccl*') WHERE category = 'kernel'",
                                         "SELECT name, avg(delay_ns) FROM correlated() GROUP BY name"};

// As Perfetto's trace_processor was asked them (docs/measurements.md).
constexpr const char* kPlainQuestions[] = {
    "SELECT category, count(*) FROM slice GROUP BY category",
    "SELECT name, sum(dur_ns) FROM slice WHERE category = 'kernel' GROUP BY name",
    "SELECT name, dur_ns FROM slice WHERE category = 'cpu_op' ORDER BY dur_ns DESC LIMIT 10",
    "SELECT sum(arg(args, 'stream')) FROM slice WHERE category = 'kernel'",
    "SELECT count(*) FROM flow",
    // And what is near them.
    "SELECT name, count(*), sum(dur_ns), avg(dur_ns), max(dur_ns) FROM slice GROUP BY name ORDER BY 3 DESC LIMIT 10",
    "SELECT count(*), sum(dur_ns) FROM slice WHERE category = 'kernel'",
    "SELECT name, dur_ns FROM slice ORDER BY dur_ns DESC LIMIT 10",
    "SELECT arg(args, 'stream') AS stream, count(*) FROM slice WHERE category = 'kernel' GROUP BY 1",
    "SELECT name, category, count(*) FROM slice GROUP BY name, category",
    "SELECT count(*) FROM slice WHERE name LIKE '%gemm%'",
    "SELECT sum(dur_ns) FROM slice WHERE dur_ns > 1000 AND track_id IN (SELECT id FROM track WHERE kind = "
    "'gpu_stream')",
    "SELECT count(*) FROM slice JOIN track ON track.id = slice.track_id WHERE track.kind = 'gpu_stream'",
    "SELECT 1",
};

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: bench_trace_questions [--sum | --plain | --no-sql] PART.trace.db...\n");
    return 2;
  }
  char** paths = arguments + 1;
  if (std::string(*paths) == "--sum") {
    AskSumOnly(paths + 1);
    return 0;
  }
  if (std::string(*paths) == "--plain") {
    constexpr int kPlainTurns = 15;
    for (const char* sql : kPlainQuestions) AskSql("", sql, paths + 1, kPlainTurns);
    return 0;
  }
  const bool is_sql_asked = std::string(*paths) != "--no-sql";
  if (!is_sql_asked) ++paths;
  Ask("sum by name, category 'kernel'", paths, SumByName);
  Ask("busy union per GPU stream", paths, BusyByStream);
  Ask("count by category", paths, CountByCategory);
  Ask("count, sum, p50, p99 of all by name", paths, PercentilesByName);
  Ask("self time by name", paths, SelfByName);
  const int64_t correlation = MiddleCorrelation(*Open(paths));
  AskSql("slices of a correlation", ("SELECT id FROM slice WHERE correlation = " + std::to_string(correlation)).c_str(),
         paths);
  Ask("launches and their kernels", paths, LaunchesAndKernels);
  for (const char* sql : is_sql_asked ? std::span(kSqlQuestions) : std::span<const char* const>()) {
    AskSql("", sql, paths);
  }
  AskTiles("tiles", paths, EventKind::kSlice, DrawSlices);
  AskTiles("tiles of instants", paths, EventKind::kInstant, DrawInstants);
  AskTiles("tiles of counters", paths, EventKind::kCounter, DrawCounters);
  return 0;
}
