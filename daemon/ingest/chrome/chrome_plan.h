// The plan for a Chrome trace's events that were written in one way (event_layouts.h) and have one letter (`ph`): which
// of their values is the name, which is the time, and which are arguments. It applies the table in
// docs/trace_format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/chrome/chrome_batch.h"
#include "daemon/ingest/chrome/event_layouts.h"
#include "storage/trace/format/event_args.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// The correlation of a slice, as an export of ours says it: which argument the export added for other readers, and
// which argument is the correlation (docs/exports.md). Numbers of slots; -1: nothing is said.
struct SaidCorrelation {
  int member = -1;  // the member that says it
  int added = -1;
  int named = -1;  // -1 also if the correlation is no argument
  bool operator==(const SaidCorrelation&) const = default;
};

struct ChromePlan {
  // How an event differs from others of its phase. kTime: it has no time. kDuration: it has no possible duration.
  // kCounter: it is the rest of a counter, besides its numbers. Values that else have a column are arguments then.
  enum class Odd : uint8_t { kNothing, kTime, kDuration, kCounter };
  static constexpr int kNone = -1;  // there is no such slot
  struct Arg {
    int slot = kNone;
    JsonKind kind = JsonKind::kString;
    bool is_correlation = false;
    bool is_of_environment = false;  // by its key
    bool is_variable = false;        // it is called as one: HOME
  };
  std::string phase;
  EventKind kind = EventKind::kMetadata;
  bool is_async = false;  // on a track of its id
  int name = kNone;
  int category = kNone;
  int time = kNone;
  int duration = kNone;
  int pid = kNone;
  int tid = kNone;
  int id = kNone;
  // An id may be more than one value: these are arguments, too, so that an export has all of it.
  int id2 = kNone;
  int scope = kNone;
  int text_correlation = kNone;  // one in quotes, or one that is no argument
  SaidCorrelation said;
  std::vector<Arg> args;
  // These are the last event's: often the next one has the same. The types of `slots` are those of its values.
  ArgShape slots;
  uint32_t shape = kNoArgs;
  std::vector<EventTexts::Last> lasts;  // by slot of the layout
  bool lacks_some = false;              // some slots are of an environment, and left out
  bool is_told = false;                 // metadata that may be about anything (ph M)
  bool is_added = false;                // metadata that an export of ours made up: it is no row
  int told_name = kNone;
  int told_sort_index = kNone;
  bool has_whole_args = false;  // all its arguments are one value
  // Some arguments may be of an environment: they are looked at one by one.
  bool may_lack_some = false;
  bool leaves_out = false;        // some arguments of the last event were: their slots have no type
  std::vector<std::string> keys;  // of arguments of an environment, by slot of the layout
  // {"name": "environment", "value": ...}
  int pair_name = kNone;
  int pair_value = kNone;
  bool has_track = false;  // of the last event
  uint32_t pid_text = 0;
  uint32_t tid_text = 0;
  uint32_t track = 0;
  int phase_slot = kNone;
  // The plan for events that are odd, and in which way: often the next event is odd in the same way.
  std::unique_ptr<ChromePlan> odd_plan;
  Odd odd = Odd::kNothing;
  std::vector<bool> is_sample;  // by args; of a counter
};

// `phase_slot`: the slot of the letter; ChromePlan::kNone: there is no letter. `texts` learns the keys.
ChromePlan MakeChromePlan(const std::vector<EventLayout::Slot>& slots, std::string_view phase, int phase_slot,
                          ChromePlan::Odd odd, const SaidCorrelation& said, EventTexts& texts);

// Finds the slots for an X event that says its correlation: slot `member` says it, with the value `name`. They count
// only if the values of `added` and `named` are one integer; the caller checks that.
SaidCorrelation FindSaidCorrelation(const std::vector<EventLayout::Slot>& slots, int member, std::string_view name);
// The slot that says an event's correlation; ChromePlan::kNone: there is none.
int FindCorrelationMember(const std::vector<EventLayout::Slot>& slots);

}  // namespace kprof
