#include "daemon/analysis/functions/kernel_sequences.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostSequences = 20;  // of a stream
constexpr size_t kMostOfLength = 64;   // candidates
constexpr size_t kMostLookedAt = 400;  // candidates of a stream
constexpr uint64_t kSequenceMultiplier = 0x9e3779b97f4a7c15ULL;

// Of the places at which a loop can be begun, that with the smallest gaps inside comes first.
bool IsBetterSequence(const KernelSequence& a, const KernelSequence& b) {
  return std::tuple(-a.kernel_ns, a.gap_ns, a.length, a.first) < std::tuple(-b.kernel_ns, b.gap_ns, b.length, b.first);
}

// The slices of one stream. Occurrences of a sequence do not overlap each other: they are taken as they come.
class StreamSequences {
 public:
  StreamSequences(std::span<const SequenceSlice> slices, const SequenceBounds& bounds)
      : slices_(slices), bounds_(bounds) {
    const size_t rows = slices.size();
    sums_.assign(rows + 1, 0);
    gaps_.assign(rows + 1, 0);
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < rows; ++i) {
      // gaps_[i]: all gaps before the slice i.
      const int64_t gap = i > 0 && slices[i].begin_ns > end ? slices[i].begin_ns - end : 0;
      gaps_[i] = SaturatingSum(i > 0 ? gaps_[i - 1] : 0, gap);
      end = std::max(end, slices[i].end_ns);
      sums_[i + 1] = SaturatingSum(sums_[i], slices[i].end_ns - slices[i].begin_ns);
    }
  }

  Result<std::vector<KernelSequence>> Find(const StopSignal& stop) {
    std::vector<KernelSequence> candidates;
    NumberNames();
    size_t length = 2;
    for (; length <= bounds_.most_length && length <= slices_.size(); ++length) {
      RETURN_IF_ERROR(StillWanted(stop));
      if (!Count(length)) break;
      if (length >= bounds_.least_length) AddCandidates(length, candidates);
    }
    const bool is_bounded = length > bounds_.most_length && length <= slices_.size() && Count(length);
    std::stable_sort(candidates.begin(), candidates.end(), IsBetterSequence);
    ASSIGN_OR_RETURN(std::vector<KernelSequence> chosen, Choose(candidates, stop));
    if (is_bounded) MarkCut(chosen);
    return chosen;
  }

  int64_t sum_ns() const { return sums_.back(); }

 private:
  static constexpr uint32_t kNotFrequent = UINT32_MAX;

  // A sequence of the length that is counted.
  struct Entry {
    size_t first = 0;
    size_t next = 0;  // the next occurrence begins here or later
    int64_t count = 0;
    int64_t kernel_ns = 0;
    int64_t gap_ns = 0;
  };
  // Of a hash table; a pair of numbers is the key.
  struct Place {
    uint64_t key = UINT64_MAX;  // UINT64_MAX: it is free
    uint32_t number = 0;
  };

  void NumberNames() {
    std::unordered_map<int64_t, uint32_t> of_names;
    for (const SequenceSlice& slice : slices_) {
      const auto next = static_cast<uint32_t>(of_names.size());
      numbers_.push_back(of_names.try_emplace(slice.name, next).first->second);
    }
  }

  bool IsSame(size_t a, size_t b, size_t length) const {
    for (size_t i = 0; i < length; ++i) {
      if (slices_[a + i].name != slices_[b + i].name) return false;
    }
    return true;
  }

  int64_t KernelsOf(size_t first, size_t length) const { return sums_[first + length] - sums_[first]; }
  int64_t GapsOf(size_t first, size_t length) const { return gaps_[first + length - 1] - gaps_[first]; }

  // Counts all sequences of that length that begin and end with a frequent one of one kernel less: those two say what
  // it is. False: none is frequent.
  bool Count(size_t length) {
    const size_t last = slices_.size() - length;
    const auto is_asked = [&](size_t i) { return numbers_[i] != kNotFrequent && numbers_[i + 1] != kNotFrequent; };
    size_t asked = 0;
    for (size_t i = 0; i <= last; ++i) asked += is_asked(i) ? 1 : 0;
    size_t places = 16;
    int shift = 60;
    for (; places < 2 * asked; places *= 2) --shift;
    places_.assign(places, Place());
    entries_.clear();
    for (size_t i = 0; i <= last; ++i) {
      if (!is_asked(i)) {
        numbers_[i] = kNotFrequent;
        continue;
      }
      const uint64_t key = uint64_t{numbers_[i]} << 32 | numbers_[i + 1];
      size_t place = key * kSequenceMultiplier >> shift;
      while (places_[place].key != key && places_[place].key != UINT64_MAX) place = (place + 1) & (places - 1);
      if (places_[place].key == UINT64_MAX) {
        places_[place] = {key, static_cast<uint32_t>(entries_.size())};
        entries_.push_back({.first = i});
      }
      numbers_[i] = places_[place].number;  // that of one kernel less is not needed from here on
      Entry& entry = entries_[numbers_[i]];
      if (i < entry.next) continue;
      entry.next = i + length;
      ++entry.count;
      entry.kernel_ns += KernelsOf(i, length);
      entry.gap_ns += GapsOf(i, length);
    }
    bool is_any = false;
    for (size_t i = 0; i < slices_.size(); ++i) {
      if (i > last || (numbers_[i] != kNotFrequent && entries_[numbers_[i]].count < bounds_.least_count)) {
        numbers_[i] = kNotFrequent;
      }
      is_any |= numbers_[i] != kNotFrequent;
    }
    return is_any;
  }

  // True if it is a shorter sequence several times over, which stands for itself.
  bool IsRepeated(size_t first, size_t length) const {
    for (size_t period = bounds_.least_length; period * 2 <= length; ++period) {
      if (length % period == 0 && IsSame(first, first + period, length - period)) return true;
    }
    return false;
  }

  void AddCandidates(size_t length, std::vector<KernelSequence>& candidates) const {
    std::vector<KernelSequence> found;
    for (const Entry& entry : entries_) {
      if (entry.count < bounds_.least_count) continue;
      if (IsRepeated(entry.first, length)) continue;
      found.push_back({entry.first, length, entry.count, entry.kernel_ns, entry.gap_ns});
    }
    std::sort(found.begin(), found.end(), IsBetterSequence);
    if (found.size() > kMostOfLength) found.resize(kMostOfLength);
    candidates.insert(candidates.end(), found.begin(), found.end());
  }

  // REQUIRES: sequences of one kernel more than allowed are counted. A loop that begins anew behind its last kernel is
  // whole, though the first kernel of its next turn may be added to it.
  void MarkCut(std::vector<KernelSequence>& chosen) const {
    for (KernelSequence& one : chosen) {
      if (one.length < bounds_.most_length) continue;
      const bool is_loop =
          one.first + 2 * one.length <= slices_.size() && IsSame(one.first, one.first + one.length, one.length);
      const auto is_usual = [&](size_t longer) {
        return numbers_[longer] != kNotFrequent && entries_[numbers_[longer]].count * 2 >= one.count;
      };
      one.is_cut = !is_loop && (is_usual(one.first) || (one.first > 0 && is_usual(one.first - 1)));
    }
  }

  // Those that say something new: half of their occurrences or more are in no sequence chosen before.
  Result<std::vector<KernelSequence>> Choose(const std::vector<KernelSequence>& candidates, const StopSignal& stop) {
    std::vector<KernelSequence> chosen;
    std::vector<uint8_t> is_taken(slices_.size(), 0);
    size_t looked_at = 0;
    for (const KernelSequence& candidate : candidates) {
      if (chosen.size() == kMostSequences || looked_at++ == kMostLookedAt) break;
      RETURN_IF_ERROR(StillWanted(stop));
      std::vector<size_t> places;
      int64_t news = 0;
      for (size_t i = candidate.first; i + candidate.length <= slices_.size();) {
        if (slices_[i].name != slices_[candidate.first].name || !IsSame(candidate.first, i, candidate.length)) {
          ++i;
          continue;
        }
        bool is_new = true;
        for (size_t at = i; at < i + candidate.length; ++at) is_new &= is_taken[at] == 0;
        news += is_new ? 1 : 0;
        places.push_back(i);
        i += candidate.length;
      }
      if (news * 2 < candidate.count) continue;
      for (const size_t place : places) {
        for (size_t at = place; at < place + candidate.length; ++at) is_taken[at] = 1;
      }
      chosen.push_back(candidate);
    }
    return chosen;
  }

  const std::span<const SequenceSlice> slices_;
  const SequenceBounds bounds_;
  std::vector<int64_t> sums_;      // of the durations of all before
  std::vector<int64_t> gaps_;      // of the gaps before
  std::vector<uint32_t> numbers_;  // of the sequence that begins there
  std::vector<Place> places_;
  std::vector<Entry> entries_;  // by number
};

}  // namespace

Result<FoundSequences> FindSequences(std::span<const SequenceSlice> slices, const SequenceBounds& bounds,
                                     const StopSignal& stop) {
  StreamSequences of_stream(slices, bounds);
  ASSIGN_OR_RETURN(std::vector<KernelSequence> sequences, of_stream.Find(stop));
  return FoundSequences{std::move(sequences), of_stream.sum_ns()};
}

}  // namespace kprof
