// The arguments of an event as a JSON object, and the SQL function arg that reads one of them. The object is on one
// line without spaces, its keys in the order of their slots. Numbers have the digits of the source; bytes that are not
// UTF-8 are shown as the text \xNN. It is JSON whatever the source wrote (strict_json.h).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Registers arg(args, 'key'): the value of one argument, found in the text of the object without parsing the rest of
// it. Numbers come as numbers, text as text, true and false as 1 and 0, lists and objects as their JSON. NULL when
// there is none, or no JSON object. Returns SQLite's code.
int RegisterArgFunction(sqlite3* db);

// The JSON of the value of the first member of that name; empty when there is none. Takes any text, and looks at it
// once, from the front.
std::string_view FindJsonMember(std::string_view object, std::string_view key);

// The values of an event to show: its arguments, or the values beside them in the event itself.
enum class ArgsOf { kArguments, kEvent };

// Appends the object to `json`; appends nothing when there are no such values.
Status AppendArgsJson(SegmentView& view, uint32_t row, ArgsOf which, std::string& json);

// Finds values of arguments without making the text of their object: the place of a key is looked up once for each
// shape.
//
// One thread, that of the parts.
class ArgLookup {
 public:
  explicit ArgLookup(ArgsOf which) : which_(which) {}

  // Makes the value of the row's argument `key` the result: what arg() finds in the text of the object.
  Status ReadInto(SegmentView& view, uint32_t row, std::string_view key, sqlite3_context* out);

 private:
  static constexpr int32_t kNotAsked = -3;
  static constexpr int32_t kInText = -2;  // it must be looked for in the object's text
  static constexpr int32_t kNowhere = -1;
  struct Key {
    std::string key;
    std::vector<std::vector<int32_t>> slots;  // by part, by shape
  };

  Key& Find(std::string_view key);
  Result<int32_t> FindSlot(SegmentView& view, uint32_t shape, std::string_view key);
  Status ReadFromText(SegmentView& view, uint32_t row, std::string_view key, sqlite3_context* out);

  const ArgsOf which_;
  std::vector<Key> keys_;
  std::string text_;
};

// A row's arguments as a value for arg() alone; all others see NULL.
struct RowArgs {
  TraceSet* set = nullptr;  // is told of failures
  ArgLookup* lookup = nullptr;
  SegmentView* view = nullptr;
  uint32_t row = 0;
};
// REQUIRES: `args` lives, unchanged, until the value was used.
void ResultRowArgs(sqlite3_context* out, RowArgs& args);

}  // namespace kprof
