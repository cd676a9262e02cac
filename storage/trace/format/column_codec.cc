#include "storage/trace/format/column_codec.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "storage/base/newer_processors.h"
#include "storage/trace/format/bit_packing.h"
#include "storage/trace/format/byte_planes.h"
#include "storage/trace/format/codec_numbers.h"
#include "storage/trace/format/value_runs.h"

namespace kprof {
namespace {

// Fewer changes than one in so many rows are runs.
constexpr size_t kRunRows = 16;
// Planes have to be smaller than packed bits by a fifth: they take three times as long to read.
constexpr double kPlanesGain = 0.8;

// What one pass over a column tells.
struct Shape {
  int64_t min = 0;
  int64_t max = 0;
  size_t changes = 0;
  uint64_t offset_bits = 0;  // what values less the least need, one by one
  uint64_t delta_bits = 0;   // what they need as differences
};

KPROF_FOR_NEWER_PROCESSORS Shape ShapeOf(std::span<const int64_t> values) {
  Shape shape;
  // A loop over values, which the compiler makes wide; std::min_element it does not.
  int64_t least = values[0];
  int64_t most = values[0];
  for (const int64_t value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  shape.min = least;
  shape.max = most;
  // Many columns of a wide table are empty.
  if (least == most) return shape;
  for (size_t i = 1; i < values.size(); ++i) {
    const uint64_t difference = Difference(values[i], values[i - 1]);
    shape.changes += difference != 0;
    shape.delta_bits += static_cast<uint64_t>(std::bit_width(ZigZag(difference)));
    shape.offset_bits += static_cast<uint64_t>(std::bit_width(Difference(values[i], shape.min)));
  }
  return shape;
}

// Its memory is asked for once.
BytePlanes& Planes() {
  thread_local BytePlanes planes;
  return planes;
}

bool ReadUnsigned(ColumnCodec codec, std::string_view bytes, std::span<uint64_t> out) {
  if (codec == ColumnCodec::kPlanes || codec == ColumnCodec::kDeltaPlanes) return Planes().Read(bytes, out);
  return TakePacked(bytes, out) && bytes.empty();
}

bool Decode(ColumnCodec codec, std::string_view bytes, std::span<int64_t> out) {
  uint64_t first = 0;
  switch (codec) {
    case ColumnCodec::kConstant:
      if (!TakeNumber(bytes, first) || !bytes.empty()) return false;
      std::fill(out.begin(), out.end(), static_cast<int64_t>(first));
      return true;
    case ColumnCodec::kRuns:
      return DecodeRuns(bytes, out);
    case ColumnCodec::kPacked:
    case ColumnCodec::kPlanes:
    case ColumnCodec::kDeltaPacked:
    case ColumnCodec::kDeltaPlanes:
      break;
    default:
      return false;
  }
  // The bits of either sign are where they are: int64_t is read and written as what it is made of.
  const std::span<uint64_t> raw(reinterpret_cast<uint64_t*>(out.data()), out.size());
  if (!TakeNumber(bytes, first) || !ReadUnsigned(codec, bytes, raw)) return false;
  if (codec == ColumnCodec::kPacked || codec == ColumnCodec::kPlanes) {
    for (uint64_t& value : raw) value += first;
  } else {
    for (uint64_t& value : raw) value = first += UnZigZag(value);
  }
  return true;
}

}  // namespace

EncodedColumn EncodeColumn(std::span<const int64_t> values) {
  KPROF_CHECK(!values.empty() && values.size() <= kMaxSegmentRows);
  const Shape shape = ShapeOf(values);
  EncodedColumn encoded{ColumnCodec::kConstant, shape.min, shape.max, {}};
  if (shape.changes == 0) {
    AppendNumber(static_cast<uint64_t>(shape.min), encoded.bytes);
    return encoded;
  }
  if (shape.changes < values.size() / kRunRows) {
    encoded.codec = ColumnCodec::kRuns;
    encoded.bytes = EncodeRuns(values, shape.min);
    return encoded;
  }
  const bool as_deltas = shape.delta_bits < shape.offset_bits;
  const std::vector<uint64_t> folded = as_deltas ? Deltas(values) : Offsets(values, shape.min);
  AppendNumber(static_cast<uint64_t>(as_deltas ? values[0] : shape.min), encoded.bytes);
  const size_t packed_bytes = PackedBytes(folded);
  const size_t start = encoded.bytes.size();
  Planes().Append(folded, encoded.bytes);
  if (static_cast<double>(encoded.bytes.size() - start) <= kPlanesGain * static_cast<double>(packed_bytes)) {
    encoded.codec = as_deltas ? ColumnCodec::kDeltaPlanes : ColumnCodec::kPlanes;
    return encoded;
  }
  encoded.bytes.resize(start);
  AppendPacked(folded, encoded.bytes);
  encoded.codec = as_deltas ? ColumnCodec::kDeltaPacked : ColumnCodec::kPacked;
  return encoded;
}

Status DecodeColumn(ColumnCodec codec, std::string_view bytes, std::span<int64_t> out) {
  if (Decode(codec, bytes, out)) return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "read a column of " + std::to_string(out.size()) + " rows",
              "its bytes are not what codec " + std::to_string(static_cast<int>(codec)) + " writes");
}

}  // namespace kprof
