#include "storage/trace/levels/point_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <tuple>

#include "storage/trace/format/column_store.h"
#include "storage/trace/format/part_schema.h"
#include "storage/trace/write/segment_maker.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

struct Point {
  int64_t time = 0;
  int64_t track = 0;
  int64_t other = 0;  // a name, or the bits of a value
};

// A row of a level; what a kind does not have stays 0.
struct LevelRow {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t name = 0;
  int64_t count = 0;
  double least = 0;
  double most = 0;
  double last = 0;
  double mean = 0;
};
// Level, track, stretch of 4^level ns.
using Place = std::tuple<int64_t, int64_t, int64_t>;

class PointPassTest : public testing::Test {
 protected:
  PointPassTest() { EXPECT_TRUE(CreatePartTables(db_).ok() && db_.Execute("BEGIN").ok()); }

  void Add(EventKind kind, const std::vector<Point>& points, size_t segment_rows) {
    EventRows rows;
    for (const Point& point : points) {
      for (const EventColumn column : ColumnsOf(kind)) {
        int64_t value = 0;
        if (column == EventColumn::kTime) value = point.time;
        if (column == EventColumn::kTrack) value = point.track;
        if (column == EventColumn::kName || column == EventColumn::kValue) value = point.other;
        rows.of(column).push_back(value);
      }
    }
    SegmentMaker maker(kind, rows, segment_rows);
    for (size_t i = 0; i < maker.segments(); ++i) {
      const EncodedSegment segment = maker.Encode(i);
      const auto id = static_cast<int64_t>(segments_.size() + 1);
      segments_.push_back({kind, id, segment.rows, segment.min_time_ns, segment.max_time_ns});
      for (const EncodedSegment::Column& column : segment.columns) {
        ASSERT_TRUE(WriteColumn(db_, {id, column.shape, column.column}, column.rows, column.encoded).ok());
      }
    }
  }

  Status Make(EventKind kind, const std::stop_token& stop = {}) {
    const auto see = [this](const EncodedSegment& segment) -> Status {
      std::map<EventColumn, std::vector<int64_t>> columns;
      for (const EncodedSegment::Column& column : segment.columns) {
        std::vector<int64_t>& values = columns[static_cast<EventColumn>(column.column)];
        values.resize(column.rows);
        RETURN_IF_ERROR(DecodeColumn(column.encoded.codec, column.encoded.bytes, values));
      }
      See(segment.kind, columns);
      return OkStatus();
    };
    return kind == EventKind::kInstant ? MakeInstantLevels(db_, segments_, see, stop)
                                       : MakeCounterLevels(db_, segments_, see, stop);
  }

  void See(EventKind kind, std::map<EventColumn, std::vector<int64_t>>& columns) {
    for (size_t row = 0; row < columns[EventColumn::kTime].size(); ++row) {
      LevelRow made;
      made.begin = columns[EventColumn::kTime][row];
      made.end = made.begin + columns[EventColumn::kDuration][row];
      made.count = columns[EventColumn::kCount][row];
      if (kind == EventKind::kInstantSummary) {
        made.name = columns[EventColumn::kName][row];
      } else {
        made.least = std::bit_cast<double>(columns[EventColumn::kLeast][row]);
        made.most = std::bit_cast<double>(columns[EventColumn::kMost][row]);
        made.last = std::bit_cast<double>(columns[EventColumn::kValue][row]);
        made.mean = std::bit_cast<double>(columns[EventColumn::kMean][row]);
      }
      const int64_t level = columns[EventColumn::kLevel][row];
      rows_[{level, columns[EventColumn::kTrack][row], made.begin >> (2 * level)}].push_back(made);
    }
  }

  std::vector<int64_t> Levels() const {
    std::vector<int64_t> levels;
    for (const auto& [place, made] : rows_) {
      if (levels.empty() || levels.back() != std::get<0>(place)) levels.push_back(std::get<0>(place));
    }
    return levels;
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite, .wal = false});
  std::vector<WrittenSegment> segments_;
  std::map<Place, std::vector<LevelRow>> rows_;
};

// In the order of time, some of them far apart from the others.
std::vector<Point> RandomPoints(std::mt19937_64& random, size_t count) {
  std::vector<Point> points;
  int64_t time = -300'000;
  for (size_t i = 0; i < count; ++i) {
    time += 1 + static_cast<int64_t>(random() % (random() % 200 == 0 ? 100'000 : 300));
    points.push_back({time, static_cast<int64_t>(random() % 3), static_cast<int64_t>(random() % 50)});
  }
  return points;
}

std::map<Place, std::vector<Point>> ByPlace(const std::vector<Point>& points, const std::vector<int64_t>& levels) {
  std::map<Place, std::vector<Point>> of_places;
  for (const int64_t level : levels) {
    for (const Point& point : points) of_places[{level, point.track, point.time >> (2 * level)}].push_back(point);
  }
  return of_places;
}

TEST_F(PointPassTest, InstantsOfAStretchAreOneRow) {
  std::mt19937_64 random(1);
  const std::vector<Point> points = RandomPoints(random, 20'000);
  Add(EventKind::kInstant, points, 700);
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  ASSERT_GE(Levels().size(), 3u);
  const auto expected = ByPlace(points, Levels());
  ASSERT_EQ(rows_.size(), expected.size());
  for (const auto& [place, made] : rows_) {
    ASSERT_EQ(made.size(), 1u);
    const std::vector<Point>& of_place = expected.at(place);
    EXPECT_EQ(made[0].begin, of_place.front().time);
    EXPECT_EQ(made[0].end, of_place.back().time);
    EXPECT_EQ(made[0].name, of_place.front().other);
    EXPECT_EQ(made[0].count, static_cast<int64_t>(of_place.size()));
  }
}

TEST_F(PointPassTest, SamplesOfAStretchAreOneRow) {
  std::mt19937_64 random(2);
  std::vector<Point> points = RandomPoints(random, 20'000);
  for (Point& point : points) point.other = std::bit_cast<int64_t>(static_cast<double>(point.other) / 8);
  std::vector<Point> with_nan = points;
  with_nan.push_back({points.back().time, 0, std::bit_cast<int64_t>(std::numeric_limits<double>::quiet_NaN())});
  Add(EventKind::kCounter, with_nan, 700);
  ASSERT_TRUE(Make(EventKind::kCounter).ok());
  ASSERT_GE(Levels().size(), 3u);
  const auto expected = ByPlace(points, Levels());
  ASSERT_EQ(rows_.size(), expected.size());
  for (const auto& [place, made] : rows_) {
    ASSERT_EQ(made.size(), 1u);
    const std::vector<Point>& of_place = expected.at(place);
    std::vector<double> values;
    double sum = 0;
    for (const Point& point : of_place) {
      values.push_back(std::bit_cast<double>(point.other));
      sum += values.back();
    }
    EXPECT_EQ(made[0].begin, of_place.front().time);
    EXPECT_EQ(made[0].end, of_place.back().time);
    EXPECT_EQ(made[0].count, static_cast<int64_t>(of_place.size()));
    EXPECT_EQ(made[0].least, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(made[0].most, *std::max_element(values.begin(), values.end()));
    EXPECT_EQ(made[0].last, values.back());
    EXPECT_NEAR(made[0].mean, sum / static_cast<double>(values.size()), 1e-9);
  }
}

// Where segments overlap, a stretch has some more rows, of different events each.
TEST_F(PointPassTest, WhatComesOutOfOrderIsCountedAllTheSame) {
  for (const EventKind kind : {EventKind::kInstant, EventKind::kCounter}) {
    segments_.clear();
    rows_.clear();
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
    std::mt19937_64 random(3);
    const std::vector<Point> points = RandomPoints(random, 20'000);
    std::vector<Point> shuffled = points;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (size_t first = 0; first < shuffled.size(); first += 5'000) {
      const auto begin = shuffled.begin() + static_cast<ptrdiff_t>(first);
      Add(kind, {begin, begin + 5'000}, 700);
    }
    ASSERT_TRUE(Make(kind).ok());
    ASSERT_GE(Levels().size(), 3u);
    const auto expected = ByPlace(points, Levels());
    ASSERT_EQ(rows_.size(), expected.size());
    size_t all_rows = 0;
    for (const auto& [place, made] : rows_) all_rows += made.size();
    EXPECT_LE(all_rows, points.size() / 2);
    for (const auto& [place, made] : rows_) {
      int64_t begin = INT64_MAX;
      int64_t end = INT64_MIN;
      int64_t name = 0;
      int64_t count = 0;
      for (const LevelRow& row : made) {
        if (kind == EventKind::kInstant && row.begin < begin) name = row.name;
        begin = std::min(begin, row.begin);
        end = std::max(end, row.end);
        count += row.count;
      }
      const std::vector<Point>& of_place = expected.at(place);
      EXPECT_EQ(begin, of_place.front().time);
      EXPECT_EQ(end, of_place.back().time);
      EXPECT_EQ(count, static_cast<int64_t>(of_place.size()));
      EXPECT_EQ(name, kind == EventKind::kInstant ? of_place.front().other : 0);
    }
  }
}

// Rows of a level of which all have about the same time are of different tracks.
TEST_F(PointPassTest, ManyTracksWithTheSameTimesAreNotTakenForOne) {
  std::vector<Point> points;
  for (int64_t time = 0; time < 25'000; ++time) {
    for (int64_t track = 0; track < 8; ++track) points.push_back({time * 100'000, track, 0});
  }
  Add(EventKind::kCounter, points, 60'000);
  ASSERT_TRUE(Make(EventKind::kCounter).ok());
  ASSERT_FALSE(rows_.empty());
  std::map<int64_t, size_t> rows;
  for (const auto& [place, made] : rows_) rows[std::get<0>(place)] += made.size();
  EXPECT_LE(rows.begin()->second, points.size() / 4);
  for (const auto& [level, count] : rows) EXPECT_GE(level, 9) << count << " rows";  // 4^9 ns are 2.6 samples
}

// However few of each track are looked at, all of them are drawn from few rows from far away.
TEST_F(PointPassTest, ManyTracksHaveCoarseLevels) {
  std::vector<Point> points;
  for (int64_t time = 0; time < 800; ++time) {
    for (int64_t track = 0; track < 500; ++track) points.push_back({time * 100'000 + track, track, 0});
  }
  Add(EventKind::kInstant, points, 60'000);
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  ASSERT_FALSE(rows_.empty());
  const int64_t level = Levels().back();
  size_t coarsest = 0;
  for (const auto& [place, made] : rows_) coarsest += std::get<0>(place) == level ? made.size() : 0;
  EXPECT_LE(coarsest, 500u * 20) << "level " << level;
}

// What lies between the bursts is most of the time, and nothing.
TEST_F(PointPassTest, WhatComesInBurstsHasLevels) {
  std::vector<Point> points;
  for (int64_t burst = 0; burst < 8; ++burst) {
    for (int64_t i = 0; i < 50'000; ++i) points.push_back({burst * 100'000'000'000 + i * 20'000, i % 2, 0});
  }
  Add(EventKind::kInstant, points, 40'000);
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  ASSERT_GE(Levels().size(), 4u);
  EXPECT_LE(Levels().front(), 9);
  EXPECT_LE(rows_.size(), points.size() / 2);
}

TEST_F(PointPassTest, ThoseOfOneTimeAreOneRow) {
  for (int segment = 0; segment < 6; ++segment) {
    Add(EventKind::kInstant, std::vector<Point>(60'000, {.time = 5, .track = 1, .other = 7}), 60'000);
  }
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  ASSERT_EQ(rows_.size(), 1u);
  ASSERT_EQ(rows_.begin()->second.size(), 1u);
  EXPECT_EQ(rows_.begin()->second[0].count, 360'000);
}

TEST_F(PointPassTest, FewEventsHaveNoLevels) {
  Add(EventKind::kInstant, {{0, 0, 1}, {1, 0, 1}, {2, 1, 1}}, 10);
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  EXPECT_TRUE(rows_.empty());
  segments_.clear();
  ASSERT_TRUE(Make(EventKind::kInstant).ok());
  ASSERT_TRUE(Make(EventKind::kCounter).ok());
  EXPECT_TRUE(rows_.empty());
}

TEST_F(PointPassTest, OneThatIsNotBetweenTheTimesOfItsSegmentIsRefused) {
  for (const EventKind kind : {EventKind::kInstant, EventKind::kCounter}) {
    segments_.clear();
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
    Add(kind, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {900, 0, 1}}, 10);
    segments_[0].max_time_ns = 500;
    const Status made = Make(kind);
    EXPECT_EQ(made.code(), ErrorCode::kBadInput);
    EXPECT_NE(made.ToString().find("row 3 is not between the times"), std::string::npos) << made.ToString();
  }
}

TEST_F(PointPassTest, IsStopped) {
  std::stop_source stop;
  stop.request_stop();
  for (const EventKind kind : {EventKind::kInstant, EventKind::kCounter}) {
    segments_.clear();
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
    Add(kind, {{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {900, 0, 1}}, 10);
    EXPECT_EQ(Make(kind, stop.get_token()).code(), ErrorCode::kCancelled);
  }
  EXPECT_TRUE(rows_.empty());
}

}  // namespace
}  // namespace kprof
