// A made trace of a Neuron runtime, as nrt_sys_trace gives it, with what is true of it: which call of a program took
// how much time of the device and of the host, and what each nanosecond of idle time belongs to. The truth comes from
// the events as they were made up, by plain steps over every nanosecond.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace kprof {

constexpr int64_t kMadeBaseNs = 1'780'000'000'000'000'000;

struct MadeShape {
  int lnc = 1;
  int ncs = 1;
  bool is_async = false;         // nrta_execute_schedule in place of nrt_execute
  bool is_lifted = false;        // events of the device have the time of their core's clock
  bool has_points = true;        // timestamp_sync_point
  bool points_by_local = false;  // which tell their core by nc_local_id alone
  bool drops = false;            // a ring buffer overwrote the oldest events
  enum class Calls { kTimes, kIds, kOrder } calls = Calls::kTimes;
  bool is_one_file = true;  // calls and events in one kernel profile

  std::string Text() const {
    return "lnc " + std::to_string(lnc) + ", ncs " + std::to_string(ncs) + (is_async ? ", async" : "") +
           (is_lifted ? ", lifted" : "") + (has_points ? "" : ", no points") + (points_by_local ? ", by local" : "") +
           (drops ? ", drops" : "") + ", calls " + std::to_string(static_cast<int>(calls)) +
           (is_one_file ? "" : ", two files");
  }
};

struct MadePlace {
  std::string file;
  int64_t line = 0;
  std::string kernel;
  bool operator<(const MadePlace& other) const {
    return std::tie(file, line, kernel) < std::tie(other.file, other.line, other.kernel);
  }
};

struct MadeSums {
  int64_t calls = 0;
  int64_t executions = 0;
  int64_t nc_ns = 0;
  int64_t nc_core_ns = 0;
  int64_t nrt_ns = 0;
  int64_t sure_nc_ns = 0;  // of executions whose rows and host calls are all there

  void Add(const MadeSums& other) {
    calls += other.calls;
    executions += other.executions;
    nc_ns += other.nc_ns;
    nc_core_ns += other.nc_core_ns;
    nrt_ns += other.nrt_ns;
    sure_nc_ns += other.sure_nc_ns;
  }
};

// Categories of idle time are in the order of IdleCategory.
struct MadeIdle {
  int64_t wall_ns = 0;
  int64_t busy_ns = 0;
  std::array<int64_t, 6> idle_ns{};
};

// The places of calls, and the idle time of each NeuronCore of which an execution has a place in time.
struct MadeTruth {
  std::map<MadePlace, MadeSums> places;  // of what is left of the trace, were all of it known
  MadeSums all;
  int64_t dropped = 0;
  std::map<int64_t, MadeIdle> cores;
};

class MadeSystemTrace {
 public:
  MadeSystemTrace(uint64_t seed, const MadeShape& shape) : shape_(shape), random_(seed) {
    MakeEvents();
    MakeHalves();
    MakeTruth();
  }

  // nrt_sys_trace's JSON, as it is fetched.
  std::string EventsJson() const {
    std::string json = "{\"events\":[";
    for (size_t i = 0; i < halves_.size(); ++i) json += (i == 0 ? "" : ",") + HalfJson(halves_[i], i);
    return json + "],\"data_version\":2}";
  }
  // The same as a tool prints it, behind its log.
  std::string SystemText() const {
    std::string text = "[INFO] reading {profile}\n";
    if (truth_.dropped > 0) {
      text += "Warning: " + std::to_string(truth_.dropped) + " trace events were dropped during capture (stored " +
              std::to_string(halves_.size()) + " out of " +
              std::to_string(halves_.size() + static_cast<size_t>(truth_.dropped)) + " total events).\n";
    }
    return text + EventsJson();
  }
  // A kernel profile with the calls, with the events or without.
  std::string ProfileText() const {
    std::string json = "{\"kernel_calls\":[";
    for (size_t i = 0; i < calls_.size(); ++i) {
      const Call& call = calls_[i];
      json += (i == 0 ? "" : ",");
      json += "{\"filename\":\"" + call.place.file + "\",\"lineno\":" + std::to_string(call.place.line) +
              ",\"kernel_name\":\"" + call.place.kernel + "\",\"call_index\":" + std::to_string(i);
      if (shape_.calls == MadeShape::Calls::kTimes) {
        json += ",\"thread_id\":" + std::to_string(call.thread) + ",\"start_ns\":" + Time(call.start) +
                ",\"end_ns\":" + Time(call.end);
      }
      if (shape_.calls == MadeShape::Calls::kIds) {
        json += ",\"nc_idx\":" + std::to_string(call.nc) + ",\"nrta_seq_id\":\"" + std::to_string(call.seq) + "\"";
      }
      json += "}";
    }
    json += "],\"events_json\":\"";
    if (shape_.is_one_file) {
      for (const char c : EventsJson()) json += c == '"' ? std::string("\\\"") : std::string(1, c);
    }
    json += "\"";
    if (shape_.is_one_file && truth_.dropped > 0) json += ",\"dropped_events\":" + std::to_string(truth_.dropped);
    return json + "}";
  }

  const MadeTruth& truth() const { return truth_; }
  const MadeShape& shape() const { return shape_; }

 private:
  enum Category { kD2h, kH2d, kMemory, kOverhead, kSync, kNone };
  static constexpr int64_t kNever = -1;

  struct Call {
    MadePlace place;
    int64_t nc = 0;
    int64_t thread = 0;
    int64_t start = 0;
    int64_t end = 0;
    int64_t seq = 0;
  };
  struct Event {
    std::string type;
    int64_t nc = 0;
    int64_t core = kNever;  // of the device
    int64_t thread = 0;
    int64_t start = 0;
    int64_t stop = 0;
    std::string data;  // of the start
    Category category = kNone;
    int64_t seq = kNever;
    int execution = -1;  // its number, for rows of the device and host calls
    bool is_point = false;
    int64_t tracking = 0;
    bool has_start = true;  // of what is left
    bool has_stop = true;
  };
  struct Half {
    size_t event = 0;
    bool is_stop = false;
    int64_t time = 0;
  };
  struct Execution {
    int call = 0;
    int64_t ns = 0;
  };

  int64_t Random(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }
  static std::string Time(int64_t time) { return std::to_string(kMadeBaseNs + time); }
  int64_t ClockOf(int64_t nc, int64_t core) const { return clocks_.at({nc, core}); }

  Event& Add(std::string type, int64_t nc, int64_t thread, int64_t start, int64_t stop, Category category,
             std::string data = "") {
    Event event;
    event.type = std::move(type);
    event.nc = nc;
    event.thread = thread;
    event.start = start;
    event.stop = stop;
    event.category = category;
    event.data = std::move(data);
    event.tracking = sequence_++ | (nc << 50);
    return events_.emplace_back(std::move(event));
  }

  void AddExecution(int64_t nc, int64_t start, int64_t ns, int64_t late, int64_t exec_id, int number) {
    for (int core = 0; core < shape_.lnc; ++core) {
      const int64_t begin = start + (core == 0 ? 0 : late);
      const int64_t end = start + ns - (core == 0 && shape_.lnc > 1 ? late : 0);
      Event& row = Add("nc_exec_running", nc, 0, begin, end, kNone,
                       "\"exec_id\":" + std::to_string(exec_id) + ",\"model_id\":7");
      const int64_t physical = nc * 2 + core;
      row.core = physical;
      row.execution = number;
      if (!shape_.has_points) continue;
      Event& point =
          Add("timestamp_sync_point", nc, 0, end + 1, end + 1, kNone, "\"exec_id\":" + std::to_string(exec_id));
      point.core = physical;  // `row` is gone: the events have grown
      point.is_point = true;
    }
  }

  // Transfers and the like around an execution, some within each other.
  int64_t AddHostWork(int64_t nc, int64_t thread, int64_t at) {
    const int64_t kind = Random(0, 3);
    const int64_t ns = Random(3, 60);
    if (kind == 0) {
      Add("nrt_tensor_read", nc, thread, at, at + ns, kD2h, "\"tensor_id\":\"3\",\"size\":\"4096\"");
      Add("tensor_block_while_exec", nc, thread, at + 1, at + 1 + ns / 3, kSync);
      Add("dmem_buf_copyout", nc, thread, at + 1 + ns / 3, at + ns - 1, kD2h);
    } else if (kind == 1) {
      Add("nrt_tensor_write", nc, thread, at, at + ns, kH2d);
      Add("dmem_buf_copyin", nc, thread, at + 1, at + ns, kH2d);
    } else if (kind == 2) {
      Add("nrt_tensor_allocate", nc, thread, at, at + ns, kMemory);
      Add("nrt_dma_mem_alloc", nc, thread, at, at + ns / 2 + 1, kMemory);
    } else {
      return at + ns;  // nothing of the runtime
    }
    return at + ns;
  }

  void MakeEvents() {
    for (int nc = 0; nc < shape_.ncs; ++nc) {
      for (int core = 0; core < 2; ++core) {
        clocks_[{nc, nc * 2 + core}] = Random(1, 9) * 1'000'000'000'000'000 + Random(0, 1'000'000'000'000);
      }
    }
    // Each takes a power of two, so a sum tells which ones are in it.
    const int per_nc = static_cast<int>(Random(1, 11 / shape_.ncs));
    std::vector<int64_t> powers;
    for (int i = 0; i < per_nc * shape_.ncs; ++i) powers.push_back(int64_t{1} << i);
    std::shuffle(powers.begin(), powers.end(), random_);
    const int places = static_cast<int>(Random(1, 4));
    for (int nc = 0; nc < shape_.ncs; ++nc) {
      int64_t at = Random(0, 40);
      int64_t free_at = 0;  // of the device
      for (int i = 0; i < per_nc; ++i) {
        const int number = static_cast<int>(executions_.size());
        const int64_t ns = powers[static_cast<size_t>(number)];
        const int64_t late = shape_.lnc > 1 && !shape_.drops ? Random(0, ns / 3) : 0;
        const int64_t thread = 100 + nc;
        if (Random(0, 1) == 1) at = AddHostWork(nc, thread, at) + Random(0, 5);
        Call call;
        const int64_t place = Random(0, places - 1);
        call.place = {place % 2 == 0 ? "/a/model.py" : "/b/model.py", 10 + place / 2,
                      "kernel_" + std::to_string(place)};
        call.nc = nc;
        call.thread = thread;
        call.seq = 9'007'199'254'740'993 + i;
        call.start = at;
        at += Random(1, 6);
        if (shape_.is_async) {
          Event& host = Add("nrta_execute_schedule", nc, thread, at, at + Random(1, 4), kNone);
          host.seq = call.seq;
          host.execution = number;
          at = host.stop + Random(1, 4);
          const int64_t begin = std::max(at, free_at) + Random(4, 20);
          Event& pre =
              Add("kbl_exec_pre", nc, 900 + nc, begin - 3, begin - 1, kOverhead, "\"exec_id\":" + std::to_string(i));
          pre.seq = call.seq;
          AddExecution(nc, begin, ns, late, i, number);
          free_at = begin + ns + 2;
        } else {
          const int64_t host_start = at;
          at += Random(1, 5);
          Add("kbl_exec_pre", nc, thread, at, at + 2, kOverhead,
              "\"exec_id\":" + std::to_string(i) + ",\"model_id\":7");
          at += Random(2, 9);
          AddExecution(nc, at, ns, late, i, number);
          at += ns + 2;
          if (Random(0, 2) > 0) Add("kbl_exec_post", nc, thread, at, at + 3, kOverhead);
          at += Random(3, 9);
          Event& host = Add("nrt_execute", nc, thread, host_start, at, kOverhead);
          host.execution = number;
          at += Random(1, 3);
        }
        call.end = at;
        executions_.push_back({static_cast<int>(calls_.size()), ns});
        calls_.push_back(call);
        at += Random(0, 30);
        if (Random(0, 1) == 1) at = AddHostWork(nc, thread, at) + Random(0, 9);
      }
      for (int64_t i = Random(0, 4); i > 0; --i) {
        const int64_t begin = Random(0, at);
        Add(i % 2 == 0 ? "nrt_async_sema_wait" : "nrt_tensor_free", nc, 500, begin, begin + Random(1, 90),
            i % 2 == 0 ? kSync : kMemory);
      }
      if (Random(0, 1) == 1) Add("hostcc_of_tomorrow", nc, 501, Random(0, 9), at, kNone);
    }
    // Calls come in the order of their times, whichever NeuronCore they are for.
    std::vector<int> order(calls_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return calls_[static_cast<size_t>(a)].start < calls_[static_cast<size_t>(b)].start;
    });
    std::vector<Call> sorted;
    std::vector<int> place_of(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      place_of[static_cast<size_t>(order[i])] = static_cast<int>(i);
      sorted.push_back(calls_[static_cast<size_t>(order[i])]);
    }
    calls_ = std::move(sorted);
    for (Execution& execution : executions_) execution.call = place_of[static_cast<size_t>(execution.call)];
  }

  void MakeHalves() {
    for (size_t i = 0; i < events_.size(); ++i) {
      halves_.push_back({i, false, events_[i].start});
      if (!events_[i].is_point) halves_.push_back({i, true, events_[i].stop});
    }
    std::stable_sort(halves_.begin(), halves_.end(), [](const Half& a, const Half& b) {
      return std::pair(a.time, !a.is_stop) < std::pair(b.time, !b.is_stop);
    });
    if (!shape_.drops) return;
    truth_.dropped = Random(1, static_cast<int64_t>(halves_.size()) * 2 / 3);
    for (int64_t i = 0; i < truth_.dropped; ++i) {
      Event& event = events_[halves_[static_cast<size_t>(i)].event];
      (halves_[static_cast<size_t>(i)].is_stop ? event.has_stop : event.has_start) = false;
      if (event.is_point) event.has_stop = false;
    }
    halves_.erase(halves_.begin(), halves_.begin() + truth_.dropped);
  }

  bool HasHostTime(const Event& event) const { return event.core == kNever || !shape_.is_lifted || shape_.has_points; }

  void MakeTruth() {
    struct Seen {
      int rows = 0;
      int64_t core_ns = 0;
      int64_t longest_ns = 0;
      bool has_host = false;
      int64_t host_ns = 0;
    };
    std::vector<Seen> seen(executions_.size());
    for (const Event& event : events_) {
      if (event.execution < 0 || !event.has_start || !event.has_stop) continue;
      Seen& of = seen[static_cast<size_t>(event.execution)];
      if (event.core == kNever) {
        of.has_host = true;
        of.host_ns = event.stop - event.start;
        continue;
      }
      ++of.rows;
      of.core_ns += event.stop - event.start;
      of.longest_ns = std::max(of.longest_ns, event.stop - event.start);
    }
    for (const Call& call : calls_) ++truth_.places[call.place].calls;
    for (size_t i = 0; i < executions_.size(); ++i) {
      MadeSums sums;
      sums.executions = seen[i].rows > 0 ? 1 : 0;
      const bool are_placed = !shape_.is_lifted || shape_.has_points;
      sums.nc_ns = seen[i].rows == shape_.lnc && are_placed ? executions_[i].ns : seen[i].longest_ns;
      sums.nc_core_ns = seen[i].core_ns;
      sums.nrt_ns = seen[i].host_ns;
      if (seen[i].rows == shape_.lnc && seen[i].has_host) sums.sure_nc_ns = sums.nc_ns;
      truth_.places[calls_[static_cast<size_t>(executions_[i].call)].place].Add(sums);
    }
    for (const auto& [place, sums] : truth_.places) truth_.all.Add(sums);
    MakeIdleTruth();
  }

  // What each nanosecond belongs to: later begins paint over earlier ones, executions over all.
  void MakeIdleTruth() {
    std::optional<int64_t> first;
    std::optional<int64_t> last;
    std::vector<const Event*> in_order;
    for (const Event& event : events_) {
      if (event.is_point || !HasHostTime(event)) continue;
      for (const auto& [has, time] : {std::pair(event.has_start, event.start), std::pair(event.has_stop, event.stop)}) {
        if (!has) continue;
        first = std::min(first.value_or(time), time);
        last = std::max(last.value_or(time), time);
      }
      if (event.has_start && event.has_stop) in_order.push_back(&event);
    }
    if (!first) return;
    std::stable_sort(in_order.begin(), in_order.end(), [](const Event* a, const Event* b) {
      return std::tuple(a->start, -a->stop, a->category) < std::tuple(b->start, -b->stop, b->category);
    });
    for (const Event* event : in_order) {
      if (event->core == kNever || truth_.cores.contains(event->nc)) continue;
      truth_.cores[event->nc] = IdleTruthOf(event->nc, in_order, *first, *last);
    }
  }

  static MadeIdle IdleTruthOf(int64_t nc, const std::vector<const Event*>& in_order, int64_t first, int64_t last) {
    MadeIdle truth;
    truth.wall_ns = last - first;
    constexpr int kBusy = 6;
    std::vector<int> of_ns(static_cast<size_t>(truth.wall_ns), kNone);
    const auto paint = [&](const Event& event, int what) {
      for (int64_t time = event.start; time < event.stop; ++time) of_ns[static_cast<size_t>(time - first)] = what;
    };
    for (const Event* event : in_order) {
      if (event->nc == nc && event->category != kNone) paint(*event, event->category);
    }
    for (const Event* event : in_order) {
      if (event->nc == nc && event->core != kNever) paint(*event, kBusy);
    }
    for (const int what : of_ns) {
      if (what == kBusy) {
        ++truth.busy_ns;
      } else {
        ++truth.idle_ns[static_cast<size_t>(what)];
      }
    }
    return truth;
  }

  std::string HalfJson(const Half& half, size_t number) const {
    const Event& event = events_[half.event];
    const bool is_of_device = event.core != kNever;
    std::string data = half.is_stop ? "" : event.data;
    const auto add = [&](const std::string& key, int64_t value) {
      data += (data.empty() ? "\"" : ",\"") + key + "\":" + std::to_string(value);
    };
    int64_t time = kMadeBaseNs + half.time;
    if (is_of_device) {
      const int64_t device = half.time + ClockOf(event.nc, event.core);
      add("nc_timestamp_ns", device);
      const bool tells_core = !half.is_stop && (!event.is_point || !shape_.points_by_local);
      if (tells_core) add("device_core_idx", event.core);
      if (event.is_point) add("cpu_timestamp_ns", kMadeBaseNs + half.time);
      if (shape_.is_lifted) time = device;
    }
    const char* phase = event.is_point ? "instant" : half.is_stop ? "stop" : "start";
    std::string json = "{\"event_type\":\"" + event.type + "\",\"phase\":\"" + phase +
                       "\",\"id\":" + std::to_string(number) + ",\"nc_idx\":" + std::to_string(event.nc) +
                       ",\"nc_local_id\":" + std::to_string(is_of_device ? event.core % 2 : 0) +
                       ",\"tracking_id\":" + std::to_string(event.tracking) +
                       ",\"thread_id\":" + std::to_string(event.thread) + ",\"worker_gid\":0,\"data\":{" + data +
                       "},\"timestamp_ns\":" + std::to_string(time);
    if (event.seq != kNever) json += ",\"nrta_seq_id\":" + std::to_string(event.seq);
    return json + "}";
  }

  const MadeShape shape_;
  std::mt19937_64 random_;
  std::map<std::pair<int64_t, int64_t>, int64_t> clocks_;  // by nc and core
  std::vector<Event> events_;
  std::vector<Half> halves_;
  std::vector<Call> calls_;
  std::vector<Execution> executions_;
  int64_t sequence_ = 0;
  MadeTruth truth_;
};

}  // namespace kprof
