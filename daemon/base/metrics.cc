#include "daemon/base/metrics.h"

#include <algorithm>
#include <utility>

#include "daemon/base/metrics_text.h"

namespace kprof {
namespace {

bool IsMetricName(const std::string& name) {
  auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ':'; };
  return !name.empty() && (name[0] < '0' || name[0] > '9') && std::all_of(name.begin(), name.end(), fits);
}

}  // namespace

Histogram::Histogram(std::span<const double> bounds) : bounds_(bounds) {
  KPROF_CHECK(bounds.size() <= kMostBounds);
  KPROF_CHECK(std::is_sorted(bounds.begin(), bounds.end(), std::less_equal<>()));
}

void Histogram::Observe(double value) {
  size_t place = 0;
  while (place < bounds_.size() && !(value <= bounds_[place])) ++place;
  counts_[place].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Metrics::Described& Metrics::Describe(const std::string& name, const std::string& help,
                                      std::vector<std::string> labels) {
  KPROF_CHECK(IsMetricName(name));
  KPROF_CHECK(!help.empty());
  auto [place, is_new] = families_.try_emplace(name);
  KPROF_CHECK(is_new);
  place->second.help = help;
  place->second.labels = std::move(labels);
  return place->second;
}

Family<Counter>& Metrics::AddCounters(const std::string& name, const std::string& help,
                                      std::vector<std::string> labels) {
  KPROF_CHECK(name.ends_with("_total"));
  MutexLock lock(mu_);
  Described& family = Describe(name, help, std::move(labels));
  family.counters = std::make_unique<Family<Counter>>(family.labels.size(), [] { return std::make_unique<Counter>(); });
  return *family.counters;
}

Family<Gauge>& Metrics::AddGauges(const std::string& name, const std::string& help, std::vector<std::string> labels) {
  MutexLock lock(mu_);
  Described& family = Describe(name, help, std::move(labels));
  family.gauges = std::make_unique<Family<Gauge>>(family.labels.size(), [] { return std::make_unique<Gauge>(); });
  return *family.gauges;
}

Family<Histogram>& Metrics::AddHistograms(const std::string& name, const std::string& help,
                                          std::vector<std::string> labels, std::span<const double> bounds) {
  MutexLock lock(mu_);
  Described& family = Describe(name, help, std::move(labels));
  family.histograms = std::make_unique<Family<Histogram>>(family.labels.size(),
                                                          [bounds] { return std::make_unique<Histogram>(bounds); });
  return *family.histograms;
}

void Metrics::BeforeText(std::function<void()> look) {
  MutexLock lock(mu_);
  looks_.push_back(std::move(look));
}

std::string Metrics::Text() {
  MutexLock lock(mu_);
  for (const auto& look : looks_) look();
  MetricsText text;
  for (const auto& [name, family] : families_) {
    if (family.counters) text.AddCounters(name, family.help, family.labels, *family.counters);
    if (family.gauges) text.AddGauges(name, family.help, family.labels, *family.gauges);
    if (family.histograms) text.AddHistograms(name, family.help, family.labels, *family.histograms);
  }
  return text.Take();
}

}  // namespace kprof
