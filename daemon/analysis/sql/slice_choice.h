// Which slices a call is about, made of the conditions on its fields: which parts, of each which tracks, and a filter
// for the rest. All conditions hold at once, and mean what they mean for the columns of `slice` and `track`; from_ns
// and to_ns leave what touches that stretch.
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

// What slices can be told apart by, as SQL names it: the columns of `slice` and `track`, and a stretch of time. Of each
// function all of them are columns: a condition on one narrows what the function is about, and those that an answer is
// grouped by have a value.
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
  const char* key;   // what it is called to group by it; null: nobody does
};

// In the order of SliceField.
std::span<const SliceFieldWords> SliceFields();
inline const SliceFieldWords& WordsOf(SliceField field) {
  return SliceFields()[static_cast<size_t>(field)];
}
// The one of that key; its column's name will do, too.
std::optional<SliceField> FieldOfKey(std::string_view key);

constexpr bool IsText(SliceField field) {
  return field == SliceField::kRun || field == SliceField::kPart || field == SliceField::kTrackKind ||
         field == SliceField::kTrackName || field == SliceField::kProcess || field == SliceField::kName ||
         field == SliceField::kCategory;
}

// What a GPU does, in a filter: annotations that a profiler draws over its streams (gpu_user_annotation) are slices
// there, but nothing that runs, and what lies under them would never be idle. Where a filter asks for categories (and
// does not only leave some out) it stays as it is: then they count.
EventFilter WithoutAnnotations(EventFilter filter);

// Slices told in a word, for calls that are about two kinds of them: 'nccl*' (a name, with wildcards as in
// event_filter.h), 'category=gpu_memcpy', 'stream=20'.

// `filter` and that. Fails with kUsage, as `function`, for words that say nothing.
Result<EventFilter> WithWords(const char* function, const EventFilter& filter, const std::string& words,
                              const StopSignal& stop);
// `filter` without that: of names and categories alone.
Result<EventFilter> WithoutWords(const char* function, const EventFilter& filter, const std::string& words,
                                 const StopSignal& stop);

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
