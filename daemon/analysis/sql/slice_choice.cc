#include "daemon/analysis/sql/slice_choice.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "daemon/analysis/operators/name_pattern.h"
#include "daemon/analysis/sql/column_conditions.h"
#include "daemon/analysis/sql/number_test.h"

namespace kprof {
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
