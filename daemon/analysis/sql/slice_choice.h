// Which slices a call is about, made of the conditions on its fields: which parts, of each which tracks, and a filter
// for the rest. All conditions hold at once, and mean what they mean for the columns of `slice` and `track`; from_ns
// and to_ns leave what touches that stretch.
//
// On the query's thread. The set must outlive it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/stop_signal.h"
#include "daemon/analysis/operators/trace_part.h"
#include "daemon/analysis/sql/slice_field.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_condition.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Parts as operators are asked of them, and as SQL knows them, side by side.
struct ChosenParts {
  std::vector<TracePart> parts;
  std::vector<OpenPart*> open;
};

// With its values; `ignores_case`: of a text's ASCII letters.
struct SliceCondition {
  SliceField field = SliceField::kRun;
  ScanCondition test;
  bool ignores_case = false;
};

class SliceChoice {
 public:
  // Fails with kUsage, as `function`, for values that the field has none of.
  static Result<SliceChoice> Make(const char* function, TraceSet& set, std::span<const SliceCondition> conditions,
                                  const StopSignal& stop);

  const EventFilter& filter() const { return filter_; }
  const ChosenParts& all() const { return all_; }
  // The same apart: by their runs, or each part by itself.
  std::vector<ChosenParts> ByRun() const;
  std::vector<ChosenParts> ByPart() const;

 private:
  struct Tests;
  SliceChoice() = default;
  void ChooseParts(TraceSet& set, const Tests& tests);
  void ChooseTracks(OpenPart& part, const Tests& tests);

  EventFilter filter_;
  ChosenParts all_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> tracks_;
};

}  // namespace kprof
