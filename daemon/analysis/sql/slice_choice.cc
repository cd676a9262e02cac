#include "daemon/analysis/sql/slice_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/sql/column_conditions.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {
namespace {

constexpr SliceFieldWords kFields[] = {
    {"run", "TEXT", "run"},
    {"part", "TEXT", "part"},
    {"rank", "INTEGER", "rank"},
    {"track_id", "INTEGER", "track"},
    {"track_kind", "TEXT", "track_kind"},
    {"track_name", "TEXT", "track_name"},
    {"device", "INTEGER", "device"},
    {"stream", "INTEGER", "stream"},
    {"process", "TEXT", "process"},
    {"name", "TEXT", "name"},
    {"category", "TEXT", "category"},
    {"ts_ns", "INTEGER", nullptr},
    {"dur_ns", "INTEGER", nullptr},
    {"from_ns", "INTEGER", nullptr},
    {"to_ns", "INTEGER", nullptr},
};

}  // namespace

std::span<const SliceFieldWords> SliceFields() {
  return kFields;
}

std::optional<SliceField> FieldOfKey(std::string_view key) {
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if (kFields[i].key != nullptr && (key == kFields[i].key || key == kFields[i].column)) {
      return static_cast<SliceField>(i);
    }
  }
  return std::nullopt;
}

namespace {

constexpr std::string_view kAnnotation = "gpu_user_annotation";

}  // namespace

EventFilter WithoutAnnotations(EventFilter filter) {
  const bool asks_for_some = filter.accepts_category && !filter.categories_are_left_out;
  if (!filter.categories.empty() || asks_for_some) return filter;
  filter.accepts_category = [others = std::move(filter.accepts_category)](std::string_view category) {
    return category != kAnnotation && (!others || others(category));
  };
  return filter;
}

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

namespace {

constexpr size_t kChoiceFields = static_cast<size_t>(SliceField::kToNs) + 1;

// The numbers that are left of those from 0 or a time on; nothing where there is no such bound.
std::optional<int64_t> Least(const IntegerFilter& filter) {
  const bool has = filter.is_active() && filter.min() > std::numeric_limits<int64_t>::min() + 1;
  return has ? std::optional(filter.min()) : std::nullopt;
}
std::optional<int64_t> Most(const IntegerFilter& filter) {
  const bool has = filter.is_active() && filter.max() < std::numeric_limits<int64_t>::max();
  return has ? std::optional(filter.max()) : std::nullopt;
}

}  // namespace

struct SliceChoice::Tests {
  std::array<NumberConditions, kChoiceFields> integers;
  std::array<TextConditions, kChoiceFields> texts;

  const NumberConditions& integer(SliceField field) const { return integers[static_cast<size_t>(field)]; }
  const TextConditions& text(SliceField field) const { return texts[static_cast<size_t>(field)]; }
  bool Accepts(SliceField field, const std::string& value) const {
    return !text(field).is_active() || text(field).Accepts(value);
  }
  bool Accepts(SliceField field, std::optional<int64_t> value) const { return integer(field).Accepts(value); }
  bool AskTracks() const {
    return integer(SliceField::kTrackId).is_active() || integer(SliceField::kDevice).is_active() ||
           integer(SliceField::kStream).is_active() || text(SliceField::kTrackKind).is_active() ||
           text(SliceField::kTrackName).is_active() || text(SliceField::kProcess).is_active();
  }
};

Result<SliceChoice> SliceChoice::Make(const char* function, TraceSet& set, std::span<const SliceCondition> conditions,
                                      const StopSignal& stop) {
  Tests tests;
  for (const SliceCondition& condition : conditions) {
    const SliceField field = condition.field;
    const char* column = WordsOf(field).column;
    if (IsText(field)) {
      RETURN_IF_ERROR(
          tests.texts[static_cast<size_t>(field)].Add(function, column, condition.test, condition.ignores_case));
      continue;
    }
    RETURN_IF_ERROR(tests.integers[static_cast<size_t>(field)].Add(function, column, condition.test));
  }
  SliceChoice choice;
  EventFilter& filter = choice.filter_;
  filter.from_ns = Least(tests.integer(SliceField::kFromNs).range());
  filter.to_ns = Most(tests.integer(SliceField::kToNs).range());
  filter.first_begin_ns = Least(tests.integer(SliceField::kTimeNs).range());
  filter.last_begin_ns = Most(tests.integer(SliceField::kTimeNs).range());
  const NumberConditions& durations = tests.integer(SliceField::kDurationNs);
  if (!durations.accepts_null()) {
    filter.least_duration_ns = std::max<int64_t>(durations.range().min(), 0);
    filter.most_duration_ns = durations.range().max();
  }
  filter.not_durations_ns = durations.left_out();
  filter.only_without_end = !durations.accepts_values();
  bool is_nothing = !tests.integer(SliceField::kTimeNs).accepts_values();
  for (const NumberConditions& test : tests.integers) is_nothing |= !test.accepts_null() && !test.accepts_values();
  // Names in a list are looked up; what else there is, is tried on all.
  const auto narrow = [&](SliceField field, std::vector<std::string>& listed,
                          std::function<bool(std::string_view)>& accepts) {
    const TextConditions& test = tests.text(field);
    if (!test.is_active()) return;
    if (test.listed() == nullptr) {
      accepts = TextConditions::Within(test, stop);
      return;
    }
    is_nothing |= test.listed()->empty();
    const bool are_plain = std::none_of(test.listed()->begin(), test.listed()->end(), HasWildcards);
    if (are_plain || field == SliceField::kCategory) {
      listed.assign(test.listed()->begin(), test.listed()->end());
    } else {
      accepts = TextConditions::Within(test, stop);
    }
  };
  narrow(SliceField::kName, filter.names, filter.accepts_name);
  // The empty category is none: NULL.
  const TextConditions& category = tests.text(SliceField::kCategory);
  if (category.is_active() && category.accepts_null()) {
    filter.accepts_category = TextConditions::Within(category, stop);
  } else {
    narrow(SliceField::kCategory, filter.categories, filter.accepts_category);
    std::erase(filter.categories, "");
    is_nothing |= category.listed() != nullptr && filter.categories.empty();
  }
  if (filter.accepts_category) {
    filter.categories_are_left_out = category.only_leaves_out();
    filter.accepts_category = [accepts = std::move(filter.accepts_category), with_none = category.accepts_null()](
                                  std::string_view text) { return text.empty() ? with_none : accepts(text); };
  }
  if (!is_nothing) choice.ChooseParts(set, tests);
  return choice;
}

void SliceChoice::ChooseParts(TraceSet& set, const Tests& tests) {
  for (const std::unique_ptr<OpenPart>& part : set.parts()) {
    if (!tests.Accepts(SliceField::kRun, part->place().run) || !tests.Accepts(SliceField::kPart, part->place().part) ||
        !tests.Accepts(SliceField::kRank, part->rank())) {
      continue;
    }
    ChooseTracks(*part, tests);
  }
}

void SliceChoice::ChooseTracks(OpenPart& part, const Tests& tests) {
  TracePart chosen{&part.reader(), part.rank(), nullptr};
  if (tests.AskTracks()) {
    auto mask = std::make_unique<std::vector<uint8_t>>();
    for (const TrackRow& track : part.facts().tracks()) {
      const bool has =
          tests.Accepts(SliceField::kTrackId, part.IdOf(track.id)) &&
          tests.Accepts(SliceField::kTrackKind, track.kind) && tests.Accepts(SliceField::kTrackName, track.name) &&
          tests.Accepts(SliceField::kDevice, track.device) && tests.Accepts(SliceField::kStream, track.stream) &&
          (track.process ? tests.Accepts(SliceField::kProcess, *track.process)
                         : tests.text(SliceField::kProcess).accepts_null());
      mask->push_back(has ? 1 : 0);
    }
    if (std::find(mask->begin(), mask->end(), 1) == mask->end()) return;
    chosen.tracks = mask.get();
    tracks_.push_back(std::move(mask));
  }
  all_.parts.push_back(chosen);
  all_.open.push_back(&part);
}

std::vector<ChosenParts> SliceChoice::ByRun() const {
  std::vector<ChosenParts> runs;
  for (size_t i = 0; i < all_.parts.size(); ++i) {
    const auto of_run = std::find_if(runs.begin(), runs.end(), [&](const ChosenParts& parts) {
      return parts.open.front()->place().run == all_.open[i]->place().run;
    });
    ChosenParts& to = of_run != runs.end() ? *of_run : runs.emplace_back();
    to.parts.push_back(all_.parts[i]);
    to.open.push_back(all_.open[i]);
  }
  return runs;
}

std::vector<ChosenParts> SliceChoice::ByPart() const {
  std::vector<ChosenParts> parts;
  for (size_t i = 0; i < all_.parts.size(); ++i) parts.push_back({{all_.parts[i]}, {all_.open[i]}});
  return parts;
}

}  // namespace kprof
