#include "daemon/analysis/functions/copy_sizes.h"

#include "daemon/analysis/functions/slice_args.h"

namespace kprof {
namespace {

constexpr size_t kBytesKey = 0;
constexpr size_t kRateKey = 1;

}  // namespace

Result<std::vector<CopySize>> ReadCopySizes(PartReader& reader, std::span<const int64_t> places) {
  std::vector<CopySize> sizes(places.size());
  ASSIGN_OR_RETURN(SliceArgs args, SliceArgs::Find(reader, {"bytes", "memory bandwidth (GB/s)"}));
  if (args.never()) return sizes;
  std::vector<std::vector<SliceArg>> values;
  size_t next = 0;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    const size_t first = next;
    RowSelection selection;
    for (; next < places.size() && places[next] < segment.first_row + segment.rows; ++next) {
      selection.rows.push_back(static_cast<uint32_t>(places[next] - segment.first_row));
    }
    if (selection.rows.empty()) continue;
    RETURN_IF_ERROR(args.Read(segment, selection, values));
    for (size_t i = 0; i < selection.rows.size(); ++i) {
      ASSIGN_OR_RETURN(sizes[first + i].bytes, args.NumberOf(values[kBytesKey][i]));
      ASSIGN_OR_RETURN(sizes[first + i].gb_s, args.NumberOf(values[kRateKey][i]));
    }
  }
  return sizes;
}

}  // namespace kprof
