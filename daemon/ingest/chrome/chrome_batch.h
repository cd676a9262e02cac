// The batch that a thread fills with rows of a Chrome trace's events (ChromeBatch), and the texts of the events
// (EventTexts).
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/ingest/text/private_names.h"
#include "storage/trace/write/string_table.h"
#include "storage/trace/write/trace_batch.h"

namespace kprof {

// The texts of a Chrome trace's events, each once, by the numbers of a batch's strings (batch_sink.h). Environments in
// them are left out (environment_text.h). Numbers go on from batch to batch; 0 is the empty text.
class EventTexts {
 public:
  EventTexts();

  // The text that a slot had the last time: often it has it again.
  struct Last {
    std::string_view text;
    uint32_t number = 0;
    bool lacks_some = false;
    EnvironmentEvent event = EnvironmentEvent::kNone;  // of an event of that name
  };
  // The number of a string; `text` stood between its quotes.
  uint32_t Text(std::string_view text) { return Number(of_texts_[TextPlace(text)]); }
  uint32_t Text(std::string_view text, Last& last) { return text == last.text ? Again(last) : NextText(text, last); }
  // The number of a list or an object.
  uint32_t Json(std::string_view text, Last& last) { return text == last.text ? Again(last) : NextJson(text, last); }

  // The number of the kept part of an argument's value; `key` is a name of an environment. `text` as for Text and Json.
  // Nothing: all of it is left out.
  std::optional<uint32_t> OfEnvironment(std::string_view key, bool is_json, std::string_view text);

  // The number of different strings so far.
  uint32_t size() const { return strings_; }

  // The strings that are new since the last call.
  std::vector<std::string> TakeNew() { return std::exchange(new_, {}); }
  // True if a text that was asked for since the last call lacks something of an environment.
  bool TakeLacksSome() { return std::exchange(lacks_some_, false); }

 private:
  // The string for a text of the source. It lacks some of the text where an environment was left out.
  struct Known {
    uint32_t number = 0;
    bool lacks_some = false;
    EnvironmentEvent event = EnvironmentEvent::kNone;
  };
  uint32_t Number(const Known& known) {
    lacks_some_ |= known.lacks_some;
    return known.number;
  }
  uint32_t Again(const Last& last) {
    lacks_some_ |= last.lacks_some;
    return last.number;
  }
  uint32_t NextText(std::string_view text, Last& last);
  uint32_t NextJson(std::string_view text, Last& last);
  uint32_t JsonPlace(std::string_view text);  // among jsons_
  uint32_t TextPlace(std::string_view text);  // among texts_
  uint32_t NewString(char prefix, std::string_view text);

  // Texts as they stand in the source, and the string for each.
  StringTable texts_;
  StringTable jsons_;
  std::vector<Known> of_texts_;
  std::vector<Known> of_jsons_;
  // Keys and texts of arguments of environments, and the kept part of each.
  StringTable environments_;
  std::vector<std::optional<Known>> of_environments_;
  uint32_t strings_ = 1;
  std::vector<std::string> new_;
  bool lacks_some_ = false;
};

// Rows of events, with numbers for tracks and shapes that go on from batch to batch.
class ChromeBatch {
 public:
  explicit ChromeBatch(uint32_t source);

  EventRows& of(EventKind kind) { return batch_.of(kind); }
  SideRows& of(const SideTable& table) { return batch_.of(table); }
  void AddTold(const ToldName& told) { batch_.told_names.push_back(told); }

  uint32_t Track(const TrackKey& key);
  uint32_t Thread(uint32_t pid, uint32_t tid);
  uint32_t Shape(const ArgShape& shape);

  // Takes everything that was added since the last call.
  TraceBatch Take(std::vector<std::string> strings);

 private:
  TraceBatch batch_;
  std::map<TrackKey, uint32_t> tracks_;
  std::unordered_map<uint64_t, uint32_t> threads_;  // of tracks_, which are asked for most
  std::map<ArgShape, uint32_t> shapes_;
};

}  // namespace kprof
