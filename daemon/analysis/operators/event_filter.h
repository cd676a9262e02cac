// The events that a question is about. An empty or absent field asks for nothing. An event must meet all fields that
// are given; of a list, one entry. part_filter.h finds the events.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// True for a name with wildcards: `*` is any run of characters, `?` is one, all else is itself. Case counts. A name
// without wildcards is found by its number and needs none of this. Pure; any thread.
bool HasWildcards(std::string_view pattern);
// `?` takes a whole character of UTF-8, or one byte of a text that is no UTF-8. The time is at most the product of both
// lengths. Pure; any thread.
bool MatchesPattern(std::string_view pattern, std::string_view name);

struct EventFilter {
  // Events that touch [from_ns, to_ns): slices that last within it, also if they began before; events without a
  // duration or a known end, if they begin within it.
  std::optional<int64_t> from_ns;
  std::optional<int64_t> to_ns;
  // Events that begin then, both times included.
  std::optional<int64_t> first_begin_ns;
  std::optional<int64_t> last_begin_ns;

  std::vector<int64_t> ranks;  // a part without a rank is of none of them

  std::vector<int64_t> tracks;           // by number, of any part
  std::vector<std::string> track_kinds;  // "gpu_stream"
  std::vector<std::string> track_names;  // may have wildcards
  std::vector<int64_t> devices;          // of tracks
  std::vector<int64_t> streams;

  std::vector<std::string> names;       // may have wildcards
  std::vector<std::string> categories;  // as they are
  // Further tests of names and categories; each different text is tried once in each part. Null: none.
  std::function<bool(std::string_view)> accepts_name;
  std::function<bool(std::string_view)> accepts_category;
  bool categories_are_left_out = false;  // accepts_category only leaves some categories out

  // These two choose events whose end is known.
  std::optional<int64_t> least_duration_ns;
  std::optional<int64_t> most_duration_ns;
  std::vector<int64_t> not_durations_ns;  // these are left out; events whose end is not known stay
  bool only_without_end = false;          // only events whose end is not known

  std::optional<int64_t> correlation;
};

}  // namespace kprof
