#include "storage/trace_sql/args_json.h"

#include <algorithm>
#include <charconv>

#include "storage/base/readable_text.h"
#include "storage/trace/arg_decimal.h"

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

bool IsPlain(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c - 0x20) >= 0x5f || c == '"' || c == '\\') return false;
  }
  return true;
}

void AppendEscaped(std::string_view text, std::string& json) {
  constexpr const char* kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
      case '\\':
        json += '\\';
        json += c;
        break;
      case '\n':
        json += "\\n";
        break;
      case '\t':
        json += "\\t";
        break;
      case '\r':
        json += "\\r";
        break;
      default:
        if (byte >= 0x20) {
          json += c;
        } else {
          json += "\\u00";
          json += kHex[byte >> 4];
          json += kHex[byte & 15];
        }
    }
  }
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
  if (type == ArgType::kJson || (type == ArgType::kNumber && IsJsonNumber(text.view()))) {
    json += IsUtf8(text.view()) ? text.view() : ReadableText(text.view());
  } else {
    AppendJsonText(text.view(), json);
  }
  return OkStatus();
}

}  // namespace

bool IsJsonNumber(std::string_view text) {
  size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[at - whole] == '0')) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

void AppendJsonText(std::string_view text, std::string& json) {
  json += '"';
  if (IsPlain(text)) {
    json += text;
  } else if (IsUtf8(text)) {
    AppendEscaped(text, json);
  } else {
    AppendEscaped(ReadableText(text), json);
  }
  json += '"';
}

Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json) {
  ASSIGN_OR_RETURN(const uint32_t shape, view.Shape(row));
  const ArgShape& slots = view.part().facts().shapes()[shape];
  char before = '{';
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].of_event != (which == ArgsOf::kEvent)) continue;
    json += before;
    before = ',';
    ASSIGN_OR_RETURN(const PartText key, view.part().ReadText(slots[slot].key));
    AppendJsonText(key.view(), json);
    json += ':';
    RETURN_IF_ERROR(AppendValue(view, row, shape, slot, slots[slot].type, json));
  }
  if (before == ',') json += '}';
  return OkStatus();
}

}  // namespace kprof
