#include "daemon/ingest/chrome/chrome_events.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/ingest/chrome/chrome_batch.h"
#include "daemon/ingest/chrome/chrome_plan.h"
#include "daemon/ingest/text/environment_text.h"
#include "daemon/ingest/text/json_scan.h"
#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

// The id of a flow, or of something that begins and ends in events of their own, by the numbers of its texts. It may
// hold for one process or for all, and may have a scope (docs/trace_format.md).
struct EventId {
  uint32_t pid = 0;  // none where the id holds for all processes
  uint32_t scope = 0;
  uint32_t id = 0;
  std::string_view text;
  bool is_local = false;  // said to hold for its process alone
};

// Of an event with that plan and those values, of that process.
EventId EventIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts);
// As a column has it (flow_rules.h). Arrows cross processes: their ids are those of the whole trace, but where they say
// that they are not.
int64_t FlowIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts);

EventId EventIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts) {
  EventId of{.pid = pid};
  if (plan.id != ChromePlan::kNone) {
    of.text = values[plan.id].text();
    of.id = texts.Text(of.text, plan.lasts[plan.id]);
  }
  if (plan.scope != ChromePlan::kNone) of.scope = texts.Text(values[plan.scope].text());
  if (plan.id2 == ChromePlan::kNone) return of;
  const std::string_view id2 = values[plan.id2].text();
  ForEachMember(id2.data(), id2.data() + id2.size(), [&](std::string_view key, std::string_view value) {
    const bool is_global = key == "global";
    if ((!is_global && key != "local") || value.empty() || (value[0] != '"' && !BeginsNumber(value[0]))) return true;
    of.text = value[0] == '"' ? value.substr(1, value.size() - 2) : value;
    of.id = texts.Text(of.text);
    of.pid = is_global ? 0 : pid;
    of.is_local = !is_global;
    return false;
  });
  return of;
}

int64_t FlowIdOf(ChromePlan& plan, const JsonSpan* values, uint32_t pid, EventTexts& texts) {
  if (plan.scope == ChromePlan::kNone && plan.id2 == ChromePlan::kNone) {
    if (plan.id == ChromePlan::kNone) return 0;
    const std::string_view text = values[plan.id].text();
    const std::optional<int64_t> numbered = NumberedFlowId(text);
    return numbered ? *numbered : int64_t{texts.Text(text, plan.lasts[plan.id])};
  }
  const EventId id = EventIdOf(plan, values, pid, texts);
  if (id.scope == 0 && !id.is_local) return NumberedFlowId(id.text).value_or(id.id);
  std::string text;
  if (id.scope != 0) text += std::string(values[plan.scope].text()) + ' ';
  if (id.is_local && plan.pid != ChromePlan::kNone) text += std::string(values[plan.pid].text()) + ' ';
  return texts.Text(text += id.text);
}

}  // namespace

void CounterRows::Add(int64_t time_ns, uint32_t track, const CounterSample& sample, std::string_view text) {
  EventRows& rows = batch_.of(EventKind::kCounter);
  rows.of(EventColumn::kTime).push_back(time_ns);
  rows.of(EventColumn::kTrack).push_back(track);
  rows.of(EventColumn::kValue).push_back(std::bit_cast<int64_t>(sample.value));
  rows.of(EventColumn::kShape).push_back(kNoArgs);
  if (sample.written) AddText(sample, text, rows);
}

// Of the last sample.
void CounterRows::AddText(const CounterSample& sample, std::string_view text, EventRows& rows) {
  int64_t column = sample.column;
  if (IsStringNumber(*sample.written)) {
    const uint32_t strings = texts_.size();
    if (text.size() > text_bytes_) {
      ++rounded_;
      return;
    }
    column = texts_.Text(text);
    if (column >= strings) text_bytes_ -= text.size();
  }
  uint32_t& shape = shapes_[static_cast<size_t>(*sample.written)];
  if (shape == kNoArgs) shape = batch_.Shape({{texts_.Text(kSampleKey), *sample.written, false}});
  rows.of(EventColumn::kShape).back() = shape;
  if (rows.args.size() <= shape) rows.args.resize(shape + 1);
  rows.args[shape].resize(1);
  rows.args[shape][0].push_back(column);
}

namespace {

constexpr int64_t kMostSourceNs = kMostTimeNs / 2;  // so that what is counted from another one is a time
constexpr int kNone = ChromePlan::kNone;
// What Kineto calls a launch, or another range, over which CUPTI's profiler counted.
constexpr std::string_view kCountedRange = "cuda_profiler_range";
constexpr auto kLeftOut = static_cast<ArgType>(0);  // the type of a slot whose value is not kept

std::optional<int64_t> TimeOf(const JsonSpan& value) {
  const std::optional<int64_t> nanos = ParseMicros(value.text());
  return nanos && *nanos > -kMostSourceNs && *nanos < kMostSourceNs ? nanos : std::nullopt;
}

// A number of a process or thread: 7.0 is 7, as tools that make tables of traces write it.
std::string_view PlaceText(const JsonSpan& value) {
  const std::string_view text = value.text();
  if (!text.ends_with(".0")) return text;
  const std::string_view whole = text.substr(0, text.size() - 2);
  return !whole.empty() && whole.find_first_not_of("0123456789", whole[0] == '-' ? 1 : 0) == whole.npos ? whole : text;
}

}  // namespace

struct ChromeEvents::Layout {
  int phase = kNone;        // its slot
  int correlation = kNone;  // that of what says which of its arguments that is
  std::string said_name;    // the last one there, and what it says
  SaidCorrelation said;
  std::vector<ChromePlan> plans;
};

// Layouts, and what becomes of each.
struct ChromeEvents::Known {
  explicit Known(EventLayouts::Arguments arguments) : layouts(arguments) {}

  EventLayouts layouts;
  size_t generation = 0;
  std::vector<Layout> of_layouts;  // by number
};

ChromeEvents::ChromeEvents(uint32_t source, size_t sample_text_bytes)
    : known_(std::make_unique<Known>(EventLayouts::Arguments::kEach)),
      whole_(std::make_unique<Known>(EventLayouts::Arguments::kWhole)),
      batch_(source),
      counters_(texts_, batch_, sample_text_bytes) {}

ChromeEvents::~ChromeEvents() = default;

ChromeEvents::Stop ChromeEvents::Add(const char* at, const char* limit, const char* end) {
  while (true) {
    while (at < end && (*at == ',' || *at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    if (at >= limit) return {Stopped::kAtLimit, at};
    if (*at == ']') return {Stopped::kAtBracket, at};
    Known* known = known_.get();
    std::optional<EventLayouts::Event> event = known->layouts.Take(at, end);
    if (!event && known->layouts.has_too_many()) {
      known = whole_.get();
      event = known->layouts.Take(at, end);
      if (!event && known->layouts.has_too_many()) return {Stopped::kAtTooMany, at};
    }
    if (!event) return {known->layouts.is_cut() ? Stopped::kAtCut : Stopped::kAtNoEvent, at};
    AddEvent(*known, *event);
    lacks_some_ |= texts_.TakeLacksSome();
    with_left_out_ += lacks_some_ ? 1 : 0;
    at = event->end;
  }
}

// The slots stay what they are for one name; the values are looked at each time.
SaidCorrelation ChromeEvents::SaidOf(Layout& layout, const EventLayouts::Event& event) {
  const std::string_view name = event.values[layout.correlation].text();
  if (layout.said == SaidCorrelation() || layout.said_name != name) {
    layout.said_name = name;
    layout.said = FindSaidCorrelation(event.layout->slots, layout.correlation, name);
  }
  if (layout.said.added == kNone) return {};
  const std::string_view added = event.values[layout.said.added].text();
  const std::optional<JsonNumber> number = ParseJsonNumber(added);
  const bool is_one = layout.said.named == kNone || event.values[layout.said.named].text() == added;
  return number && number->is_integer && is_one ? layout.said : SaidCorrelation();
}

ChromePlan& ChromeEvents::PlanOf(Known& known, const EventLayouts::Event& event) {
  if (known.generation != known.layouts.generation()) {
    known.of_layouts.clear();
    known.generation = known.layouts.generation();
  }
  const std::vector<EventLayout::Slot>& slots = event.layout->slots;
  while (known.of_layouts.size() <= event.layout->number) known.of_layouts.emplace_back();
  Layout& layout = known.of_layouts[event.layout->number];
  if (layout.plans.empty()) {
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].in_args && slots[i].key == "ph") layout.phase = static_cast<int>(i);
    }
    layout.correlation = FindCorrelationMember(slots);
  }
  const std::string_view phase = layout.phase == kNone ? std::string_view() : event.values[layout.phase].text();
  const bool may_say = layout.correlation != kNone && phase == "X";
  const SaidCorrelation said = may_say ? SaidOf(layout, event) : SaidCorrelation();
  for (ChromePlan& plan : layout.plans) {
    if (plan.phase == phase && (!may_say || plan.said == said)) return plan;
  }
  layout.plans.push_back(MakeChromePlan(slots, phase, layout.phase, Odd::kNothing, said, texts_));
  return layout.plans.back();
}

// The plan beside this one for events that are odd in that way.
ChromePlan& ChromeEvents::OddPlanOf(ChromePlan& plan, const EventLayouts::Event& event, Odd odd) {
  if (plan.odd_plan == nullptr || plan.odd != odd) {
    plan.odd_plan = std::make_unique<ChromePlan>(
        MakeChromePlan(event.layout->slots, plan.phase, plan.phase_slot, odd, plan.said, texts_));
    plan.odd = odd;
  }
  return *plan.odd_plan;
}

void ChromeEvents::AddEvent(Known& known, const EventLayouts::Event& event) {
  ++events_;
  ChromePlan& plan = PlanOf(known, event);
  lacks_some_ = plan.lacks_some;
  static_cast<void>(texts_.TakeLacksSome());  // of keys
  const std::optional<int64_t> said_ns = plan.time == kNone ? std::nullopt : TimeOf(event.values[plan.time]);
  const int64_t time_ns = said_ns.value_or(0);
  if (first_time_ns_ == 0) first_time_ns_ = time_ns;
  const char letter = plan.phase.size() == 1 ? plan.phase[0] : '\0';
  if (!said_ns) {
    if (letter != 'M') {  // which alone may have none
      ++untimed_;
      return AddRow(OddPlanOf(plan, event, Odd::kTime), event.values, 0, kNoValue, 'M');
    }
    if (plan.is_added) return AddTold(plan, event.values);
  }
  if (plan.kind == EventKind::kCounter) return AddCounters(plan, event, time_ns);
  int64_t duration_ns = kNoValue;
  if (plan.duration != kNone) {
    duration_ns = TimeOf(event.values[plan.duration]).value_or(-1);
    if (duration_ns < 0) {
      return AddRow(OddPlanOf(plan, event, Odd::kDuration), event.values, time_ns, kNoValue, letter);
    }
  }
  AddRow(plan, event.values, time_ns, duration_ns, letter);
}

void ChromeEvents::AddRow(ChromePlan& plan, const JsonSpan* values, int64_t time_ns, int64_t duration_ns, char letter) {
  auto text = [&](int slot) { return slot == kNone ? 0 : texts_.Text(values[slot].text(), plan.lasts[slot]); };
  auto place = [&](int slot) { return slot == kNone ? 0 : texts_.Text(PlaceText(values[slot]), plan.lasts[slot]); };
  EventRows& rows = batch_.of(plan.kind);
  const uint32_t pid = place(plan.pid);
  const uint32_t category = text(plan.category);
  rows.of(EventColumn::kTime).push_back(time_ns);
  rows.of(EventColumn::kName).push_back(text(plan.name));
  rows.of(EventColumn::kCategory).push_back(category);
  if (plan.is_async) {
    const EventId of = EventIdOf(plan, values, pid, texts_);
    rows.of(EventColumn::kTrack).push_back(batch_.Track({TrackKey::Family::kAsync, of.pid, of.scope, category, of.id}));
  } else {
    const uint32_t tid = place(plan.tid);
    if (!plan.has_track || plan.pid_text != pid || plan.tid_text != tid) {
      plan.track = batch_.Thread(pid, tid);
      plan.pid_text = pid;
      plan.tid_text = tid;
      plan.has_track = true;
    }
    rows.of(EventColumn::kTrack).push_back(plan.track);
  }
  if (plan.kind == EventKind::kSlice) {
    rows.of(EventColumn::kDuration).push_back(duration_ns);
    rows.of(EventColumn::kCorrelation).push_back(kNoValue);
    if (plan.text_correlation != kNone) AddTextCorrelation(plan, values, rows);
  }
  if (plan.kind == EventKind::kFlow) {
    rows.of(EventColumn::kFlowId).push_back(FlowIdOf(plan, values, pid, texts_));
  }
  if (plan.kind == EventKind::kFlow || plan.kind == EventKind::kMetadata)
    rows.of(EventColumn::kPhase).push_back(letter);
  AddArgs(plan, values, rows, plan.name == kNone ? EnvironmentEvent::kNone : plan.lasts[plan.name].event);
  const bool is_counted = plan.kind == EventKind::kSlice && plan.category != kNone && letter == 'X' &&
                          values[plan.category].text() == kCountedRange;
  if (is_counted) AddLaunchMetrics(plan, values);
}

// Its arguments stay arguments: the slice is as it was. Launches are counted from 0 here; who puts the pieces together
// counts on.
void ChromeEvents::AddLaunchMetrics(const ChromePlan& plan, const JsonSpan* values) {
  const int64_t launch = counted_launches_++;
  if (plan.has_whole_args) return;
  const int64_t kernel = batch_.of(EventKind::kSlice).of(EventColumn::kName).back();
  for (size_t i = 0; i < plan.args.size(); ++i) {
    const ArgSlot& slot = plan.slots[i];
    const bool is_number =
        slot.type == ArgType::kInteger || slot.type == ArgType::kDecimal || slot.type == ArgType::kNumber;
    if (slot.of_event || !is_number || plan.args[i].kind != JsonKind::kNumber) continue;
    const std::string_view text = values[plan.args[i].slot].text();
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) continue;
    const int64_t row[] = {kernel, launch, int64_t{slot.key}, std::bit_cast<int64_t>(value), 0};
    batch_.of(MetricSideTable()).Add(row);
  }
}

// It makes no track, as it is of none that has no events.
void ChromeEvents::AddTold(ChromePlan& plan, const JsonSpan* values) {
  auto text = [&](int slot) { return slot == kNone ? 0 : texts_.Text(values[slot].text(), plan.lasts[slot]); };
  auto place = [&](int slot) { return slot == kNone ? 0 : texts_.Text(PlaceText(values[slot]), plan.lasts[slot]); };
  ToldName told{{TrackKey::Family::kThread, place(plan.pid), place(plan.tid), 0, 0}, text(plan.name)};
  told.name = text(plan.told_name);
  if (plan.told_sort_index != kNone) {
    const std::optional<JsonNumber> number = ParseJsonNumber(values[plan.told_sort_index].text());
    if (number && number->is_integer) told.sort_index = number->digits;
  }
  batch_.AddTold(told);
}

// What of an argument is left without an environment; of kSome the number of the string that it is.
ChromeEvents::Left ChromeEvents::LeftOf(ChromePlan& plan, size_t arg, const JsonSpan* values, EnvironmentEvent of,
                                        int64_t& number) {
  const ChromePlan::Arg& each = plan.args[arg];
  const std::string_view text = values[each.slot].text();
  const bool is_nested = each.kind == JsonKind::kNested;
  const bool holds_more = is_nested || each.kind == JsonKind::kString;
  if (each.is_of_environment) {
    const std::optional<uint32_t> kept = texts_.OfEnvironment(plan.keys[each.slot], is_nested, text);
    number = kept.value_or(0);
    return kept ? Left::kSome : Left::kNone;
  }
  if (each.slot == plan.pair_value && plan.pair_name != kNone) {
    EventTexts::Last& name = plan.lasts[plan.pair_name];
    static_cast<void>(texts_.Text(values[plan.pair_name].text(), name));
    if (name.event != EnvironmentEvent::kNone && HoldsSettings(text)) return Left::kNone;
  }
  if (of == EnvironmentEvent::kNone) return Left::kAll;
  if (plan.is_told && of >= EnvironmentEvent::kLast) return Left::kNone;
  if (plan.slots[arg].of_event && !(is_nested && plan.has_whole_args)) return Left::kAll;
  const bool is_whole = of == EnvironmentEvent::kWhole;
  if (!holds_more) return is_whole && each.is_variable ? Left::kNone : Left::kAll;
  const bool is_list = is_nested && text.starts_with('[');
  const bool goes = is_nested ? (is_whole || !is_list) && HoldsSettings(text)
                              : !text.empty() && (is_whole || each.is_variable || HoldsSettings(text));
  return goes ? Left::kNone : Left::kAll;
}

void ChromeEvents::AddArgs(ChromePlan& plan, const JsonSpan* values, EventRows& rows, EnvironmentEvent of) {
  bool same_types = true;
  const bool may_lack_some = plan.may_lack_some || of != EnvironmentEvent::kNone;
  std::array<int64_t, EventLayouts::kMostSlots> numbers;
  for (size_t i = 0; i < plan.args.size(); ++i) {
    const ChromePlan::Arg& arg = plan.args[i];
    const std::string_view text = values[arg.slot].text();
    ArgType type = ArgType::kString;
    if (may_lack_some) {
      const Left left = LeftOf(plan, i, values, of, numbers[i]);
      if (left != Left::kAll) {
        lacks_some_ |= left == Left::kNone;
        type = left == Left::kNone ? kLeftOut : arg.kind == JsonKind::kNested ? ArgType::kJson : ArgType::kString;
        same_types &= type == plan.slots[i].type;
        plan.slots[i].type = type;
        continue;
      }
    }
    switch (arg.kind) {
      case JsonKind::kString:
        numbers[i] = texts_.Text(text, plan.lasts[arg.slot]);
        break;
      case JsonKind::kNested:
        type = ArgType::kJson;
        numbers[i] = texts_.Json(text, plan.lasts[arg.slot]);
        break;
      case JsonKind::kWord:
        type = text == "true"    ? ArgType::kTrue
               : text == "false" ? ArgType::kFalse
               : text == "null"  ? ArgType::kNull
                                 : ArgType::kNumber;
        numbers[i] = type == ArgType::kNumber ? texts_.Text(text) : 0;
        break;
      case JsonKind::kNumber: {
        const std::optional<JsonNumber> number = ParseJsonNumber(text);
        const std::optional<int64_t> decimal =
            number && !number->is_integer ? PackDecimal({number->digits, number->places}) : std::nullopt;
        if (number && number->is_integer) {
          type = ArgType::kInteger;
          numbers[i] = number->digits;
          if (arg.is_correlation) {
            type = ArgType::kCorrelation;
            rows.of(EventColumn::kCorrelation).back() = number->digits;
          }
        } else if (decimal) {
          type = ArgType::kDecimal;
          numbers[i] = *decimal;
          if (arg.is_correlation) {
            rows.of(EventColumn::kCorrelation).back() = ParseWhole(text).value_or(kNoValue);
          }
        } else {
          type = ArgType::kNumber;
          numbers[i] = texts_.Text(text);
        }
        break;
      }
    }
    same_types &= type == plan.slots[i].type;
    plan.slots[i].type = type;
  }
  if (!same_types) {
    ArgShape kept = plan.slots;
    std::erase_if(kept, [](const ArgSlot& slot) { return slot.type == kLeftOut; });
    plan.leaves_out = kept.size() < plan.slots.size();
    plan.shape = batch_.Shape(kept);
  }
  rows.of(EventColumn::kShape).push_back(plan.shape);
  if (plan.shape == kNoArgs) return;
  if (rows.args.size() <= plan.shape) rows.args.resize(plan.shape + 1);
  if (plan.leaves_out) return AddNumbers(plan, numbers.data(), rows);
  std::vector<std::vector<int64_t>>& columns = rows.args[plan.shape];
  columns.resize(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (HasColumn(plan.slots[i].type)) columns[i].push_back(numbers[i]);
  }
}

// Where some of its slots are left out.
void ChromeEvents::AddNumbers(const ChromePlan& plan, const int64_t* numbers, EventRows& rows) const {
  std::vector<std::vector<int64_t>>& columns = rows.args[plan.shape];
  size_t column = 0;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (plan.slots[i].type == kLeftOut) continue;
    if (columns.size() <= column) columns.resize(column + 1);
    if (HasColumn(plan.slots[i].type)) columns[column].push_back(numbers[i]);
    ++column;
  }
}

// It stays an argument as it was written: a column of its own says what it is.
void ChromeEvents::AddTextCorrelation(const ChromePlan& plan, const JsonSpan* values, EventRows& rows) {
  const std::optional<int64_t> correlation = ParseWhole(values[plan.text_correlation].text());
  if (correlation) rows.of(EventColumn::kCorrelation).back() = *correlation;
}

// Each of its arguments that is a number is a sample of a series; what else it says is metadata.
void ChromeEvents::AddCounters(ChromePlan& plan, const EventLayouts::Event& event, int64_t time_ns) {
  const JsonSpan* values = event.values;
  const uint32_t pid = plan.pid == kNone ? 0 : texts_.Text(PlaceText(values[plan.pid]));
  const uint32_t name = CounterName(plan, values);
  std::vector<bool> is_sample(plan.args.size());
  bool says_more = plan.tid != kNone || (plan.category != kNone && !values[plan.category].text().empty());
  for (size_t i = 0; i < plan.args.size(); ++i) {
    const std::string_view text = values[plan.args[i].slot].text();
    const std::optional<CounterSample> sample =
        plan.slots[i].of_event ? std::nullopt : ReadCounterSample(text, plan.args[i].kind == JsonKind::kString);
    if (!sample) {
      says_more |= plan.args[i].slot != plan.id;
      continue;
    }
    is_sample[i] = true;
    const uint32_t track = batch_.Track({TrackKey::Family::kCounter, pid, 0, name, plan.slots[i].key});
    counters_.Add(time_ns, track, *sample, text);
  }
  if (!says_more && std::find(is_sample.begin(), is_sample.end(), true) != is_sample.end()) return;
  if (is_sample != plan.is_sample) plan.odd_plan = nullptr;
  const bool is_new = plan.odd_plan == nullptr || plan.odd != Odd::kCounter;
  ChromePlan& rest = OddPlanOf(plan, event, Odd::kCounter);
  if (is_new) {
    for (size_t i = is_sample.size(); i-- > 0;) {
      if (!is_sample[i]) continue;
      rest.args.erase(rest.args.begin() + static_cast<ptrdiff_t>(i));
      rest.slots.erase(rest.slots.begin() + static_cast<ptrdiff_t>(i));
    }
    plan.is_sample = std::move(is_sample);
  }
  AddRow(rest, values, time_ns, kNoValue, 'C');
}

// As Chrome itself calls a counter that has an id: name[id].
uint32_t ChromeEvents::CounterName(const ChromePlan& plan, const JsonSpan* values) {
  const std::string_view name = plan.name == kNone ? std::string_view() : values[plan.name].text();
  if (plan.id == kNone) return texts_.Text(name);
  return texts_.Text(std::string(name) + "[" + std::string(values[plan.id].text()) + "]");
}

}  // namespace kprof
