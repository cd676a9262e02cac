// The events of a Chrome trace as text: which counters stand in one event, and where the arguments of an event stand.
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

// Chooses the samples of counters that stand in one event: those of all series of a counter at one time. Some readers
// of Chrome traces take a counter's first event for all of its series.
class CounterEvents {
 public:
  // `places`: by the numbers of the tracks.
  explicit CounterEvents(std::span<const TrackPlace> places);

  // The rows of each event, for a segment of counters: counter by counter, each by time. Samples of one series at one
  // time are each in an event of its own, in their order. So are samples that their source wrote as texts: beside
  // numbers they would not be read as samples. Each row is in one event.
  std::vector<std::vector<size_t>> Of(SegmentRows& rows) const;

 private:
  std::vector<uint32_t> counters_;  // of each track
};

// The strings of a part: as quoted strings of JSON, as values of JSON, and as they are.
struct ChromeTexts {
  explicit ChromeTexts(PartReader& part);
  void Trim();

  PartTexts quoted;
  PartTexts raw;  // of values that are no strings
  PartTexts plain;
  EnvironmentArgs left_out;
};

// The places of the arguments of a shape in an event. Some shapes do not fit into one event, but into two (a begin and
// an end): those with keys that come twice, or with arguments behind members that stood beside the arguments.
struct ChromeShape {
  size_t in_first = 0;         // so many slots fit into one event
  bool needs_two = false;      // a slice of it reads back as itself from a begin and an end alone
  bool is_correlated = false;  // has the event's correlation as an import reads it: among its arguments, by that name
  // A correlation is added to the arguments for other readers, and the text of `said_correlation` behind them tells an
  // import about it.
  bool adds_correlation = false;
  std::string said_correlation;
  std::vector<bool> may_be_left_out;  // by slot
  std::vector<bool> is_disguised;     // by slot: its key is one of an event's own members
  std::vector<bool> is_thread;        // by slot: that is so for events on a thread only
  // By slot: in an event with an id, it is a part of that id (id2, the members that go with it, id with a scope).
  std::vector<bool> is_of_id;

  bool HasId(size_t from, size_t to) const {
    return std::find(is_of_id.begin() + static_cast<ptrdiff_t>(from), is_of_id.begin() + static_cast<ptrdiff_t>(to),
                     true) != is_of_id.begin() + static_cast<ptrdiff_t>(to);
  }
};
Result<ChromeShape> ChromeShapeOf(const ArgShape& shape, ChromeTexts& texts);

struct ChromeArgsOf {
  bool without_id = false;  // parts of an id are left out
  bool on_thread = true;
};

// Appends the slots `from` to `to`: ,"key":value for members beside the arguments, and ,"args":{...} for arguments.
// Also appends a correlation that no slot has, unless it is kNoValue.
Status AppendArgs(std::string& out, std::span<const SegmentRows::Arg> args, const ChromeShape& shape, size_t from,
                  size_t to, int64_t correlation, ChromeTexts& texts, const ChromeArgsOf& of = {});

// Appends a value as JSON.
Status AppendValue(std::string& out, const SegmentRows::Arg& arg, ChromeTexts& texts);

// Appends the arguments alone, or (`of_event`) the members beside them, as an object; nothing if there are none.
Status AppendArgsObject(std::string& out, std::span<const SegmentRows::Arg> args, bool of_event, ChromeTexts& texts);

}  // namespace kprof
