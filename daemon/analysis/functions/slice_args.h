// Arguments of slices by their keys, for analyses: numbers and texts of selected rows, whatever shapes these have.
//
// On the reader's thread. Reading costs a pass over the shapes of a segment, and over the columns of the keys' slots.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "storage/base/status.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

struct SliceArg {
  ArgType type = ArgType::kNull;  // also where the slice has no such argument
  int64_t value = kNoValue;       // of a column of that type: event_args.h

  bool is_text() const { return IsStringNumber(type); }
};

class SliceArgs {
 public:
  // `keys` as the source has them. The reader must outlive it.
  static Result<SliceArgs> Find(PartReader& reader, const std::vector<std::string_view>& keys);

  // True if no slice of the part has any of them.
  bool never() const { return slots_.empty(); }
  // True if a slice of the part may have that key.
  bool Has(size_t key) const { return has_[key]; }
  // Fills values[key] with the arguments of the selected rows, in their order. Fails as reading columns does.
  Status Read(const Segment& segment, const RowSelection& selection, std::vector<std::vector<SliceArg>>& values);

  // Nothing for what is no number; texts of digits are numbers (HIP writes such).
  Result<std::optional<double>> NumberOf(const SliceArg& arg);
  // Empty for what is no text, list or object.
  Result<std::string> TextOf(const SliceArg& arg);

 private:
  struct Slot {
    size_t key = 0;
    uint32_t slot = 0;
    ArgType type = ArgType::kNull;
  };

  explicit SliceArgs(PartReader& reader) : reader_(&reader) {}

  PartReader* reader_;
  std::map<uint32_t, std::vector<Slot>> slots_;  // by shape; those that have a key
  std::vector<bool> has_;
};

}  // namespace kprof
