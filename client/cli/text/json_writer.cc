#include "client/cli/text/json_writer.h"

#include <cmath>

#include "client/cli/text/amounts_and_times.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

}  // namespace

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
}

void JsonWriter::Quote(std::string_view bytes) {
  out_ += '"';
  while (!bytes.empty()) {
    Utf8Step step = NextUtf8(bytes);
    uint8_t first = static_cast<uint8_t>(bytes[0]);
    if (!step.valid) {
      out_ += '\\' + HexEscape(first);
    } else if (first == '"' || first == '\\') {
      out_ += {'\\', static_cast<char>(first)};
    } else if (first == '\n') {
      out_ += "\\n";
    } else if (first == '\t') {
      out_ += "\\t";
    } else if (first == '\r') {
      out_ += "\\r";
    } else if (first < 0x20 || first == 0x7f) {
      out_ += "\\u00" + HexEscape(first).substr(2);
    } else if (IsUnsafeOnTerminal(step.code_point)) {
      // The same text to a reader of JSON; a terminal does not obey it.
      constexpr char kDigits[] = "0123456789abcdef";
      out_ += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) out_ += kDigits[step.code_point >> shift & 0xf];
    } else {
      out_ += bytes.substr(0, step.size_bytes);
    }
    bytes.remove_prefix(step.size_bytes);
  }
  out_ += '"';
}

JsonWriter& JsonWriter::BeginObject() {
  Separate();
  out_ += '{';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  out_ += '}';
  has_items_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  Separate();
  out_ += '[';
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  out_ += ']';
  has_items_.pop_back();
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  Quote(key);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view bytes) {
  Separate();
  Quote(bytes);
  return *this;
}

JsonWriter& JsonWriter::StringOrNull(std::string_view bytes) {
  return bytes.empty() ? Null() : String(bytes);
}

JsonWriter& JsonWriter::Int(int64_t value) {
  if (value > kExactInDouble || value < -kExactInDouble) return Time(value);
  Separate();
  out_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  if (!std::isfinite(value)) return Null();
  Separate();
  out_ += NumberText(value);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  Separate();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  Separate();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Separate();
  out_ += json;
  return *this;
}

JsonWriter& JsonWriter::Time(int64_t unix_ns) {
  Separate();
  out_ += '"' + std::to_string(unix_ns) + '"';
  return *this;
}

std::string JsonLine(std::string_view schema, const std::function<void(JsonWriter&)>& write_members) {
  std::string line;
  JsonWriter json(line);
  json.BeginObject().Key("schema").String(schema);
  write_members(json);
  json.EndObject();
  return line + "\n";
}

}  // namespace kprof::cli
