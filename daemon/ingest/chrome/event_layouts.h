// Takes the events of a Chrome trace apart with the help of earlier ones: a tool writes each kind of event with the
// same text around its values, a million times over. The text between two values is compared with the texts that stood
// there before; only new text is looked at letter by letter, once, and remembered. A layout is one way in which an
// event was written: its keys, in their order, with the kind of each value.
//
// Each thread has its own. Its memory is bounded: when too many different texts are remembered, all are forgotten.
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

// A value as it is in the text; a string is without its quotes.
struct JsonSpan {
  const char* begin = nullptr;
  uint32_t size = 0;

  std::string_view text() const { return {begin, size}; }
};

struct EventLayout {
  struct Slot {
    std::string key;  // as it is in the text, without quotes; needless escapes are resolved
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

  // kEach: each argument of an event is a value of its own; kWhole: all of them are one value.
  enum class Arguments : uint8_t { kEach, kWhole };
  explicit EventLayouts(Arguments arguments = Arguments::kEach);
  ~EventLayouts();

  struct Event {
    const EventLayout* layout = nullptr;  // until all are forgotten
    const JsonSpan* values = nullptr;     // one for each of its slots; until the next event
    const char* end = nullptr;            // behind the closing brace
  };
  // The event whose brace stands at `at`. Nothing: it is cut off, is no object, or has more than kMostSlots values.
  // Reads as json_scan.h does.
  std::optional<Event> Take(const char* at, const char* end);
  // True: the last Take found nothing because the event has more than kMostSlots values.
  bool has_too_many() const { return has_too_many_; }
  // True: it found nothing because the text ended in the event. REQUIRES: !has_too_many().
  bool is_cut() const { return is_cut_; }

  // How often all layouts were forgotten. Numbers of layouts are valid as long as this stays the same.
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
