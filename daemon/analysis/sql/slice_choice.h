// The slices that a call is about, chosen by the conditions on its fields: some parts, some tracks of each, and a
// filter for the rest. All conditions hold at once, and mean the same as for the columns of `slice` and `track`;
// from_ns and to_ns choose the slices that touch that time.
//
// On the query's thread. The set must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// The fields of slices, as SQL names them: the columns of `slice` and `track`, and a stretch of time. Each function has
// all of them as columns: a condition on one narrows the choice of slices, and those that an answer is grouped by have
// a value in its rows.
enum class SliceField : uint8_t {
  kRun,
  kPart,
  kRank,
  kTrackId,
  kTrackKind,
  kTrackName,
  kDevice,
  kStream,
  kProcess,
  kName,
  kCategory,
  kTimeNs,
  kDurationNs,
  kFromNs,
  kToNs,
};

struct SliceFieldWords {
  const char* column;
  const char* type;  // INTEGER or TEXT
  const char* key;   // its name as a key to group by; null: it is none
};

// In the order of SliceField.
std::span<const SliceFieldWords> SliceFields();
inline const SliceFieldWords& WordsOf(SliceField field) {
  return SliceFields()[static_cast<size_t>(field)];
}
// The field with that key; its column's name will do, too.
std::optional<SliceField> FieldOfKey(std::string_view key);

constexpr bool IsText(SliceField field) {
  return field == SliceField::kRun || field == SliceField::kPart || field == SliceField::kTrackKind ||
         field == SliceField::kTrackName || field == SliceField::kProcess || field == SliceField::kName ||
         field == SliceField::kCategory;
}

// `filter` without annotations that a profiler draws over a GPU's streams (gpu_user_annotation): they are slices there,
// but nothing runs, and under them a stream would never be idle. A filter that asks for categories (and does not only
// leave some out) stays as it is: then annotations count.
EventFilter WithoutAnnotations(EventFilter filter);

// Narrows `filter` to the slices that `words` name, for calls about two kinds of slices: 'nccl*' (a name, with
// wildcards as in event_filter.h), 'category=gpu_memcpy', 'stream=20'. Fails with kUsage, as `function`, for words that
// name none.
Result<EventFilter> WithWords(const char* function, const EventFilter& filter, const std::string& words,
                              const StopSignal& stop);
// Narrows `filter` to the slices that `words` do not name. Takes names and categories alone.
Result<EventFilter> WithoutWords(const char* function, const EventFilter& filter, const std::string& words,
                                 const StopSignal& stop);

// Parts in two forms, side by side: for operators, and as SQL knows them.
struct ChosenParts {
  std::vector<TracePart> parts;
  std::vector<OpenPart*> open;
};

// A condition with its values; `ignores_case`: of a text's ASCII letters.
struct SliceCondition {
  SliceField field = SliceField::kRun;
  ScanCondition test;
  bool ignores_case = false;
};

class SliceChoice {
 public:
  // Fails with kUsage, as `function`, for values that the field cannot have.
  static Result<SliceChoice> Make(const char* function, TraceSet& set, std::span<const SliceCondition> conditions,
                                  const StopSignal& stop);

  const EventFilter& filter() const { return filter_; }
  const ChosenParts& all() const { return all_; }
  // The same parts, run by run, or each by itself.
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
