// What slices can be told apart by, as SQL names it: the columns of `slice` and `track`, and a stretch of time. Of each
// function all of them are columns: a condition on one narrows what the function is about, and those that an answer is
// grouped by have a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kprof {

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

}  // namespace kprof
