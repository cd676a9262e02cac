// Puts slices that overlap on tracks of their own: rows of one engine overlap each other, and a track shows one thing
// at a time. A group (an engine, a queue) has a first track and further lanes as far as slices overlap.
//
// Slices may come in any order. Those that come together are sorted; beyond kMostLanes a slice overlaps others of its
// track. One thread. Memory: kSlicesAtOnce slices, and the lanes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"

namespace kprof {

class EngineLanes {
 public:
  static constexpr size_t kSlicesAtOnce = 65'536;
  static constexpr size_t kMostLanes = 16;
  static constexpr size_t kMostSliceArgs = 4;

  // Numbers of groups are the caller's.
  struct Slice {
    uint32_t group = 0;
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
    uint32_t name = 0;
    uint32_t category = 0;
    uint8_t args = 0;
    std::array<EventArg, kMostSliceArgs> arg;

    void Put(uint32_t key, ArgType type, int64_t value) {
      if (args < kMostSliceArgs) arg[args++] = {key, type, value, false};
    }
  };

  // `builder` is borrowed.
  explicit EngineLanes(BatchBuilder& builder) : builder_(builder) {}

  // A new group, of tracks called `name`, `name 2`... and sorted by `sort_index` among all.
  uint32_t AddGroup(std::string name, std::string process, int64_t sort_index);
  void Add(const Slice& slice);
  // Gives the waiting slices to the builder where there are many; all of them.
  void GiveFull() {
    if (waiting_.size() >= kSlicesAtOnce) Give();
  }
  void Give();

 private:
  struct Lane {
    uint32_t track = 0;
    int64_t end_ns = 0;
  };
  struct Group {
    std::string name;
    std::string process;
    int64_t sort_index = 0;
    std::vector<Lane> lanes;
  };
  Lane& LaneFor(Group& group, int64_t start_ns);

  BatchBuilder& builder_;
  std::vector<Group> groups_;
  std::vector<Slice> waiting_;
};

}  // namespace kprof
