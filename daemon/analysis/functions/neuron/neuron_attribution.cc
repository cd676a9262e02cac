#include "daemon/analysis/functions/neuron/neuron_attribution.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace kprof {
namespace {

// Two lists in the order in which their things began. Their places in the lists that they are chosen from.
struct OrderedLists {
  std::vector<size_t> first;
  std::vector<size_t> second;
};

// Matches what has no match yet, by order, between matches that are sure: only where equally many are there on both
// sides, and each pair `can_be`. `of_second` has the match of each second, a first or kNobody. `lost_oldest`: the
// oldest of them were overwritten, so that before the first sure match those that are there are counted from the end.
class MatchByOrder {
 public:
  MatchByOrder(const OrderedLists& lists, std::vector<size_t>& of_second,
               const std::function<bool(size_t first, size_t second)>& can_be)
      : lists_(lists), of_second_(of_second), can_be_(can_be) {}

  // How many were matched.
  int64_t Match(bool lost_oldest) {
    std::map<size_t, size_t> place_of_first;
    for (size_t i = 0; i < lists_.first.size(); ++i) place_of_first[lists_.first[i]] = i;
    size_t first_at = 0;
    std::vector<size_t> free_seconds;
    std::optional<size_t> last_anchor;
    for (const size_t second : lists_.second) {
      const auto anchor = place_of_first.find(of_second_[second]);
      if (of_second_[second] == kNobody) {
        free_seconds.push_back(second);
        continue;
      }
      if (anchor == place_of_first.end()) continue;                       // matched to something of another list
      if (last_anchor && anchor->second < *last_anchor) return matched_;  // they do not follow one order
      MatchStretch(first_at, anchor->second, free_seconds, lost_oldest && !last_anchor);
      free_seconds.clear();
      last_anchor = anchor->second;
      first_at = anchor->second + 1;
    }
    MatchStretch(std::min(first_at, lists_.first.size()), lists_.first.size(), free_seconds,
                 lost_oldest && !last_anchor);
    return matched_;
  }

 private:
  void MatchStretch(size_t from, size_t until, const std::vector<size_t>& seconds, bool from_end) {
    const size_t firsts = until > from ? until - from : 0;
    if (firsts == 0 || seconds.empty()) return;
    if (firsts != seconds.size() && !from_end) return;
    const size_t count = std::min(firsts, seconds.size());
    const size_t first_skip = from + firsts - count;
    const size_t second_skip = seconds.size() - count;
    for (size_t i = 0; i < count; ++i) {
      if (!can_be_(lists_.first[first_skip + i], seconds[second_skip + i])) return;
    }
    for (size_t i = 0; i < count; ++i) of_second_[seconds[second_skip + i]] = lists_.first[first_skip + i];
    matched_ += static_cast<int64_t>(count);
  }

  const OrderedLists& lists_;
  std::vector<size_t>& of_second_;
  const std::function<bool(size_t, size_t)>& can_be_;
  int64_t matched_ = 0;
};

// Intervals by their begins, for finding those around a time.
template <typename Key>
class Enclosing {
 public:
  void Add(const Key& key, int64_t begin_ns, int64_t end_ns, size_t place) {
    of_key_[key].push_back({begin_ns, end_ns, place});
  }
  void Sort() {
    for (auto& [key, of] : of_key_) {
      std::sort(of.begin(), of.end(), [](const Piece& a, const Piece& b) {
        return std::tie(a.begin_ns, b.end_ns, a.place) < std::tie(b.begin_ns, a.end_ns, b.place);
      });
      int64_t latest_ns = INT64_MIN;
      for (Piece& piece : of) piece.latest_end_ns = latest_ns = std::max(latest_ns, piece.end_ns);
    }
  }
  // Calls `see` for those around [begin, end], the innermost first, until it returns false.
  template <typename See>
  void ForEach(const Key& key, int64_t begin_ns, int64_t end_ns, const See& see) const {
    const auto of = of_key_.find(key);
    if (of == of_key_.end()) return;
    const auto behind = std::upper_bound(of->second.begin(), of->second.end(), begin_ns,
                                         [](int64_t time_ns, const Piece& piece) { return time_ns < piece.begin_ns; });
    constexpr int kMostLooks = 256;
    int looks = 0;
    for (auto piece = behind; piece != of->second.begin() && looks < kMostLooks; ++looks) {
      --piece;
      if (piece->latest_end_ns < end_ns) return;  // nor does any before it reach so far
      if (piece->end_ns >= end_ns && !see(piece->place)) return;
    }
  }

 private:
  struct Piece {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    size_t place = 0;
    int64_t latest_end_ns = 0;  // of it and all before
  };
  std::map<Key, std::vector<Piece>> of_key_;
};

// Places by an id of a NeuronCore. Ids begin again, with each model: of several with one id the time tells.
class PlacesByIds {
 public:
  // `time_ns`: when it began, on the host's clock; kNoValue: not known.
  void Add(const NeuronCoreKey& of, int64_t id, size_t place, int64_t time_ns) {
    places_.push_back({of, id, place, time_ns});
  }
  void Sort() {
    std::stable_sort(places_.begin(), places_.end(), [](const Entry& a, const Entry& b) {
      return IsBefore(a, b) || (!IsBefore(b, a) && a.time_ns < b.time_ns);
    });
  }
  // Finds the place that caused something from `begin_ns` to `end_ns`: the last one with this id that began before.
  // kNobody: there is none, or nothing tells. REQUIRES: it is sorted.
  size_t Find(const NeuronCoreKey& of, int64_t id, int64_t begin_ns, int64_t end_ns) const {
    if (id == kNoValue) return kNobody;
    const auto range = std::equal_range(places_.begin(), places_.end(), Entry{of, id, 0, 0}, IsBefore);
    const auto first = range.first;
    const auto behind = range.second;
    if (first == behind) return kNobody;
    const bool is_one = std::all_of(first, behind, [first](const Entry& entry) { return entry.place == first->place; });
    // Clocks of cores are put beside the host's to some microseconds: what began a little before it may be its own.
    if (is_one)
      return first->time_ns != kNoValue && end_ns != kNoValue && first->time_ns > end_ns ? kNobody : first->place;
    if (begin_ns == kNoValue || first->time_ns == kNoValue) return kNobody;
    const auto later = std::upper_bound(first, behind, begin_ns,
                                        [](int64_t time_ns, const Entry& entry) { return time_ns < entry.time_ns; });
    return later == first ? kNobody : (later - 1)->place;
  }

 private:
  struct Entry {
    NeuronCoreKey of;
    int64_t id = 0;
    size_t place = 0;
    int64_t time_ns = 0;
  };
  static bool IsBefore(const Entry& a, const Entry& b) { return a.id != b.id ? a.id < b.id : a.of < b.of; }

  std::vector<Entry> places_;
};

bool MayBeSame(int64_t a, int64_t b) {
  return a == kNoValue || b == kNoValue || a == b;
}

class Attributing {
 public:
  explicit Attributing(const NeuronEvents& events) : events_(events) {
    all_.executions = NeuronExecutionsOf(events);
    all_.host_of_execution.assign(all_.executions.size(), kNobody);
    all_.call_of_execution.assign(all_.executions.size(), kNobody);
    all_.call_of_host.assign(events.host_calls.size(), kNobody);
    all_.lnc = LogicalCoreSizeOf(all_.executions);
    for (const NeuronExecution& execution : all_.executions) {
      all_.odd_lnc += execution.rows != all_.lnc;
      all_.by_overlap += execution.is_by_time;
    }
    all_.unknown_rows = RowsOfUnknownExecutions(events);
    lost_oldest_ = events.dropped_events > 0 || events.ends_alone > 0;
  }

  NeuronAttribution Run() {
    HostByIds();
    HostByLinks();
    HostByTime();
    HostByOrder();
    CallsByIds();
    CallsByTime();
    CallsByOrder();
    TakeOver();
    return std::move(all_);
  }

 private:
  void HostByIds() {
    PlacesByIds by_exec;
    PlacesByIds by_seq;
    for (size_t host = 0; host < events_.host_calls.size(); ++host) {
      const NeuronHostCall& call = events_.host_calls[host];
      if (call.exec_id != kNoValue) by_exec.Add(call.of, call.exec_id, host, call.start_ns);
      if (call.seq_id != kNoValue) by_seq.Add(call.of, call.seq_id, host, call.start_ns);
    }
    by_exec.Sort();
    by_seq.Sort();
    // An event of the runtime may know both.
    PlacesByIds by_link;
    for (const ExecutionLink& link : events_.links) {
      if (link.exec_id == kNoValue) continue;
      const size_t host = by_seq.Find(link.of, link.seq_id, link.start_ns, link.start_ns);
      if (host != kNobody) by_link.Add(link.of, link.exec_id, host, events_.host_calls[host].start_ns);
    }
    by_link.Sort();
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      TakeHost(by_exec, i, all_.executions[i].exec_id);
      TakeHost(by_seq, i, all_.executions[i].seq_id);
      TakeHost(by_link, i, all_.executions[i].exec_id);
    }
  }

  // A host call gets the first of several executions with its id: the calls of the others were lost.
  void TakeHost(const PlacesByIds& places, size_t i, int64_t id) {
    if (all_.host_of_execution[i] != kNobody) return;
    const NeuronExecution& execution = all_.executions[i];
    const size_t host = places.Find(execution.of, id, execution.start_ns, execution.end_ns);
    if (host != kNobody && taken_.emplace(host, id).second) all_.host_of_execution[i] = host;
  }

  // kbl_exec_pre and the like run within the host call, on its thread, and tell the execution.
  void HostByLinks() {
    using ThreadKey = std::tuple<uint32_t, int64_t, int64_t>;
    Enclosing<ThreadKey> hosts;
    for (size_t host = 0; host < events_.host_calls.size(); ++host) {
      const NeuronHostCall& call = events_.host_calls[host];
      if (call.thread == kNoValue || !call.duration_ns()) continue;
      hosts.Add({call.of.process, call.of.worker, call.thread}, call.start_ns, call.end_ns, host);
    }
    hosts.Sort();
    PlacesByIds by_exec;
    for (const ExecutionLink& link : events_.links) {
      if (link.thread == kNoValue || link.exec_id == kNoValue || link.start_ns == kNoValue) continue;
      hosts.ForEach({link.of.process, link.of.worker, link.thread}, link.start_ns, link.start_ns, [&](size_t host) {
        if (!MayBeSame(events_.host_calls[host].of.nc, link.of.nc)) return true;
        by_exec.Add(link.of, link.exec_id, host, events_.host_calls[host].start_ns);
        return false;
      });
    }
    by_exec.Sort();
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      TakeHost(by_exec, i, all_.executions[i].exec_id);
    }
  }

  // nrt_execute waits for its execution, which then lies within it. Where most do not, it does not wait, and what lies
  // within it may be an earlier one.
  void HostByTime() {
    Enclosing<NeuronCoreKey> hosts;
    const bool have_ncs = HaveNcs();
    const auto key_of = [&](const NeuronCoreKey& of) {
      return have_ncs ? of : NeuronCoreKey{of.process, of.worker, 0};
    };
    std::optional<int64_t> first_ns;
    for (size_t host = 0; host < events_.host_calls.size(); ++host) {
      const NeuronHostCall& call = events_.host_calls[host];
      if (call.is_async || !call.duration_ns()) continue;
      hosts.Add(key_of(call.of), call.start_ns, call.end_ns, host);
      first_ns = std::min(first_ns.value_or(call.start_ns), call.start_ns);
    }
    if (!first_ns) return;
    hosts.Sort();
    std::vector<size_t> found(all_.executions.size(), kNobody);
    int64_t within = 0;
    int64_t beside = 0;
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      const NeuronExecution& execution = all_.executions[i];
      if (execution.start_ns == kNoValue || execution.end_ns == kNoValue || execution.start_ns < *first_ns) continue;
      int64_t count = 0;
      hosts.ForEach(key_of(execution.of), execution.start_ns, execution.end_ns, [&](size_t host) {
        found[i] = host;
        return ++count < 2;
      });
      ++(count > 0 ? within : beside);
      if (count != 1) found[i] = kNobody;
    }
    if (within < beside) return;
    for (size_t i = 0; i < found.size(); ++i) {
      if (all_.host_of_execution[i] == kNobody) all_.host_of_execution[i] = found[i];
    }
  }

  bool HaveNcs() const {
    return std::none_of(events_.host_calls.begin(), events_.host_calls.end(),
                        [](const NeuronHostCall& call) { return call.of.nc == kNoValue; });
  }

  void HostByOrder() {
    const bool have_ncs = HaveNcs();
    const auto key_of = [&](const NeuronCoreKey& of) { return have_ncs ? of : NeuronCoreKey{of.process, 0, 0}; };
    std::map<NeuronCoreKey, OrderedLists> lists;
    for (const size_t host : HostsInOrder()) lists[key_of(events_.host_calls[host].of)].first.push_back(host);
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      if (all_.executions[i].order_ns() != kNoValue) lists[key_of(all_.executions[i].of)].second.push_back(i);
    }
    const std::function<bool(size_t, size_t)> can_be = [&](size_t host, size_t execution) {
      const NeuronHostCall& call = events_.host_calls[host];
      const NeuronExecution& of = all_.executions[execution];
      return call.start_ns == kNoValue || of.start_ns == kNoValue || call.start_ns <= of.start_ns;
    };
    for (const auto& [key, of] : lists) {
      all_.by_order += MatchByOrder(of, all_.host_of_execution, can_be).Match(lost_oldest_);
    }
  }

  std::vector<size_t> HostsInOrder() const {
    std::vector<size_t> hosts(events_.host_calls.size());
    for (size_t i = 0; i < hosts.size(); ++i) hosts[i] = i;
    std::stable_sort(hosts.begin(), hosts.end(), [&](size_t a, size_t b) {
      return events_.host_calls[a].order_ns() < events_.host_calls[b].order_ns();
    });
    return hosts;
  }

  void CallsByIds() {
    std::map<int64_t, std::vector<size_t>> by_seq;
    std::map<int64_t, std::vector<size_t>> by_exec;
    for (size_t call = 0; call < events_.calls.size(); ++call) {
      if (events_.calls[call].seq_id != kNoValue) by_seq[events_.calls[call].seq_id].push_back(call);
      if (events_.calls[call].exec_id != kNoValue) by_exec[events_.calls[call].exec_id].push_back(call);
    }
    // Ids are those of a NeuronCore, and begin again: of several with one id the last one that began before counts,
    // where that is known.
    const auto find = [&](const std::map<int64_t, std::vector<size_t>>& by, int64_t id, int64_t nc, int64_t time_ns) {
      const auto calls = id == kNoValue ? by.end() : by.find(id);
      size_t found = kNobody;
      if (calls == by.end()) return found;
      int64_t fitting = 0;
      bool are_timed = time_ns != kNoValue;
      for (const size_t call : calls->second) {
        if (!MayBeSame(events_.calls[call].nc, nc)) continue;
        ++fitting;
        found = call;
        are_timed &= events_.calls[call].start_ns != kNoValue;
      }
      if (fitting < 2) return found;
      found = kNobody;
      if (!are_timed) return found;
      for (const size_t call : calls->second) {
        const int64_t start_ns = events_.calls[call].start_ns;
        if (!MayBeSame(events_.calls[call].nc, nc) || start_ns > time_ns) continue;
        if (found == kNobody || start_ns >= events_.calls[found].start_ns) found = call;
      }
      return found;
    };
    for (size_t host = 0; host < events_.host_calls.size(); ++host) {
      const NeuronHostCall& call = events_.host_calls[host];
      all_.call_of_host[host] = find(by_seq, call.seq_id, call.of.nc, call.start_ns);
      if (all_.call_of_host[host] == kNobody)
        all_.call_of_host[host] = find(by_exec, call.exec_id, call.of.nc, call.start_ns);
    }
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      const NeuronExecution& execution = all_.executions[i];
      all_.call_of_execution[i] = find(by_exec, execution.exec_id, execution.of.nc, execution.start_ns);
      if (all_.call_of_execution[i] == kNobody)
        all_.call_of_execution[i] = find(by_seq, execution.seq_id, execution.of.nc, execution.start_ns);
    }
  }

  // A host call belongs to the innermost program call around its beginning, on its thread.
  void CallsByTime() {
    Enclosing<int> calls;
    for (size_t call = 0; call < events_.calls.size(); ++call) {
      const NeuronProgramCall& of = events_.calls[call];
      if (of.start_ns != kNoValue && of.end_ns >= of.start_ns) calls.Add(0, of.start_ns, of.end_ns, call);
    }
    calls.Sort();
    const auto find = [&](int64_t time_ns, int64_t thread, int64_t nc) {
      size_t found = kNobody;
      if (time_ns == kNoValue) return found;
      calls.ForEach(0, time_ns, time_ns, [&](size_t call) {
        const NeuronProgramCall& of = events_.calls[call];
        if (!MayBeSame(of.thread, thread) || !MayBeSame(of.nc, nc)) return true;
        found = call;
        return false;
      });
      return found;
    };
    for (size_t host = 0; host < events_.host_calls.size(); ++host) {
      const NeuronHostCall& call = events_.host_calls[host];
      if (all_.call_of_host[host] == kNobody) all_.call_of_host[host] = find(call.start_ns, call.thread, call.of.nc);
    }
    if (!events_.host_calls.empty()) return;
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      const NeuronExecution& execution = all_.executions[i];
      if (all_.call_of_execution[i] == kNobody) {
        all_.call_of_execution[i] = find(execution.start_ns, kNoValue, execution.of.nc);
      }
    }
  }

  // Calls that tell nothing but their order, as nkipy records them.
  void CallsByOrder() {
    OrderedLists by_host;
    OrderedLists by_execution;
    for (size_t call = 0; call < events_.calls.size(); ++call) {
      const NeuronProgramCall& of = events_.calls[call];
      const bool has_place = of.start_ns != kNoValue || of.seq_id != kNoValue || of.exec_id != kNoValue;
      if (!has_place) by_host.first.push_back(call);
    }
    if (by_host.first.empty()) return;
    by_execution.first = by_host.first;
    by_host.second = HostsInOrder();
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      if (all_.executions[i].order_ns() != kNoValue) by_execution.second.push_back(i);
    }
    const std::function<bool(size_t, size_t)> can_be = [](size_t, size_t) { return true; };
    const bool lost_oldest = lost_oldest_ && AreOfOneNc();
    const bool fits_hosts = by_host.first.size() == by_host.second.size();
    const bool fits_executions = by_host.first.size() == by_execution.second.size();
    int64_t matched = 0;
    if (!by_host.second.empty() && (fits_hosts || (!fits_executions && lost_oldest))) {
      matched = MatchByOrder(by_host, all_.call_of_host, can_be).Match(lost_oldest && !fits_hosts);
    } else if (fits_executions || lost_oldest) {
      matched = MatchByOrder(by_execution, all_.call_of_execution, can_be).Match(lost_oldest && !fits_executions);
    }
    all_.by_order += matched;
    all_.not_in_order = static_cast<int64_t>(by_host.first.size()) - matched;
  }

  bool AreOfOneNc() const {
    const auto is_other = [&](const NeuronExecution& execution) {
      return !(execution.of == all_.executions.front().of);
    };
    return std::none_of(all_.executions.begin(), all_.executions.end(), is_other);
  }

  // An execution gets the program call of its host call, and the host call that of its execution.
  void TakeOver() {
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      const size_t host = all_.host_of_execution[i];
      if (host == kNobody) continue;
      if (all_.call_of_host[host] == kNobody) all_.call_of_host[host] = all_.call_of_execution[i];
    }
    for (size_t i = 0; i < all_.executions.size(); ++i) {
      const size_t host = all_.host_of_execution[i];
      if (host != kNobody && all_.call_of_execution[i] == kNobody) all_.call_of_execution[i] = all_.call_of_host[host];
    }
  }

  const NeuronEvents& events_;
  NeuronAttribution all_;
  std::set<std::pair<size_t, int64_t>> taken_;  // host calls, with the ids of executions that they have by them
  bool lost_oldest_ = false;
};

}  // namespace

NeuronAttribution Attribute(const NeuronEvents& events) {
  return Attributing(events).Run();
}

void NeuronReading::Add(const NeuronReading& other) {
  sync += other.sync;
  async += other.async;
  explicit_async += other.explicit_async;
  unseen += other.unseen;
}

std::string_view NeuronReading::word() const {
  const bool is_async = async + explicit_async > 0;
  if (!has_some() || (sync > 0 && is_async)) return "undecidable";
  return is_async ? "async" : "sync";
}

std::string NeuronReading::reason() const {
  const auto calls = [](int64_t count) { return std::to_string(count) + (count == 1 ? " call" : " calls"); };
  if (!has_some()) return "no host call matches";
  if (sync > 0 && async + explicit_async > 0) {
    return "calls disagree: " + std::to_string(sync) + " sync, " + std::to_string(async + explicit_async) + " async";
  }
  if (explicit_async > 0) return "nrta_execute_schedule returns at once (" + calls(explicit_async) + ")";
  if (async > 0) return "nrt_execute returns before its execution ends (" + calls(async) + ")";
  if (sync > 0) return "nrt_execute waits for its execution (" + calls(sync) + ")";
  return "nrt_execute waits, as its interface says: no execution matches (" + calls(unseen) + ")";
}

NeuronReading ReadingOf(const NeuronHostCall& host, const NeuronExecution* execution) {
  NeuronReading reading;
  if (host.is_async) {
    reading.explicit_async = 1;
    return reading;
  }
  // One without a length is a moment: when it returned is not known.
  const bool is_seen = execution != nullptr && host.end_ns != kNoValue && host.end_ns > host.start_ns &&
                       execution->start_ns != kNoValue && execution->end_ns != kNoValue;
  if (!is_seen) {
    reading.unseen = 1;
    return reading;
  }
  // The two clocks are put together to some microseconds: a little of it may stand out.
  constexpr int64_t kLargeShare = 10;
  const int64_t beyond_ns = execution->end_ns - host.end_ns;
  const bool is_async =
      execution->start_ns >= host.end_ns || beyond_ns > (execution->end_ns - execution->start_ns) / kLargeShare;
  ++(is_async ? reading.async : reading.sync);
  return reading;
}

}  // namespace kprof
