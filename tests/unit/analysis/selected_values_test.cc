#include "daemon/analysis/operators/row_indexes.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

TEST(SelectedValues, AreThoseOfTheirRowsHoweverManyAreSelected) {
  SampleTrace trace;
  PartReader& reader = trace.Add(RandomSlices(4'000, 1), 500);
  std::mt19937_64 random(2);
  for (int turn = 0; turn < 2; ++turn) {  // the second time from what was kept
    for (const Segment& segment : reader.segments(EventKind::kSlice)) {
      const DecodedColumn categories = *reader.Read(segment, EventColumn::kCategory);
      const int64_t rare = **reader.FindString("rare");
      for (const int share : {1, 3, 40}) {
        for (const bool is_rare : {true, false}) {
          RowSelection selection;
          for (uint32_t row = 0; row < segment.rows; ++row) {
            const bool may = !is_rare || (*categories)[row] == rare;
            if (may && random() % static_cast<uint64_t>(share) == 0) selection.rows.push_back(row);
          }
          for (const EventColumn column : {EventColumn::kDuration, EventColumn::kName}) {
            std::vector<int64_t> values;
            ASSERT_TRUE(GatherValues(reader, segment, column, selection, values).ok());
            ASSERT_EQ(values.size(), selection.rows.size());
            for (size_t i = 0; i < values.size(); ++i) {
              ASSERT_EQ(values[i], ValueAt(reader, segment, column, selection.rows[i]));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace kprof
