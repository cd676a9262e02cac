#include "daemon/analysis/operators/self_time.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

// What no direct child covers, nanosecond by nanosecond.
std::map<std::string, SelfTime> Plain(PartReader& reader, const std::string& category, int64_t from_ns) {
  std::map<std::string, SelfTime> times;
  for (int64_t track = 0; track < 6; ++track) {
    const std::vector<SampleRow> rows = InOrder(RowsOf(reader), track);
    std::map<int64_t, std::set<int64_t>> covered;
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t before = i; before-- > 0;) {
        if (rows[before].depth != rows[i].depth - 1) continue;
        for (int64_t at = rows[i].slice.time; at < rows[i].end(); ++at) covered[rows[before].row].insert(at);
        break;
      }
    }
    for (const SampleRow& row : rows) {
      if (!row.has_end() || (!category.empty() && row.slice.category != category)) continue;
      if (row.slice.time < from_ns && row.end() <= from_ns) continue;
      SelfTime& time = times[row.slice.name];
      ++time.count;
      time.sum_ns += row.slice.duration;
      time.self_ns += row.slice.duration - static_cast<int64_t>(covered[row.row].size());
    }
  }
  return times;
}

TEST(SelfTime, IsWhatNoChildCovers) {
  for (const size_t batches : {1u, 4u}) {
    SampleTrace trace;
    PartReader& reader = trace.Add(RandomSlices(1'500, 9), 100, batches);
    for (const char* category : {"", "kernel"}) {
      for (const int64_t from : {INT64_MIN, int64_t{50'000}}) {
        SelfTimeRequest request{.by = {GroupBy::kName}};
        if (*category != '\0') request.filter.categories = {category};
        if (from > 0) request.filter.from_ns = from;
        const Result<std::vector<SelfTime>> found = FindSelfTimes(trace.parts(), request, {});
        ASSERT_TRUE(found.ok()) << found.status().ToString();
        const std::map<std::string, SelfTime> expected = Plain(reader, category, from);
        ASSERT_EQ(found->size(), expected.size());
        for (const SelfTime& time : *found) {
          const SelfTime& plain = expected.at(std::get<std::string>(time.key[0]));
          EXPECT_EQ(time.count, plain.count);
          EXPECT_EQ(time.sum_ns, plain.sum_ns);
          EXPECT_EQ(time.self_ns, plain.self_ns);
        }
      }
    }
  }
}

}  // namespace
}  // namespace kprof
