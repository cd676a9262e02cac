// The daemon's own metrics: counters, gauges and histograms, in families that Prometheus understands. A room makes its
// families once and keeps references to the values that it changes. Metrics::Text gives all of them as text. Knows
// nothing of the things that are counted; docs/metrics.md lists the families.
//
//   Family<Counter>& ended =
//       metrics.AddCounters("kprof_runs_ended_total", "Runs that have ended.", {"tool", "outcome"});
//   ended.With({"command", "done"}).Add();
//
// Any thread. Changing a value is one or two relaxed atomic operations. With() takes a lock and searches: a value that
// changes often is looked up once and kept. Values and families live as long as their Metrics, which must outlive its
// users.
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
  // For a count that is kept elsewhere: the value that it has reached.
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

// Counts of the observed values between some fixed bounds, and the values' sum.
class Histogram {
 public:
  // REQUIRES: `bounds` ascend, are at most kMostBounds, and outlive it: they are meant to be constants.
  static constexpr size_t kMostBounds = 20;
  explicit Histogram(std::span<const double> bounds);

  void Observe(double value);

  std::span<const double> bounds() const { return bounds_; }
  // Values above bound `i - 1` and at most bound `i`; i == bounds().size(): values above all bounds.
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

// Bounds for work: 0.1 ms to 10 s.
inline constexpr double kShortSeconds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                           0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
// Bounds for the waits of people and jobs: 10 ms to a day.
inline constexpr double kLongSeconds[] = {0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600};

// The values of one name, told apart by the values of its labels.
template <typename Value>
class Family {
 public:
  // A label never stands for a user, a run or anything else without end. Should there be more values than this all the
  // same, the rest share one value whose labels are all "other".
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

  // For values that are looked up, not counted. Text calls `look` first, on its own thread, where it may block; `look`
  // sets the values. It must not add anything.
  void BeforeText(std::function<void()> look);

  // All families in the order of their names, in Prometheus' text format 0.0.4. One at a time: a second one waits.
  std::string Text();
  static constexpr char kContentType[] = "text/plain; version=0.0.4; charset=utf-8";

 private:
  struct Described {
    std::string help;
    std::vector<std::string> labels;
    std::unique_ptr<Family<Counter>> counters;  // one of these three is there
    std::unique_ptr<Family<Gauge>> gauges;
    std::unique_ptr<Family<Histogram>> histograms;
  };
  Described& Describe(const std::string& name, const std::string& help, std::vector<std::string> labels)
      KPROF_REQUIRES(mu_);

  Mutex mu_;
  std::map<std::string, Described> families_ KPROF_GUARDED_BY(mu_);
  std::vector<std::function<void()>> looks_ KPROF_GUARDED_BY(mu_);
};

// Counts the daemon's open, accepted and refused connections, by listener: `rpc` or `http`. `tcp` stands for
// connections of other nodes that were refused before they could speak either. Any thread; `metrics` must outlive it.
class ConnectionMetrics {
 public:
  explicit ConnectionMetrics(Metrics& metrics)
      : open_(metrics.AddGauges("kprof_connections_open", "Connections that are open.", {"listener"})),
        accepted_(metrics.AddCounters("kprof_connections_accepted_total", "Connections taken.", {"listener"})),
        refused_(metrics.AddCounters("kprof_connections_refused_total", "Connections that were turned away.",
                                     {"listener", "reason"})) {}

  Gauge& Open(const std::string& listener) { return open_.With({listener}); }
  Counter& Accepted(const std::string& listener) { return accepted_.With({listener}); }
  // `reason`: one of a few fixed words, "too_many", "no_role"...
  Counter& Refused(const std::string& listener, const std::string& reason) { return refused_.With({listener, reason}); }

 private:
  Family<Gauge>& open_;
  Family<Counter>& accepted_;
  Family<Counter>& refused_;
};

// Adds the metrics of this process, read from /proc under the names that every Prometheus client uses (process_*), and
// the number of log lines dropped. They are read anew for each text. `version`: "0.1.0", for kprof_build_info.
void AddProcessMetrics(Metrics& metrics, const std::string& version);

// Writes families in Prometheus' text format 0.0.4: HELP, TYPE, a line per value. A family without values gets HELP and
// TYPE all the same.
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

// The shortest text that gives the same number back, as Go's ParseFloat reads it; "+Inf", "-Inf", "NaN".
std::string MetricNumber(double value);

}  // namespace kprof
