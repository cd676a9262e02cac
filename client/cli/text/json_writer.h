// Writes JSON as docs/cli.md promises it: on one line; points in time as decimal strings; integers beyond 2^53 as
// decimal strings; bytes that are not UTF-8 as the text \xNN; null instead of NaN and infinities. Knows no messages.
//
//   JsonWriter json(out);
//   json.BeginObject().Key("id").String(id).Key("queued_ns").Time(ns).EndObject();
//
// The caller keeps Begin and End paired and writes a Key before each value in an object; nothing checks it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof::cli {

class JsonWriter {
 public:
  // Appends to `out`, which must outlive the writer. The caller may empty `out` at any time.
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(std::string_view key);

  JsonWriter& String(std::string_view bytes);
  // Null when `bytes` is empty.
  JsonWriter& StringOrNull(std::string_view bytes);
  JsonWriter& Int(int64_t value);
  JsonWriter& Double(double value);
  JsonWriter& Bool(bool value);
  JsonWriter& Null();
  // A value that is JSON already, on one line.
  JsonWriter& Raw(std::string_view json);
  // Nanoseconds since the Unix epoch.
  JsonWriter& Time(int64_t unix_ns);

 private:
  void Separate();
  void Quote(std::string_view bytes);

  std::string& out_;
  std::vector<bool> has_items_ = {false};  // of each open object or array
  bool after_key_ = false;
};

// A result, or a piece of one, as an object on a line of its own: its schema ("kprof.status.v1"), then the members that
// `write_members` writes.
std::string JsonLine(std::string_view schema, const std::function<void(JsonWriter&)>& write_members);

}  // namespace kprof::cli
