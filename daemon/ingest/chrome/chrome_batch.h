// The batch that a thread fills with rows of a Chrome trace's events, and the numbers that tracks and shapes have in it
// and in those that follow.
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

// The texts of a Chrome trace's events, each once, by the numbers of a batch's strings (batch_sink.h), without what an
// environment says in them (environment_text.h).
//
// One thread. Numbers go on from batch to batch; 0 is the empty text.
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
  // What stood between the quotes of a string.
  uint32_t Text(std::string_view text) { return Number(of_texts_[TextPlace(text)]); }
  uint32_t Text(std::string_view text, Last& last) { return text == last.text ? Again(last) : NextText(text, last); }
  // A list or an object.
  uint32_t Json(std::string_view text, Last& last) { return text == last.text ? Again(last) : NextJson(text, last); }

  // What is kept of a value of an argument called so, which is kVariable or the like; `text` as Text and Json take it.
  // Nothing where all of it goes.
  std::optional<uint32_t> OfEnvironment(std::string_view key, bool is_json, std::string_view text);

  // Of strings so far, each once.
  uint32_t size() const { return strings_; }

  // The strings that are new since the last time.
  std::vector<std::string> TakeNew() { return std::exchange(new_, {}); }
  // Whether a text that was asked for since the last time had something of an environment, which was left out.
  bool TakeLacksSome() { return std::exchange(lacks_some_, false); }

 private:
  // The string that a text of the source is; it lacks some of it where an environment was left out.
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

  // As they stand in the source, and what each is.
  StringTable texts_;
  StringTable jsons_;
  std::vector<Known> of_texts_;
  std::vector<Known> of_jsons_;
  // Keys and texts of arguments of environments, and what is kept of each.
  StringTable environments_;
  std::vector<std::optional<Known>> of_environments_;
  uint32_t strings_ = 1;
  std::vector<std::string> new_;
  bool lacks_some_ = false;
};

class ChromeBatch {
 public:
  explicit ChromeBatch(uint32_t source);

  EventRows& of(EventKind kind) { return batch_.of(kind); }
  SideRows& of(const SideTable& table) { return batch_.of(table); }
  void AddTold(const ToldName& told) { batch_.told_names.push_back(told); }

  uint32_t Track(const TrackKey& key);
  uint32_t Thread(uint32_t pid, uint32_t tid);
  uint32_t Shape(const ArgShape& shape);

  // What was added since the last time.
  TraceBatch Take(std::vector<std::string> strings);

 private:
  TraceBatch batch_;
  std::map<TrackKey, uint32_t> tracks_;
  std::unordered_map<uint64_t, uint32_t> threads_;  // of tracks_, which are asked for most
  std::map<ArgShape, uint32_t> shapes_;
};

}  // namespace kprof
