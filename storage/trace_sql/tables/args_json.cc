#include "storage/trace_sql/tables/args_json.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "storage/trace/format/arg_decimal.h"
#include "storage/trace_sql/tables/strict_json.h"

namespace kprof {
namespace {

void AppendInteger(int64_t value, std::string& json) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  json.append(text, end);
}

void AppendDecimal(int64_t packed, std::string& json) {
  const ArgDecimal decimal = UnpackDecimal(packed);
  char text[24];
  const char* end = std::to_chars(text, text + sizeof text, decimal.digits < 0 ? -decimal.digits : decimal.digits).ptr;
  const auto size = static_cast<size_t>(end - text);
  const auto places = static_cast<size_t>(decimal.places);
  if (decimal.digits < 0) json += '-';
  if (size > places) {
    json.append(text, size - places);
  } else {
    json += '0';
  }
  if (places == 0) return;
  json += '.';
  if (places > size) json.append(places - size, '0');
  const size_t behind = std::min(size, places);
  json.append(end - behind, behind);
}

Status AppendValue(SegmentView& view, uint32_t row, uint32_t shape, uint32_t slot, ArgType type, std::string& json) {
  switch (type) {
    case ArgType::kNull:
      json += "null";
      return OkStatus();
    case ArgType::kFalse:
      json += "false";
      return OkStatus();
    case ArgType::kTrue:
      json += "true";
      return OkStatus();
    case ArgType::kCorrelation: {
      ASSIGN_OR_RETURN(const int64_t* correlations, view.Column(EventColumn::kCorrelation));
      AppendInteger(correlations[row], json);
      return OkStatus();
    }
    default:
      break;
  }
  ASSIGN_OR_RETURN(const int64_t value, view.Arg(row, shape, slot));
  if (type == ArgType::kInteger) {
    AppendInteger(value, json);
    return OkStatus();
  }
  if (type == ArgType::kDecimal) {
    AppendDecimal(value, json);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const PartText text, view.part().ReadText(value));
  if (type == ArgType::kJson) {
    AppendStrictJson(text.view(), json);
  } else if (type == ArgType::kNumber && IsJsonNumber(text.view())) {
    json += text.view();
  } else {
    AppendStrictText(text.view(), json);
  }
  return OkStatus();
}

// The slot that has all arguments as one object, where they were too many to have a slot each.
Result<std::optional<uint32_t>> WholeArgs(SegmentView& view, uint32_t row, uint32_t shape, const ArgShape& slots) {
  std::optional<uint32_t> whole;
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (!slots[slot].of_event) return std::optional<uint32_t>();
    if (slots[slot].type == ArgType::kJson) {
      ASSIGN_OR_RETURN(const PartText key, view.part().ReadText(slots[slot].key));
      if (key.view() == "args") whole = slot;
    }
  }
  if (!whole) return whole;
  ASSIGN_OR_RETURN(const int64_t value, view.Arg(row, shape, *whole));
  ASSIGN_OR_RETURN(const PartText text, view.part().ReadText(value));
  return text.view().starts_with('{') ? whole : std::nullopt;
}

}  // namespace

Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json) {
  ASSIGN_OR_RETURN(const uint32_t shape, view.Shape(row));
  const ArgShape& slots = view.part().facts().shapes()[shape];
  ASSIGN_OR_RETURN(const std::optional<uint32_t> whole, WholeArgs(view, row, shape, slots));
  if (whole && which == ArgsOf::kArguments) return AppendValue(view, row, shape, *whole, ArgType::kJson, json);
  char before = '{';
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].of_event != (which == ArgsOf::kEvent) || slot == whole) continue;
    json += before;
    before = ',';
    ASSIGN_OR_RETURN(const PartText key, view.part().ReadText(slots[slot].key));
    AppendStrictText(key.view(), json);
    json += ':';
    RETURN_IF_ERROR(AppendValue(view, row, shape, slot, slots[slot].type, json));
  }
  if (before == ',') json += '}';
  return OkStatus();
}

}  // namespace kprof
