#include "daemon/analysis/sql/slice_words.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/analysis/operators/name_pattern.h"
#include "daemon/analysis/sql/slice_field.h"
#include "daemon/analysis/sql/trace_function.h"
#include "daemon/analysis/sql/without_annotations.h"

namespace kprof {
namespace {

constexpr size_t kLongestWords = 200;
constexpr int kTextsPerLook = 256;

using Accepts = std::function<bool(std::string_view)>;

struct Words {
  SliceField field = SliceField::kName;
  std::string value;
};

bool MayBeInKey(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

// A name may have an equals sign in it, as those of C++ do: before one stands a field, or what is no word alone.
Result<Words> Read(const char* function, const std::string& text) {
  Words words{SliceField::kName, text};
  const size_t sign = text.find('=');
  if (sign != std::string::npos) {
    const std::string key = text.substr(0, sign);
    const std::optional<SliceField> field = FieldOfKey(key);
    if (field) {
      words = {*field, text.substr(sign + 1)};
    } else if (!key.empty() && std::all_of(key.begin(), key.end(), MayBeInKey)) {
      return FailCall(function,
                      "\"" + text.substr(0, 50) + "\" says something of " + key + ", which slices do not have",
                      "write 'category=...', 'track_kind=...', 'track_name=...', 'device=...', 'stream=...', or "
                      "'name=" +
                          text.substr(0, 50) + "' if that is a name");
    }
  }
  switch (words.field) {
    case SliceField::kName:
    case SliceField::kCategory:
    case SliceField::kTrackKind:
    case SliceField::kTrackName:
    case SliceField::kDevice:
    case SliceField::kStream:
      break;
    default:
      return FailCall(function, "\"" + text + "\" tells no slices apart",
                      "write a name as 'nccl*', or 'category=...', 'track_kind=...', 'track_name=...', 'device=...', "
                      "'stream=...'");
  }
  if (words.value.empty() || words.value.size() > kLongestWords) {
    return FailCall(function, "\"" + text.substr(0, 50) + "\" has no value, or too long a one",
                    "write 1 to " + std::to_string(kLongestWords) + " bytes");
  }
  return words;
}

Accepts Both(Accepts first, std::string pattern, bool is_wanted, const StopSignal& stop) {
  return [first = std::move(first), pattern = std::move(pattern), is_wanted, stop, asked = 0,
          is_over = false](std::string_view text) mutable {
    if (++asked % kTextsPerLook == 0) is_over = is_over || stop.IsGiven();
    return !is_over && (!first || first(text)) && MatchesPattern(pattern, text) == is_wanted;
  };
}

Result<int64_t> Number(const char* function, const Words& words) {
  int64_t number = 0;
  const char* end = words.value.data() + words.value.size();
  const auto [at, error] = std::from_chars(words.value.data(), end, number);
  if (error == std::errc() && at == end) return number;
  return FailCall(function, "\"" + words.value + "\" is no " + WordsOf(words.field).key, "write a number");
}

}  // namespace

Result<EventFilter> WithWords(const char* function, const EventFilter& filter, const std::string& words,
                              const StopSignal& stop) {
  ASSIGN_OR_RETURN(const Words read, Read(function, words));
  EventFilter narrowed = read.field == SliceField::kCategory ? filter : WithoutAnnotations(filter);
  switch (read.field) {
    case SliceField::kName:
      narrowed.accepts_name = Both(narrowed.accepts_name, read.value, true, stop);
      break;
    case SliceField::kCategory:
      narrowed.accepts_category = Both(filter.accepts_category, read.value, true, stop);
      narrowed.categories_are_left_out = false;
      break;
    case SliceField::kTrackKind:
      narrowed.track_kinds = {read.value};
      break;
    case SliceField::kTrackName:
      narrowed.track_names = {read.value};
      break;
    case SliceField::kDevice: {
      ASSIGN_OR_RETURN(const int64_t device, Number(function, read));
      narrowed.devices = {device};
      break;
    }
    default: {
      ASSIGN_OR_RETURN(const int64_t stream, Number(function, read));
      narrowed.streams = {stream};
      break;
    }
  }
  return narrowed;
}

Result<EventFilter> WithoutWords(const char* function, const EventFilter& filter, const std::string& words,
                                 const StopSignal& stop) {
  ASSIGN_OR_RETURN(const Words read, Read(function, words));
  EventFilter narrowed = WithoutAnnotations(filter);
  if (read.field == SliceField::kName) {
    narrowed.accepts_name = Both(narrowed.accepts_name, read.value, false, stop);
  } else if (read.field == SliceField::kCategory) {
    narrowed.accepts_category = Both(narrowed.accepts_category, read.value, false, stop);
  } else {
    return FailCall(function, "what is not \"" + words + "\" has no name", "say what the other ones are");
  }
  return narrowed;
}

}  // namespace kprof
