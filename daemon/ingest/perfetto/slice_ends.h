// Finds the end of each slice of a track, from begins and ends that come in any order of time.
//
// Where a track's events come in the order of time, an end is that of the last begin. Else, if each end is that of the
// begin with the same place in their order and slices then lie within or beside each other, that is how they were
// written (PyTorch writes all begins of a track, and then all ends). Else they are sorted by time; at one time ends
// come before begins. Two slices that touch, written so, are in the order of time, too: the other tracks of the trace
// tell which it is.
//
// One thread. Memory: some 8 bytes for each slice while events come, and 4 later. Finish takes 40 bytes for each slice
// of one track at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kprof {

class SliceEnds {
 public:
  void AddBegin(int64_t time_ns) { Add(time_ns, false); }
  void AddEnd(int64_t time_ns) { Add(time_ns, true); }

  // True: they come in the order of time.
  bool is_sorted() const { return is_sorted_; }

  // Call once, before the next one. `by_place`: other tracks are not in the order of time.
  void Finish(bool by_place);

  // The duration of the next slice, in the order in which begins came; kNoValue: it has no end.
  int64_t NextDuration();

  int64_t ends_alone() const { return ends_alone_; }
  size_t begins() const { return begins_; }
  size_t events() const { return begins_ + ends_; }
  size_t size_bytes() const { return events_.capacity(); }

 private:
  void Add(int64_t time_ns, bool is_end);
  template <typename See>
  void ForEachEvent(const See& see) const;
  std::vector<int64_t> InOrder();
  std::optional<std::vector<int64_t>> OutOfOrder(bool and_by_time);

  std::string events_;  // the time since the one before, twice, and whether it is an end; later durations, plus one
  size_t at_ = 0;       // of durations
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  bool is_sorted_ = true;
  size_t begins_ = 0;
  size_t ends_ = 0;
  int64_t ends_alone_ = 0;
};

}  // namespace kprof
