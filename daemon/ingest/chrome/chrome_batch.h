// The batch that a thread fills with rows of a Chrome trace's events, and the numbers that tracks and shapes have in it
// and in those that follow.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/trace/write/trace_batch.h"

namespace kprof {

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
