#include "daemon/analysis/functions/slice_args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string>

#include "daemon/analysis/operators/row_indexes.h"

namespace kprof {
namespace {

// A quotient of two doubles is exact where both are: beyond that the digits are read as a text.
double NearestDouble(ArgDecimal decimal) {
  const auto digits = static_cast<double>(decimal.digits);
  if (std::abs(digits) <= static_cast<double>(kMostWholeInDouble)) return digits / std::pow(10.0, decimal.places);
  const std::string text = std::to_string(decimal.digits) + "e-" + std::to_string(decimal.places);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<SliceArgs> SliceArgs::Find(PartReader& reader, const std::vector<std::string_view>& keys) {
  SliceArgs found(reader);
  found.has_.assign(keys.size(), false);
  // Keys of shapes are few; looking for a text among all strings of a part would cost a pass over them.
  std::map<uint32_t, size_t> by_string;
  std::set<uint32_t> seen;
  for (const ArgShape& args : reader.shapes()) {
    for (const ArgSlot& slot : args) {
      if (!seen.insert(slot.key).second) continue;
      ASSIGN_OR_RETURN(const std::string text, reader.ReadString(slot.key));
      const auto key = std::find(keys.begin(), keys.end(), text);
      if (key != keys.end()) by_string.emplace(slot.key, static_cast<size_t>(key - keys.begin()));
    }
  }
  for (uint32_t shape = 0; shape < reader.shapes().size(); ++shape) {
    const ArgShape& args = reader.shapes()[shape];
    for (uint32_t slot = 0; slot < args.size(); ++slot) {
      const auto key = by_string.find(args[slot].key);
      if (key == by_string.end() || args[slot].of_event || !HasColumn(args[slot].type)) continue;
      found.slots_[shape].push_back({key->second, slot, args[slot].type});
      found.has_[key->second] = true;
    }
  }
  return found;
}

Status SliceArgs::Read(const Segment& segment, const RowSelection& selection,
                       std::vector<std::vector<SliceArg>>& values) {
  const size_t rows = selection.all ? segment.rows : selection.rows.size();
  values.resize(has_.size());
  for (std::vector<SliceArg>& of_key : values) of_key.assign(rows, SliceArg());
  ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_->ReadBounds(segment, EventColumn::kShape));
  if (!bounds || rows == 0) return OkStatus();
  const auto first = slots_.lower_bound(static_cast<uint32_t>(std::clamp<int64_t>(bounds->min, 0, UINT32_MAX)));
  if (first == slots_.end() || int64_t{first->first} > bounds->max) return OkStatus();
  ASSIGN_OR_RETURN(const DecodedColumn shapes, reader_->Read(segment, EventColumn::kShape));
  struct Place {
    uint32_t at = 0;        // of the rows selected
    uint32_t in_shape = 0;  // of the segment's rows of that shape
  };
  std::vector<uint32_t> counts(reader_->shapes().size(), 0);
  std::vector<std::vector<Place>> of_shapes(reader_->shapes().size());
  std::vector<uint8_t> is_wanted(reader_->shapes().size(), 0);
  for (const auto& [shape, slots] : slots_) is_wanted[shape] = 1;
  size_t at = 0;
  for (uint32_t row = 0; row < shapes->size() && at < rows; ++row) {
    const int64_t shape = (*shapes)[row];
    const bool is_selected = selection.all || selection.rows[at] == row;
    if (shape >= 0 && static_cast<size_t>(shape) < counts.size()) {
      if (is_selected && is_wanted[static_cast<size_t>(shape)] != 0) {
        of_shapes[static_cast<size_t>(shape)].push_back(
            {static_cast<uint32_t>(at), counts[static_cast<size_t>(shape)]});
      }
      ++counts[static_cast<size_t>(shape)];
    }
    at += is_selected ? 1 : 0;
  }
  for (const auto& [shape, slots] : slots_) {
    const std::vector<Place>& places = of_shapes[shape];
    if (places.empty()) continue;
    for (const Slot& slot : slots) {
      ASSIGN_OR_RETURN(const DecodedColumn column, reader_->ReadArg(segment, shape, slot.slot));
      for (const Place& place : places) {
        if (place.in_shape < column->size()) values[slot.key][place.at] = {slot.type, (*column)[place.in_shape]};
      }
    }
  }
  return OkStatus();
}

Result<std::optional<double>> SliceArgs::NumberOf(const SliceArg& arg) {
  if (arg.type == ArgType::kInteger) return std::optional(static_cast<double>(arg.value));
  if (arg.type == ArgType::kDecimal) {
    return std::optional(NearestDouble(UnpackDecimal(arg.value)));
  }
  if (arg.type != ArgType::kNumber && arg.type != ArgType::kString) return std::optional<double>();
  ASSIGN_OR_RETURN(const std::string text, reader_->ReadString(arg.value));
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

Result<std::string> SliceArgs::TextOf(const SliceArg& arg) {
  if (arg.type != ArgType::kString && arg.type != ArgType::kJson) return std::string();
  return reader_->ReadString(arg.value);
}

}  // namespace kprof
