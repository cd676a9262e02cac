// What the daemon counts of itself: counters, gauges and histograms, in families that Prometheus understands. Rooms
// make their families once and keep references to the values that they change; who asks gets all of it as text
// (metrics.h). Knows nothing of what is counted; docs/metrics.md lists the families.
//
//   Family<Counter>& ended = metrics.AddCounters("kprof_runs_ended_total", "Runs that have ended.", {"tool",
//   "outcome"}); ended.With({"command", "done"}).Add();
//
// Any thread. Changing a value is one or two relaxed atomic operations; With takes a lock and a search, so what changes
// often is looked up once and kept. Values and families live as long as their Metrics, which must outlive its users.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// Only goes up.
class Counter {
 public:
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  // For what somebody else counts: the value that it has reached.
  void AdvanceTo(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Goes up and down.
class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  void Subtract(double amount = 1) { Add(-amount); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// How many of what was observed were no larger than each of some fixed bounds, and their sum.
class Histogram {
 public:
  // REQUIRES: `bounds` ascend, are at most kMostBounds, and outlive it: they are meant to be constants.
  static constexpr size_t kMostBounds = 20;
  explicit Histogram(std::span<const double> bounds);

  void Observe(double value);

  std::span<const double> bounds() const { return bounds_; }
  // How many fell between bound `i` and the one before it; at bounds().size(): above all of them.
  uint64_t count(size_t i) const { return counts_[i].load(std::memory_order_relaxed); }
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  const std::span<const double> bounds_;
  std::array<std::atomic<uint64_t>, kMostBounds + 1> counts_{};
  std::atomic<double> sum_{0};
};

// Prometheus counts time in seconds.
constexpr double SecondsOf(int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// Of a thing that takes from some microseconds to some seconds.
inline constexpr double kShortSeconds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                           0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
// Of what a person or a job waits for.
inline constexpr double kLongSeconds[] = {0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

// The values of one name, told apart by the values of its labels.
template <typename Value>
class Family {
 public:
  // A label never stands for a user, a run or anything else of which there is no end; should it all the same, what
  // comes after this many goes to one value whose labels are all "other".
  static constexpr size_t kMostValues = 256;

  using Make = std::function<std::unique_ptr<Value>()>;
  Family(size_t labels, Make make) : labels_(labels), make_(std::move(make)) {}
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  // REQUIRES: as many as the family has labels.
  Value& With(const std::vector<std::string>& label_values) {
    KPROF_CHECK(label_values.size() == labels_);
    MutexLock lock(mu_);
    if (auto found = values_.find(label_values); found != values_.end()) return *found->second;
    const bool full = values_.size() >= kMostValues;
    std::unique_ptr<Value>& value = values_[full ? std::vector<std::string>(labels_, "other") : label_values];
    if (!value) value = make_();
    return *value;
  }

  // In the order of the labels' values.
  void ForEach(const std::function<void(const std::vector<std::string>&, const Value&)>& take) const {
    MutexLock lock(mu_);
    for (const auto& [label_values, value] : values_) take(label_values, *value);
  }

 private:
  const size_t labels_;
  const Make make_;
  mutable Mutex mu_;
  std::map<std::vector<std::string>, std::unique_ptr<Value>> values_ KPROF_GUARDED_BY(mu_);
};

class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // REQUIRES: a name is given once and is one of Prometheus ([a-z_:][a-z0-9_:]*); a counter's ends in _total.
  Family<Counter>& AddCounters(const std::string& name, const std::string& help, std::vector<std::string> labels);
  Family<Gauge>& AddGauges(const std::string& name, const std::string& help, std::vector<std::string> labels);
  Family<Histogram>& AddHistograms(const std::string& name, const std::string& help, std::vector<std::string> labels,
                                   std::span<const double> bounds);
  // The same for a family of one value, without labels.
  Counter& AddCounter(const std::string& name, const std::string& help) { return AddCounters(name, help, {}).With({}); }
  Gauge& AddGauge(const std::string& name, const std::string& help) { return AddGauges(name, help, {}).With({}); }
  Histogram& AddHistogram(const std::string& name, const std::string& help, std::span<const double> bounds) {
    return AddHistograms(name, help, {}, bounds).With({});
  }

  // For what is looked up rather than counted: called before each Text, on its thread, where it may block; sets values.
  // Must not add anything.
  void BeforeText(std::function<void()> look);

  // All families in the order of their names, in Prometheus' text format 0.0.4. One at a time: a second one waits.
  std::string Text();
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct Described {
    std::string help;
    std::vector<std::string> labels;
    std::unique_ptr<Family<Counter>> counters;  // of these three one
    std::unique_ptr<Family<Gauge>> gauges;
    std::unique_ptr<Family<Histogram>> histograms;
  };
  Described& Describe(const std::string& name, const std::string& help, std::vector<std::string> labels)
      KPROF_REQUIRES(mu_);

  Mutex mu_;
  std::map<std::string, Described> families_ KPROF_GUARDED_BY(mu_);
  std::vector<std::function<void()>> looks_ KPROF_GUARDED_BY(mu_);
};

// How many connections the daemon has, and how many it refused, by what they speak: `rpc` or `http`; `tcp` are those of
// other nodes that were refused before they could speak either. Values are kept by reference; see metrics.h.
class ConnectionMetrics {
 public:
  explicit ConnectionMetrics(Metrics& metrics)
      : open_(metrics.AddGauges("kprof_connections_open", "Connections that are open.", {"listener"})),
        accepted_(metrics.AddCounters("kprof_connections_accepted_total", "Connections taken.", {"listener"})),
        refused_(metrics.AddCounters("kprof_connections_refused_total", "Connections that were turned away.",
                                     {"listener", "reason"})) {}

  Gauge& Open(const std::string& listener) { return open_.With({listener}); }
  Counter& Accepted(const std::string& listener) { return accepted_.With({listener}); }
  // `reason`: of a few fixed words, "too_many", "no_role"...
  Counter& Refused(const std::string& listener, const std::string& reason) { return refused_.With({listener, reason}); }

 private:
  Family<Gauge>& open_;
  Family<Counter>& accepted_;
  Family<Counter>& refused_;
};

// What /proc says of this process, under the names that every Prometheus client uses (process_*), and what the log had
// to drop.

// Adds the families; they are looked up for each text. `version`: "0.1.0", for kprof_build_info.
void AddProcessMetrics(Metrics& metrics, const std::string& version);

// Families of metrics as Prometheus reads them, text format 0.0.4: HELP, TYPE, a line per value. A family that has no
// values yet says what it is all the same.
class MetricsText {
 public:
  using Names = std::vector<std::string>;

  void AddCounters(std::string_view name, std::string_view help, const Names& labels, const Family<Counter>& family);
  void AddGauges(std::string_view name, std::string_view help, const Names& labels, const Family<Gauge>& family);
  void AddHistograms(std::string_view name, std::string_view help, const Names& labels,
                     const Family<Histogram>& family);

  std::string Take() { return std::move(text_); }

 private:
  void AddHead(std::string_view name, std::string_view help, std::string_view type);
  // `bound`: of a bucket; empty for any other line.
  void AddLine(std::string_view name, std::string_view suffix, const Names& labels, const Names& values,
               std::string_view bound, double value);

  std::string text_;
};

// As Go's ParseFloat takes it: the shortest that gives the same number back, "+Inf", "-Inf", "NaN".
std::string MetricNumber(double value);

}  // namespace kprof
