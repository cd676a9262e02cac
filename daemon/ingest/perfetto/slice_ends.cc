#include "daemon/ingest/perfetto/slice_ends.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/ingest/source/proto_fields.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {
namespace {

void AppendNumber(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

// Small numbers of either sign become small ones.
uint64_t Folded(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}

int64_t Unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// True if each slice lies within another or beside it.
bool DoNest(std::vector<std::pair<int64_t, int64_t>> slices) {
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
  std::vector<int64_t> open;
  for (const auto& [begin, end] : slices) {
    while (!open.empty() && open.back() <= begin) open.pop_back();
    if (!open.empty() && open.back() < end) return false;
    open.push_back(end);
  }
  return true;
}

}  // namespace

void SliceEnds::Add(int64_t time_ns, bool is_end) {
  constexpr int64_t kMostStepNs = int64_t{1} << 61;  // so that there is a bit more; no trace has one
  if (begins_ + ends_ == 0) first_ns_ = last_ns_ = time_ns;
  const int64_t step_ns = std::clamp(time_ns - last_ns_, -kMostStepNs, kMostStepNs);
  is_sorted_ &= step_ns >= 0;
  AppendNumber(events_, Folded(step_ns) << 1 | (is_end ? 1 : 0));
  last_ns_ += step_ns;
  ++(is_end ? ends_ : begins_);
}

template <typename See>
void SliceEnds::ForEachEvent(const See& see) const {
  const char* at = events_.data();
  const char* const end = at + events_.size();
  int64_t time_ns = first_ns_;
  while (at < end) {
    const uint64_t bits = ReadVarint(at, end).value_or(0);
    time_ns += Unfolded(bits >> 1);
    see(time_ns, (bits & 1) != 0);
  }
}

void SliceEnds::Finish(bool by_place) {
  std::optional<std::vector<int64_t>> found;
  if (by_place || !is_sorted_) found = OutOfOrder(!is_sorted_);
  const std::vector<int64_t> durations = found ? std::move(*found) : InOrder();
  events_.clear();
  for (const int64_t duration : durations) {
    AppendNumber(events_, duration == kNoValue ? 0 : static_cast<uint64_t>(duration) + 1);
  }
  events_.shrink_to_fit();
}

std::vector<int64_t> SliceEnds::InOrder() {
  std::vector<int64_t> durations;
  durations.reserve(begins_);
  std::vector<size_t> open;
  std::vector<int64_t> begins_ns;  // of those that are open
  ForEachEvent([&](int64_t time_ns, bool is_end) {
    if (!is_end) {
      open.push_back(durations.size());
      begins_ns.push_back(time_ns);
      durations.push_back(kNoValue);
    } else if (open.empty()) {
      ++ends_alone_;
    } else {
      durations[open.back()] = time_ns - begins_ns.back();
      open.pop_back();
      begins_ns.pop_back();
    }
  });
  return durations;
}

// By their places; else by time, or nothing.
std::optional<std::vector<int64_t>> SliceEnds::OutOfOrder(bool and_by_time) {
  std::vector<std::pair<int64_t, int64_t>> slices;
  slices.reserve(begins_);
  std::vector<int64_t> ends;
  ends.reserve(ends_);
  ForEachEvent([&](int64_t time_ns, bool is_end) {
    if (is_end) {
      ends.push_back(time_ns);
    } else {
      slices.emplace_back(time_ns, kNoValue);
    }
  });
  std::vector<int64_t> durations(begins_, kNoValue);
  bool are_pairs = ends.size() == slices.size();
  for (size_t i = 0; are_pairs && i < slices.size(); ++i) {
    slices[i].second = ends[i];
    are_pairs = ends[i] >= slices[i].first;
  }
  if (are_pairs && DoNest(slices)) {
    for (size_t i = 0; i < slices.size(); ++i) durations[i] = ends[i] - slices[i].first;
    return durations;
  }
  if (!and_by_time) return std::nullopt;
  std::vector<uint32_t> order(slices.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return slices[a].first < slices[b].first; });
  std::sort(ends.begin(), ends.end());
  std::vector<uint32_t> open;
  size_t next = 0;
  for (const int64_t end : ends) {
    while (next < order.size() && slices[order[next]].first < end) open.push_back(order[next++]);
    // One that begins at that very time ends there only if no other one does.
    if (open.empty() && next < order.size() && slices[order[next]].first == end) open.push_back(order[next++]);
    if (open.empty()) {
      ++ends_alone_;
      continue;
    }
    durations[open.back()] = end - slices[open.back()].first;
    open.pop_back();
  }
  return durations;
}

int64_t SliceEnds::NextDuration() {
  const char* at = events_.data() + at_;
  const std::optional<uint64_t> bits = ReadVarint(at, events_.data() + events_.size());
  at_ = static_cast<size_t>(at - events_.data());
  return !bits || *bits == 0 ? kNoValue : static_cast<int64_t>(*bits - 1);
}

}  // namespace kprof
