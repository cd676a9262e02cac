// Takes the events of a Chrome trace apart by what they looked like before: a tool writes each kind of event with the
// same text around its values, a million times over. What stands between two values is compared with what stood there
// last time, and only what was never seen is looked at letter by letter, once, and remembered. A layout is one such way
// in which an event was written: its keys, in their order, with the kind of each value.
//
// Each thread its own. Its memory is bounded: where too many different texts were remembered, all are forgotten, and it
// begins anew.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

enum class JsonKind : uint8_t { kString, kNumber, kWord, kNested };

// A value as it is in the text: of a string what stands between its quotes.
struct JsonSpan {
  const char* begin = nullptr;
  uint32_t size = 0;

  std::string_view text() const { return {begin, size}; }
};

struct EventLayout {
  struct Slot {
    std::string key;  // as it is in the text, between its quotes; one that needs no escapes has none
    JsonKind kind = JsonKind::kString;
    bool in_args = false;
  };
  size_t number = 0;  // dense, from 0; after all were forgotten, from 0 again
  std::vector<Slot> slots;
};

class EventLayouts {
 public:
  static constexpr size_t kMostSlots = 1024;
  static constexpr size_t kMostSteps = 65'536;
  static constexpr size_t kMostTextBytes = 16 << 20;
  static constexpr size_t kMostBranches = 256;  // different texts after the same: they are tried one after the other

  // Whether each of an event's arguments is a value of its own, or all of them are one.
  enum class Arguments : uint8_t { kEach, kWhole };
  explicit EventLayouts(Arguments arguments = Arguments::kEach);
  ~EventLayouts();

  struct Event {
    const EventLayout* layout = nullptr;  // until all are forgotten
    const JsonSpan* values = nullptr;     // one for each of its slots; until the next event
    const char* end = nullptr;            // behind the closing brace
  };
  // The event whose brace stands at `at`; nothing where it is cut off, no object, or has more than kMostSlots values.
  // Reads as json_scan.h does.
  std::optional<Event> Take(const char* at, const char* end);
  // The last one was none because it has more than kMostSlots values.
  bool has_too_many() const { return has_too_many_; }
  // Else: because the text ended in it.
  bool is_cut() const { return is_cut_; }

  // How often all was forgotten: what is known by a layout's number holds as long as this stays.
  size_t generation() const { return generation_; }

 private:
  struct Step;
  Step* Follow(Step& from, const char* at, const char* end);
  [[gnu::noinline]] Step* Learn(Step& from, const char* at, const char* end);  // seldom
  Step* NoStep(bool is_cut);
  Step* Remember(Step& from, Step step);
  [[gnu::noinline]] void ForgetAll();

  const Arguments arguments_;
  bool has_too_many_ = false;
  bool is_cut_ = false;
  std::vector<std::unique_ptr<Step>> steps_;  // the first is where an event begins
  std::vector<std::unique_ptr<EventLayout>> layouts_;
  std::array<JsonSpan, kMostSlots> values_;
  size_t text_bytes_ = 0;
  size_t branches_ = 0;  // the most after one step
  size_t generation_ = 0;
};

}  // namespace kprof
