// One event of a Chrome trace as text.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/exports/part_texts.h"
#include "daemon/exports/segment_rows.h"
#include "daemon/exports/track_places.h"
#include "storage/base/status.h"

namespace kprof {

// Which samples of counters stand in one event: those of the series of a counter at a time. Some readers of Chrome
// traces take a counter's first event for all of its series.
//
// One thread.
class CounterEvents {
 public:
  // By the numbers of the tracks.
  explicit CounterEvents(std::span<const TrackPlace> places);

  // The rows of each event, of a segment of counters: counter by counter, each by time; samples of one series at one
  // time each in an event of its own, in their order, and so are those that their source wrote as texts: beside numbers
  // they would be none. Together all rows, each once.
  std::vector<std::vector<size_t>> Of(SegmentRows& rows) const;

 private:
  std::vector<uint32_t> counters_;  // of each track
};

// The strings of a part as JSON: as quoted strings, as values, as their bytes.
struct ChromeTexts {
  explicit ChromeTexts(PartReader& part);
  void Trim();

  PartTexts quoted;
  PartTexts raw;  // of values that are no strings
  PartTexts plain;
  EnvironmentArgs left_out;
};

// What of the arguments of a shape stands where. Two events (a begin and an end) hold what does not fit into one: keys
// that come twice, arguments behind what stood beside them.
struct ChromeShape {
  size_t in_first = 0;         // so many slots fit into one event
  bool needs_two = false;      // a slice of it reads back as itself from a begin and an end alone
  bool is_correlated = false;  // has the event's correlation as an import reads it: among its arguments, by that name
  // It says that to no import, which is told: what stands behind its arguments then.
  bool adds_correlation = false;
  std::string said_correlation;
  std::vector<bool> may_be_left_out;  // by slot
  std::vector<bool> is_disguised;     // by slot: its key is that of a part of an event
  std::vector<bool> is_thread;        // by slot: it is one for what is on a thread only
  // By slot: where it is of an event with an id, it is that id or of it (id2, what goes with it, id with a scope).
  std::vector<bool> is_of_id;

  bool HasId(size_t from, size_t to) const {
    return std::find(is_of_id.begin() + static_cast<ptrdiff_t>(from), is_of_id.begin() + static_cast<ptrdiff_t>(to),
                     true) != is_of_id.begin() + static_cast<ptrdiff_t>(to);
  }
};
Result<ChromeShape> ChromeShapeOf(const ArgShape& shape, ChromeTexts& texts);

struct ChromeArgsOf {
  bool without_id = false;  // what is of an id is left out
  bool on_thread = true;
};

// Appends ,"key":value for what stands beside, and ,"args":{...} for what does not, of slots `from` to `to`; and a
// correlation that no slot has, unless it is kNoValue.
Status AppendArgs(std::string& out, std::span<const SegmentRows::Arg> args, const ChromeShape& shape, size_t from,
                  size_t to, int64_t correlation, ChromeTexts& texts, const ChromeArgsOf& of = {});

// As JSON.
Status AppendValue(std::string& out, const SegmentRows::Arg& arg, ChromeTexts& texts);

// The arguments alone, or what stood beside them, as an object; nothing where there is none.
Status AppendArgsObject(std::string& out, std::span<const SegmentRows::Arg> args, bool of_event, ChromeTexts& texts);

}  // namespace kprof
