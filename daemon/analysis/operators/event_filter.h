// Which events a question is about. What is empty or absent asks for nothing; all that is given must hold; of a list,
// one of it. part_filter.h finds them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

// A name with wildcards: `*` is any run of characters, `?` is one, all else is itself. Case counts. A name without
// wildcards is found by its number and needs none of this.
//
// Pure; any thread. The time is at most the product of both lengths.
bool HasWildcards(std::string_view pattern);
// `?` takes a whole character of UTF-8; of what is no UTF-8, a byte.
bool MatchesPattern(std::string_view pattern, std::string_view name);

struct EventFilter {
  // What touches [from_ns, to_ns): a slice that lasts within it, also when it began before; what has no duration, or an
  // end that is not known, where it begins.
  std::optional<int64_t> from_ns;
  std::optional<int64_t> to_ns;
  // What begins then, both included.
  std::optional<int64_t> first_begin_ns;
  std::optional<int64_t> last_begin_ns;

  std::vector<int64_t> ranks;  // a part without a rank is of none of them

  std::vector<int64_t> tracks;           // by number, of any part
  std::vector<std::string> track_kinds;  // "gpu_stream"
  std::vector<std::string> track_names;  // event_filter.h
  std::vector<int64_t> devices;          // of tracks
  std::vector<int64_t> streams;

  std::vector<std::string> names;       // event_filter.h
  std::vector<std::string> categories;  // as they are
  // What else is asked of them; each different text is tried once in each part. Null: nothing.
  std::function<bool(std::string_view)> accepts_name;
  std::function<bool(std::string_view)> accepts_category;
  bool categories_are_left_out = false;  // accepts_category says which ones are not asked for, and no more

  // Of those whose end is known.
  std::optional<int64_t> least_duration_ns;
  std::optional<int64_t> most_duration_ns;
  std::vector<int64_t> not_durations_ns;  // that are not asked for; those whose end is not known are
  bool only_without_end = false;          // those whose end is not known

  std::optional<int64_t> correlation;
};

}  // namespace kprof
