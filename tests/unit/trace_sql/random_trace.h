// Two parts of made-up events, and the same events as plain tables of SQLite's, to compare answers with.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "storage/trace_sql/tables/args_json.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/trace/made_part.h"
#include "tests/unit/trace_sql/trace_connection.h"

namespace kprof {

constexpr int64_t kMadeTracks = 5;

inline MadePart RandomPart(uint64_t seed, size_t count, bool in_order) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  MadePart part(50);
  for (int64_t i = 0; i < kMadeTracks; ++i) {
    TrackRow track;
    track.kind = i % 2 == 0 ? "cpu_thread" : "gpu_stream";
    track.name = "track " + std::to_string(i);
    track.pid = std::to_string(100 + i);
    if (i > 0) track.tid = "t" + std::to_string(i);
    if (i % 2 == 1) track.device = i / 2;
    if (i % 2 == 1) track.stream = 7 * i;
    if (i == 2) track.process = "python";
    part.AddTrack(track);
  }
  part.SetFact("base_unix_ns", std::to_string(1'700'000'000'000 + seed));
  part.SetFact("source_name", "made \"up\"");
  std::set<std::tuple<int64_t, int64_t, int64_t>> taken;
  for (size_t i = 0; i < count; ++i) {
    const auto n = static_cast<int64_t>(i);
    MadeEvent event;
    event.track = below(kMadeTracks);
    event.time_ns = below(20'000) - 100;
    event.duration_ns = below(30) == 0 ? kNoValue : below(4) == 0 ? below(3000) : below(60);
    if (!taken.emplace(event.track, event.time_ns, event.duration_ns).second) continue;
    event.name = std::string(below(3) == 0 ? "gemm" : "Copy") + "_" + std::to_string(below(9));
    event.category = below(4) == 0 ? "" : below(2) == 0 ? "kernel" : "cpu_op";
    if (below(2) == 0) event.correlation = below(count / 4 + 1);
    if (n % 97 == 5) event.correlation = n % 2 == 0 ? -n : (int64_t{1} << 48) + n;  // no other number has the room
    event.args = {IntegerArg("n", n)};
    if (below(2) == 0) {
      event.args.push_back(TextArg("text \"q\"", "a\tb" + std::to_string(n)));
      event.args.push_back({"decimal", ArgType::kDecimal, *PackDecimal({below(2000) - 1000, 3}), {}});
      event.args.push_back({"yes", ArgType::kTrue, 0, {}});
      event.args.push_back({"list", ArgType::kJson, 0, "[1,{\"n\":-1}]"});
      event.args.push_back({"tts", ArgType::kInteger, n * 2, {}, true});
    }
    if (below(3) == 0) {
      event.args.push_back({"none", ArgType::kNull, 0, {}});
      event.args.push_back({"big", ArgType::kNumber, 0, "1e300"});
    }
    if (below(5) == 0) part.Add(EventKind::kInstant, event);
    if (event.correlation != kNoValue) event.args.push_back({"correlation", ArgType::kCorrelation, 0, {}});
    part.Add(EventKind::kSlice, event);
    event.value = static_cast<double>(below(1000)) / 8;
    event.args.clear();
    if (n % 3 == 0) event.args = {{"value", ArgType::kDecimal, *PackDecimal({n * 10, 1}), {}}};
    if (below(4) == 0) part.Add(EventKind::kCounter, event);
    if (!in_order && below(count / 3 + 1) == 0) part.Cut();
  }
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    MadeEvent event{.time_ns = below(20'000) - 100, .track = below(kMadeTracks)};
    event.name = std::string(below(3) == 0 ? "gemm" : "Copy") + "_" + std::to_string(below(9));
    event.category = below(4) == 0 ? "" : below(2) == 0 ? "ac2g" : "cpu_op";
    if (below(2) == 0)
      event.args = {IntegerArg("n", i), TextArg("text", "a\tb"), {"bp", ArgType::kString, 0, "e", true}};
    if (below(3) == 0) {
      event.phase = "MEC\0"[below(4)];
      part.Add(EventKind::kMetadata, event);
    } else {
      event.phase = "stf"[below(3)];
      event.flow = std::to_string(below(count / 6 + 1));
      part.Add(EventKind::kFlow, event);
    }
  }
  return part;
}

class RandomTrace {
 public:
  explicit RandomTrace(uint64_t seed = 1) {
    RandomPart(seed, 700, true).Write(folder_ / "a.trace.db");
    RandomPart(seed + 1, 400, false).Write(folder_ / "b.trace.db");
    places_ = {{"run1", "a", folder_ / "a.trace.db", 0}, {"run2", "b", folder_ / "b.trace.db", {}}};
    EXPECT_EQ(sqlite3_open(":memory:", &plain_), SQLITE_OK);
    EXPECT_EQ(RegisterArgFunction(plain_), SQLITE_OK);
    TraceConnection all(places_);
    for (const char* table : {"slice", "instant", "counter", "flow_point", "metadata", "track"}) CopyTable(all, table);
  }
  ~RandomTrace() { sqlite3_close_v2(plain_); }

  const std::vector<TracePlace>& places() const { return places_; }
  sqlite3* plain() { return plain_; }
  std::string path(const std::string& part) const { return folder_ / (part + ".trace.db"); }

 private:
  // Row by row, as the table has them without any condition; that these are right is for other tests.
  void CopyTable(TraceConnection& from, const std::string& table) {
    sqlite3_stmt* rows = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(from.db(), ("SELECT * FROM " + table).c_str(), -1, &rows, nullptr), SQLITE_OK);
    std::string columns;
    std::string places;
    for (int i = 0; i < sqlite3_column_count(rows); ++i) {
      columns +=
          (i == 0 ? "" : ", ") + std::string(sqlite3_column_name(rows, i)) + " " + sqlite3_column_decltype(rows, i);
      places += i == 0 ? "?" : ", ?";
    }
    ASSERT_EQ(AskConnection(plain_, "CREATE TABLE " + table + "(" + columns + ")"), Lines{});
    sqlite3_stmt* insert = nullptr;
    ASSERT_EQ(
        sqlite3_prepare_v2(plain_, ("INSERT INTO " + table + " VALUES (" + places + ")").c_str(), -1, &insert, nullptr),
        SQLITE_OK);
    int result = SQLITE_ROW;
    while ((result = sqlite3_step(rows)) == SQLITE_ROW) {
      for (int i = 0; i < sqlite3_column_count(rows); ++i)
        sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i));
      EXPECT_EQ(sqlite3_step(insert), SQLITE_DONE);
      sqlite3_reset(insert);
    }
    EXPECT_EQ(result, SQLITE_DONE) << sqlite3_errmsg(from.db());
    sqlite3_finalize(rows);
    sqlite3_finalize(insert);
  }

  TemporaryFolder folder_;
  std::vector<TracePlace> places_;
  sqlite3* plain_ = nullptr;
};

}  // namespace kprof
