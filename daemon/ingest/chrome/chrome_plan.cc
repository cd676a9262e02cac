#include "daemon/ingest/chrome/chrome_plan.h"

#include <algorithm>
#include <array>

#include "daemon/ingest/text/json_text.h"
#include "daemon/ingest/text/private_names.h"

namespace kprof {
namespace {

constexpr std::string_view kCorrelation = "correlation";
constexpr auto kNotSeen = static_cast<ArgType>(0);  // of a slot that had no value yet

EventKind KindOf(char phase) {
  switch (phase) {
    case 'X':
      return EventKind::kSlice;
    case 'i':
    case 'I':
      return EventKind::kInstant;
    case 'C':
      return EventKind::kCounter;
    case 's':
    case 't':
    case 'f':
      return EventKind::kFlow;
    default:
      return EventKind::kMetadata;
  }
}

bool IsAsync(char phase) {
  return phase == 'b' || phase == 'e' || phase == 'n';
}

constexpr std::string_view kSaidCorrelation = "kprofCorrelation";
constexpr std::string_view kAdded = "kprofAdded";

// Metadata without a time that an export of ours made up says this alone.
void FindAdded(const std::vector<EventLayout::Slot>& slots, ChromePlan& plan) {
  constexpr std::array<std::string_view, 5> kParts = {"ph", "name", "cat", "pid", "tid"};
  bool is_marked = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    const EventLayout::Slot& slot = slots[i];
    const bool is_number = slot.kind == JsonKind::kNumber;
    const bool is_text = slot.kind == JsonKind::kString;
    if (slot.in_args && slot.key == "name" && is_text) {
      plan.told_name = static_cast<int>(i);
    } else if (slot.in_args && slot.key == "sort_index" && is_number) {
      plan.told_sort_index = static_cast<int>(i);
    } else if (!slot.in_args && slot.key == kAdded && is_number) {
      is_marked = true;
    } else if (slot.in_args || (!is_number && !is_text) ||
               std::find(kParts.begin(), kParts.end(), slot.key) == kParts.end()) {
      return;
    }
  }
  plan.is_added = is_marked;
}

bool IsId2(const EventLayout::Slot& slot) {
  return !slot.in_args && slot.kind == JsonKind::kNested && slot.key == "id2";
}

bool HoldsMore(const EventLayout::Slot& slot) {
  return slot.kind == JsonKind::kString || slot.kind == JsonKind::kNested;
}

// A variable's value, where it is a number or a word.
bool IsVariableSlot(const EventLayout::Slot& slot) {
  const std::string key = UnescapeJson(slot.key);
  return !HoldsMore(slot) && IsVariableName(VariableOf(key)) && !IsKeptEnvironment(VariableOf(key), "");
}

// Whether these are a process's variables: one of their keys tells so.
bool HoldsVariables(const std::vector<EventLayout::Slot>& slots) {
  return std::any_of(slots.begin(), slots.end(), [](const EventLayout::Slot& slot) {
    return slot.in_args && slot.kind == JsonKind::kString && TellsOfEnvironment(slot.key);
  });
}

}  // namespace

ChromePlan MakeChromePlan(const std::vector<EventLayout::Slot>& slots, std::string_view phase, int phase_slot,
                          ChromePlan::Odd odd, const SaidCorrelation& said, EventTexts& texts) {
  using Odd = ChromePlan::Odd;
  constexpr int kNone = ChromePlan::kNone;
  ChromePlan plan;
  plan.phase = phase;
  plan.phase_slot = phase_slot;
  const char letter = phase.size() == 1 ? phase[0] : '\0';
  plan.kind = odd == Odd::kTime || odd == Odd::kCounter ? EventKind::kMetadata : KindOf(letter);
  plan.is_async = plan.kind == EventKind::kMetadata && odd == Odd::kNothing && IsAsync(letter);
  plan.is_told = letter == 'M';
  if (plan.is_told) FindAdded(slots, plan);
  const bool is_said = plan.kind == EventKind::kSlice && said.added != kNone;
  plan.said = said;
  if (is_said && said.named == kNone) plan.text_correlation = said.added;
  const bool has_id = odd != Odd::kTime && (plan.kind == EventKind::kFlow || IsAsync(letter));
  if (has_id) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (IsId2(slots[i])) plan.id2 = static_cast<int>(i);
      if (!slots[i].in_args && slots[i].kind == JsonKind::kString && slots[i].key == "scope") {
        plan.scope = static_cast<int>(i);
      }
    }
  }
  // Nothing else tells what they were.
  const bool keeps_id = plan.id2 != kNone || (plan.scope != kNone && plan.kind == EventKind::kFlow);
  const bool keeps_pid = plan.id2 != kNone && IsAsync(letter);
  auto field_of = [&](const EventLayout::Slot& slot) -> int* {
    if (slot.in_args) return nullptr;
    if (slot.key == "name") return &plan.name;
    if (slot.key == "cat") return &plan.category;
    if (slot.key == "pid") return &plan.pid;
    if (odd == Odd::kTime) return slot.key == "tid" ? &plan.tid : nullptr;
    if (slot.key == "ts") return &plan.time;
    if (slot.key == "dur" && plan.kind == EventKind::kSlice && odd != Odd::kDuration) return &plan.duration;
    if (slot.key == "tid" && !IsAsync(letter)) return &plan.tid;
    if (slot.key == "id" && has_id) return &plan.id;
    return nullptr;
  };
  if (odd == Odd::kTime && phase_slot != kNone) {  // its letter comes first, where an export looks for it
    plan.args.push_back({phase_slot, JsonKind::kString, false});
    plan.slots.push_back({texts.Text("ph"), kNotSeen, true});
  }
  plan.keys.resize(slots.size());
  const bool holds_variables = HoldsVariables(slots);
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool is_phase = !slots[i].in_args && slots[i].key == "ph";
    if (is_phase && odd == Odd::kTime) continue;
    if (is_said && (static_cast<int>(i) == said.member || static_cast<int>(i) == said.added)) continue;
    if (IsVariableSlot(slots[i])) {
      plan.lacks_some = true;
      continue;
    }
    int* field = field_of(slots[i]);
    const bool is_field = field != nullptr && slots[i].kind != JsonKind::kNested && slots[i].kind != JsonKind::kWord;
    if (is_field) *field = static_cast<int>(i);
    const bool is_kept_field = is_field && ((keeps_id && field == &plan.id) || (keeps_pid && field == &plan.pid));
    if ((!is_field || is_kept_field) && (!is_phase || phase.size() != 1)) {
      const bool may_correlate =
          plan.kind == EventKind::kSlice && slots[i].in_args && slots[i].key == kCorrelation && !is_said;
      const bool is_correlation =
          (may_correlate && slots[i].kind == JsonKind::kNumber) || (is_said && static_cast<int>(i) == said.named);
      if (is_correlation) {  // of two of that name the last one counts
        for (ChromePlan::Arg& before : plan.args) before.is_correlation = false;
      }
      if (may_correlate && slots[i].kind == JsonKind::kString) plan.text_correlation = static_cast<int>(i);
      const std::string key = UnescapeJson(slots[i].key);
      const bool is_variable = holds_variables && slots[i].in_args && IsVariableName(key);
      const bool is_of_environment = HoldsMore(slots[i]) && (is_variable || HasEnvironmentWord(key));
      if (is_of_environment) plan.keys[i] = key;
      plan.may_lack_some |= is_of_environment;
      plan.args.push_back({static_cast<int>(i), slots[i].kind, is_correlation, is_of_environment, IsVariableName(key)});
      plan.slots.push_back({texts.Text(slots[i].key), kNotSeen, !slots[i].in_args});
      // Of a counter it is part of the name, and stands beside what else it says.
      if (plan.kind == EventKind::kCounter && !slots[i].in_args && slots[i].key == "id" &&
          slots[i].kind != JsonKind::kNested && slots[i].kind != JsonKind::kWord) {
        plan.id = static_cast<int>(i);
      }
    }
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    plan.has_whole_args |= !slots[i].in_args && slots[i].kind == JsonKind::kNested && slots[i].key == "args";
    if (!slots[i].in_args || !HoldsMore(slots[i])) continue;
    if (slots[i].key == "value" || slots[i].key == "values") plan.pair_value = static_cast<int>(i);
    if (slots[i].kind == JsonKind::kString && (slots[i].key == "name" || slots[i].key == "key"))
      plan.pair_name = static_cast<int>(i);
  }
  plan.may_lack_some |= plan.pair_name != kNone && plan.pair_value != kNone;
  plan.lasts.resize(slots.size());
  return plan;
}

int FindCorrelationMember(const std::vector<EventLayout::Slot>& slots) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].in_args && slots[i].kind == JsonKind::kString && slots[i].key == kSaidCorrelation) {
      return static_cast<int>(i);
    }
  }
  return ChromePlan::kNone;
}

SaidCorrelation FindSaidCorrelation(const std::vector<EventLayout::Slot>& slots, int member, std::string_view name) {
  const auto last_called = [&](std::string_view key, size_t end) {
    for (size_t i = end; i-- > 0;) {
      if (slots[i].in_args && slots[i].kind == JsonKind::kNumber && slots[i].key == key) return static_cast<int>(i);
    }
    return ChromePlan::kNone;
  };
  SaidCorrelation said{.member = member, .added = last_called(kCorrelation, slots.size())};
  if (said.added == ChromePlan::kNone) return {};
  if (name.empty()) return said;
  said.named = last_called(name, name == kCorrelation ? static_cast<size_t>(said.added) : slots.size());
  return said.named == ChromePlan::kNone ? SaidCorrelation() : said;
}

}  // namespace kprof
