#include "daemon/analysis/functions/part_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/sample_trace.h"

namespace kprof {
namespace {

using testing::ElementsAre;

class PartNotesTest : public testing::Test {
 protected:
  AnalysisTraces Ranks(int64_t count) {
    for (int64_t rank = 0; rank < count; ++rank) trace_.Add(RandomSlices(10, 1), 10, 1, rank);
    return TracesOfRun();
  }
  AnalysisTraces TracesOfRun() {
    return AnalysisTraces({trace_.parts().begin(), trace_.parts().end()},
                          std::vector<std::string>(trace_.parts().size(), "run1"));
  }

  SampleTrace trace_;
};

TEST_F(PartNotesTest, SayEachTextOnceWithTheNamesOfFourParts) {
  const AnalysisTraces traces = Ranks(6);
  AnalysisAnswer answer(traces);
  PartNotes notes;
  for (size_t part = 0; part < 6; ++part) notes.Add(part, "it is cut");
  notes.Add(2, "it is odd");
  notes.AddTo(traces, answer);
  EXPECT_THAT(answer.notes(), ElementsAre("rank 0, rank 1, rank 2, rank 3 and 2 more: it is cut", "rank 2: it is odd"));
}

TEST_F(PartNotesTest, SayWhyWhereAllPartsLackIt) {
  const AnalysisTraces traces = Ranks(2);
  AnalysisAnswer answer(traces);
  PartNotes notes(" on device 2");
  for (size_t part = 0; part < 2; ++part) notes.AddLack(part, "no kernels", "nothing ran on a device");
  notes.AddTo(traces, answer);
  EXPECT_THAT(answer.notes(), ElementsAre("no kernels: nothing ran on a device in what was asked for"));
}

TEST_F(PartNotesTest, NameThePartsWhereSomeLackItByTheNameOfTheLack) {
  const AnalysisTraces traces = Ranks(3);
  AnalysisAnswer answer(traces);
  PartNotes notes(" on device 2");
  notes.AddLack(0, "no launches", "nobody called");
  notes.AddLack(1, "no kernels", "nothing ran on a device");
  notes.AddLack(2, "no kernels", "nothing ran on a device");
  notes.AddTo(traces, answer);
  EXPECT_THAT(answer.notes(),
              ElementsAre("no kernels on device 2 in rank 1, rank 2", "no launches on device 2 in rank 0"));
}

TEST_F(PartNotesTest, LeaveOutAPartWithoutRankAndSlices) {
  trace_.Add(RandomSlices(10, 1), 10, 1, 0);
  trace_.Add({}, 10);
  const AnalysisTraces traces = TracesOfRun();
  AnalysisAnswer answer(traces);
  PartNotes notes;
  notes.AddLack(1, "no kernels", "nothing ran on a device");
  notes.AddTo(traces, answer);
  EXPECT_THAT(answer.notes(), ElementsAre());
}

}  // namespace
}  // namespace kprof
