// What becomes of a Chrome trace's events that were written in one way (event_layouts.h) and have one letter (`ph`):
// which of their values is their name, which their time, and which are arguments. The table in docs/trace_format.md, as
// it is for one of them.
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

// What an export of ours says of the correlation of a slice: which of its arguments it added for other readers, and
// which one is the correlation (docs/exports.md). By slots; each none where nothing is said.
struct SaidCorrelation {
  int member = -1;
  int added = -1;
  int named = -1;  // none where no argument is
  bool operator==(const SaidCorrelation&) const = default;
};

struct ChromePlan {
  // In what an event is not as others of its phase: it has no time, or no duration that can be; it is what a counter
  // says besides its numbers. What would have a column then is an argument, too.
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
  // An id may be more than one value: these are arguments, too, so that all of it comes back.
  int id2 = kNone;
  int scope = kNone;
  int text_correlation = kNone;  // one in quotes, or one that is no argument
  SaidCorrelation said;
  std::vector<Arg> args;
  // Of the last event; often the next one has the same. The types of `slots` are its values'.
  ArgShape slots;
  uint32_t shape = kNoArgs;
  std::vector<EventTexts::Last> lasts;  // by slot of the layout
  bool lacks_some = false;              // of its slots some are an environment
  bool is_told = false;                 // metadata that may be about anything (ph M)
  bool is_added = false;                // metadata that an export of ours made up: it is no row
  int told_name = kNone;
  int told_sort_index = kNone;
  bool has_whole_args = false;  // all its arguments are one value
  // Of its arguments some may be an environment: they are looked at one by one.
  bool may_lack_some = false;
  bool leaves_out = false;        // of the last event some were: their slots are of no type
  std::vector<std::string> keys;  // of those that are of an environment, by slot of the layout
  // {"name": "environment", "value": ...}
  int pair_name = kNone;
  int pair_value = kNone;
  bool has_track = false;  // of the last event
  uint32_t pid_text = 0;
  uint32_t tid_text = 0;
  uint32_t track = 0;
  int phase_slot = kNone;
  // For an event that is odd in one way or another, and in which: often the next one is, too.
  std::unique_ptr<ChromePlan> odd_plan;
  Odd odd = Odd::kNothing;
  std::vector<bool> is_sample;  // by args; of a counter
};

// `phase_slot`: where the letter stands, ChromePlan::kNone where it stands nowhere. `texts` learns the keys.
ChromePlan MakeChromePlan(const std::vector<EventLayout::Slot>& slots, std::string_view phase, int phase_slot,
                          ChromePlan::Odd odd, const SaidCorrelation& said, EventTexts& texts);

// What an X says whose slot `member` is that of its correlation and has the value `name`; of no account unless the
// values of what is added and what is named are one integer.
SaidCorrelation FindSaidCorrelation(const std::vector<EventLayout::Slot>& slots, int member, std::string_view name);
// The slot of an event that says so, ChromePlan::kNone where there is none.
int FindCorrelationMember(const std::vector<EventLayout::Slot>& slots);

}  // namespace kprof
