#include "storage/trace_sql/tables/args_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "storage/trace/format/event_args.h"
#include "storage/trace_sql/tables/strict_json.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

void AppendUtf8(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    text += static_cast<char>(0x80 | (code & 0x3f));
  }
}

std::optional<uint32_t> FourHex(std::string_view text) {
  if (text.size() < 4) return std::nullopt;
  uint32_t code = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (parsed.ptr != text.data() + 4) return std::nullopt;
  return code;
}

// The text between the quotes of a JSON string, unescaped.
std::string Unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (text[0] != '\\' || text.size() < 2) {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    const char c = text[1];
    text.remove_prefix(2);
    constexpr std::string_view kLetters = "bfnrt";
    if (const size_t letter = kLetters.find(c); letter != kNowhere) {
      plain += "\b\f\n\r\t"[letter];
      continue;
    }
    if (c != 'u') {
      plain += c;
      continue;
    }
    std::optional<uint32_t> code = FourHex(text);
    if (!code) {
      plain += "\\u";
      continue;
    }
    text.remove_prefix(4);
    if (*code >= 0xd800 && *code < 0xdc00 && text.starts_with("\\u")) {
      const std::optional<uint32_t> low = FourHex(text.substr(2));
      if (low && *low >= 0xdc00 && *low < 0xe000) {
        code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
        text.remove_prefix(6);
      }
    }
    AppendUtf8(*code, plain);
  }
  return plain;
}

// Behind the string that begins at `at` with its quote.
size_t EndOfText(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '\\') {
      ++at;
    } else if (json[at] == '"') {
      return at + 1;
    }
  }
  return kNowhere;
}

size_t EndOfValue(std::string_view json, size_t at) {
  size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = EndOfText(json, at);
      if (at == kNowhere) return kNowhere;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return kNowhere;
}

size_t SkipSpace(std::string_view json, size_t at) {
  while (at < json.size() && (json[at] == ' ' || json[at] == '\n' || json[at] == '\t' || json[at] == '\r')) ++at;
  return at;
}

void ResultOfNumber(sqlite3_context* context, std::string_view number) {
  if (number.find_first_of(".eE") == kNowhere) {
    int64_t integer = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), integer);
    if (parsed.ec == std::errc() && parsed.ptr == number.data() + number.size()) {
      return sqlite3_result_int64(context, integer);
    }
  }
  double real = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), real);
  if (parsed.ec == std::errc()) return sqlite3_result_double(context, real);
  sqlite3_result_text64(context, number.data(), number.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void ResultOfValue(sqlite3_context* context, std::string_view value) {
  if (value == "null") return sqlite3_result_null(context);
  if (value == "true" || value == "false") return sqlite3_result_int(context, value == "true" ? 1 : 0);
  if (value[0] == '"' && value.size() >= 2) {
    const std::string_view inside = value.substr(1, value.size() - 2);
    if (inside.find('\\') == kNowhere) {
      return sqlite3_result_text64(context, inside.data(), inside.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    const std::string plain = Unescaped(inside);
    return sqlite3_result_text64(context, plain.data(), plain.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  if (value[0] == '-' || (value[0] >= '0' && value[0] <= '9')) return ResultOfNumber(context, value);
  sqlite3_result_text64(context, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

std::string_view ArgTextOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}

constexpr const char* kRowArgsPointer = "kprof_row_args";

void ArgOfRow(sqlite3_context* context, const RowArgs& args, sqlite3_value* key) {
  if (sqlite3_value_type(key) != SQLITE_TEXT) return;
  const Status status = args.lookup->ReadInto(*args.view, args.row, ArgTextOf(key), context);
  if (status.ok()) return;
  args.set->Keep(status);
  sqlite3_result_error(context, status.ToString().c_str(), -1);
  if (status.code() == ErrorCode::kCancelled) sqlite3_result_error_code(context, SQLITE_INTERRUPT);
}

void Arg(sqlite3_context* context, int, sqlite3_value** args) noexcept {
  if (const void* row = sqlite3_value_pointer(args[0], kRowArgsPointer)) {
    return ArgOfRow(context, *static_cast<const RowArgs*>(row), args[1]);
  }
  if (sqlite3_value_type(args[0]) != SQLITE_TEXT || sqlite3_value_type(args[1]) != SQLITE_TEXT) return;
  const std::string_view value = FindJsonMember(ArgTextOf(args[0]), ArgTextOf(args[1]));
  if (!value.empty()) ResultOfValue(context, value);
}

}  // namespace

std::string_view FindJsonMember(std::string_view object, std::string_view key) {
  size_t at = SkipSpace(object, 0);
  if (at >= object.size() || object[at] != '{') return {};
  ++at;
  while (true) {
    at = SkipSpace(object, at);
    if (at >= object.size() || object[at] != '"') return {};
    const size_t key_end = EndOfText(object, at);
    if (key_end == kNowhere) return {};
    const std::string_view name = object.substr(at + 1, key_end - at - 2);
    at = SkipSpace(object, key_end);
    if (at >= object.size() || object[at] != ':') return {};
    at = SkipSpace(object, at + 1);
    const size_t end = EndOfValue(object, at);
    if (end == kNowhere || end == at) return {};
    const bool found = name.find('\\') == kNowhere ? name == key : Unescaped(name) == key;
    if (found) {
      size_t last = end;
      while (last > at && (object[last - 1] == ' ' || object[last - 1] == '\n' || object[last - 1] == '\t' ||
                           object[last - 1] == '\r')) {
        --last;
      }
      return object.substr(at, last - at);
    }
    if (object[end] != ',') return {};
    at = end + 1;
  }
}

int RegisterArgFunction(sqlite3* db) {
  return sqlite3_create_function(db, "arg", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr, Arg,
                                 nullptr, nullptr);
}

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

namespace {

// True for text that is the same between the quotes of JSON.
bool IsSameInJson(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

ArgLookup::Key& ArgLookup::Find(std::string_view key) {
  for (Key& known : keys_) {
    if (known.key == key) return known;
  }
  constexpr size_t kMostKeys = 64;
  if (keys_.size() == kMostKeys) keys_.clear();
  keys_.push_back({std::string(key), {}});
  return keys_.back();
}

Result<int32_t> ArgLookup::FindSlot(SegmentView& view, uint32_t shape, std::string_view key) {
  const ArgShape& slots = view.part().facts().shapes()[shape];
  bool all_beside = true;
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    all_beside = all_beside && slots[slot].of_event;
    if (all_beside && slots[slot].type == ArgType::kJson) return kInText;  // may have all arguments: WholeArgs
  }
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].of_event != (which_ == ArgsOf::kEvent)) continue;
    ASSIGN_OR_RETURN(const PartText name, view.part().ReadText(slots[slot].key));
    std::string json;
    AppendStrictText(name.view(), json);
    const std::string_view inside = std::string_view(json).substr(1, json.size() - 2);
    if (inside.find('\\') == std::string_view::npos ? inside != key : Unescaped(inside) != key) continue;
    return slots[slot].type == ArgType::kJson ? kInText : static_cast<int32_t>(slot);
  }
  return kNowhere;
}

Status ArgLookup::ReadFromText(SegmentView& view, uint32_t row, std::string_view key, sqlite3_context* out) {
  text_.clear();
  RETURN_IF_ERROR(AppendArgsJson(view, row, which_, text_));
  const std::string_view value = FindJsonMember(text_, key);
  if (!value.empty()) ResultOfValue(out, value);
  return OkStatus();
}

Status ArgLookup::ReadInto(SegmentView& view, uint32_t row, std::string_view key, sqlite3_context* out) {
  Key& known = Find(key);
  const auto part = static_cast<size_t>(view.part().number());
  if (part >= known.slots.size()) known.slots.resize(part + 1);
  std::vector<int32_t>& by_shape = known.slots[part];
  if (by_shape.empty()) by_shape.assign(view.part().facts().shapes().size(), kNotAsked);
  ASSIGN_OR_RETURN(const uint32_t shape, view.Shape(row));
  int32_t& slot = by_shape[shape];
  if (slot == kNotAsked) {
    ASSIGN_OR_RETURN(slot, FindSlot(view, shape, key));
  }
  if (slot == kNowhere) return OkStatus();
  if (slot == kInText) return ReadFromText(view, row, key, out);
  const auto at = static_cast<uint32_t>(slot);
  const ArgType type = view.part().facts().shapes()[shape][at].type;
  if (type == ArgType::kInteger) {
    ASSIGN_OR_RETURN(const int64_t value, view.Arg(row, shape, at));
    sqlite3_result_int64(out, value);
    return OkStatus();
  }
  if (type == ArgType::kString) {
    ASSIGN_OR_RETURN(const int64_t number, view.Arg(row, shape, at));
    ASSIGN_OR_RETURN(const PartText text, view.part().ReadText(number));
    if (IsSameInJson(text.view())) {
      ResultText(out, text);
      return OkStatus();
    }
  }
  text_.clear();
  RETURN_IF_ERROR(AppendValue(view, row, shape, at, type, text_));
  ResultOfValue(out, text_);
  return OkStatus();
}

void ResultRowArgs(sqlite3_context* out, RowArgs& args) {
  sqlite3_result_pointer(out, &args, kRowArgsPointer, nullptr);
}

}  // namespace kprof
