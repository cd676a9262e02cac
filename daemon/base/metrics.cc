#include "daemon/base/metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "daemon/base/log.h"
#include "storage/base/clock.h"
#include "storage/base/readable_text.h"

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

namespace {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_ticks = 0;  // since boot
  double virtual_bytes = 0;
  double resident_bytes = 0;
};

// /proc/self/stat: the name is in parentheses and may hold anything, so fields are counted from its end.
std::optional<ProcessFacts> ReadProcessFacts() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  double user_ticks = 0;
  double system_ticks = 0;
  double resident_pages = 0;
  ProcessFacts facts;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  fields >> user_ticks >> system_ticks;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  fields >> facts.start_ticks >> facts.virtual_bytes >> resident_pages;
  if (!fields) return std::nullopt;
  facts.cpu_seconds = (user_ticks + system_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  facts.resident_bytes = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return facts;
}

double CountOpenDescriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that counts
}

double MaxDescriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<double>(limit.rlim_cur) : 0;
}

double ReadStartTimeSeconds(double start_ticks) {
  const double since_boot = start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  const double boot_seconds = SecondsOf(ReadClockNs(CLOCK_REALTIME)) - SecondsOf(ReadClockNs(CLOCK_BOOTTIME));
  return boot_seconds + since_boot;
}

}  // namespace

void AddProcessMetrics(Metrics& metrics, const std::string& version) {
  metrics.AddGauges("kprof_build_info", "Always 1; its label says what runs.", {"version"}).With({version}).Set(1);
  Counter& cpu = metrics.AddCounter("process_cpu_seconds_total", "User and system CPU time of the daemon in seconds.");
  Gauge& open_fds = metrics.AddGauge("process_open_fds", "Open file descriptors of the daemon.");
  Gauge& max_fds = metrics.AddGauge("process_max_fds", "How many file descriptors the daemon may have open.");
  Gauge& virtual_bytes = metrics.AddGauge("process_virtual_memory_bytes", "Virtual memory of the daemon in bytes.");
  Gauge& resident_bytes = metrics.AddGauge("process_resident_memory_bytes", "Resident memory of the daemon in bytes.");
  Gauge& start_time =
      metrics.AddGauge("process_start_time_seconds", "When the daemon was started, in seconds since the Unix epoch.");
  Counter& dropped_lines =
      metrics.AddCounter("kprof_log_lines_dropped_total", "Log lines that standard error did not take in time.");
  // Once: the system's clock may be set, the start stays where it was.
  if (std::optional<ProcessFacts> facts = ReadProcessFacts()) start_time.Set(ReadStartTimeSeconds(facts->start_ticks));
  metrics.BeforeText([&cpu, &open_fds, &max_fds, &virtual_bytes, &resident_bytes, &dropped_lines] {
    if (std::optional<ProcessFacts> facts = ReadProcessFacts()) {
      cpu.AdvanceTo(facts->cpu_seconds);
      virtual_bytes.Set(facts->virtual_bytes);
      resident_bytes.Set(facts->resident_bytes);
    }
    open_fds.Set(CountOpenDescriptors());
    max_fds.Set(MaxDescriptors());
    dropped_lines.AdvanceTo(static_cast<double>(LogLinesDropped()));
  });
}

namespace {

// A backslash, a line end and, within quotes, a quote.
void AppendEscaped(std::string& out, std::string_view text, bool quoted) {
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quoted && c == '"')) out += '\\';
    out += c;
  }
}

}  // namespace

std::string MetricNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[32];
  const std::to_chars_result end = std::to_chars(std::begin(digits), std::end(digits), value);
  return std::string(digits, end.ptr);
}

void MetricsText::AddHead(std::string_view name, std::string_view help, std::string_view type) {
  text_.append("# HELP ").append(name).append(" ");
  AppendEscaped(text_, help, false);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsText::AddLine(std::string_view name, std::string_view suffix, const Names& labels, const Names& values,
                          std::string_view bound, double value) {
  text_.append(name).append(suffix);
  char before = '{';
  auto add_label = [&](std::string_view label, std::string_view label_value) {
    text_ += std::exchange(before, ',');
    text_.append(label).append("=\"");
    AppendEscaped(text_, label_value, true);
    text_ += '"';
  };
  // Bytes that are no UTF-8 would make Prometheus throw away the whole page.
  for (size_t i = 0; i < labels.size(); ++i) add_label(labels[i], ReadableText(values[i]));
  if (!bound.empty()) add_label("le", bound);
  if (before == ',') text_ += '}';
  text_.append(" ").append(MetricNumber(value)).append("\n");
}

void MetricsText::AddCounters(std::string_view name, std::string_view help, const Names& labels,
                              const Family<Counter>& family) {
  AddHead(name, help, "counter");
  family.ForEach(
      [&](const Names& values, const Counter& counter) { AddLine(name, "", labels, values, "", counter.value()); });
}

void MetricsText::AddGauges(std::string_view name, std::string_view help, const Names& labels,
                            const Family<Gauge>& family) {
  AddHead(name, help, "gauge");
  family.ForEach(
      [&](const Names& values, const Gauge& gauge) { AddLine(name, "", labels, values, "", gauge.value()); });
}

void MetricsText::AddHistograms(std::string_view name, std::string_view help, const Names& labels,
                                const Family<Histogram>& family) {
  AddHead(name, help, "histogram");
  family.ForEach([&](const Names& values, const Histogram& histogram) {
    const double sum = histogram.sum();
    uint64_t count = 0;  // added up here, so that the last bucket and the count agree while others observe
    for (size_t i = 0; i < histogram.bounds().size(); ++i) {
      count += histogram.count(i);
      AddLine(name, "_bucket", labels, values, MetricNumber(histogram.bounds()[i]), static_cast<double>(count));
    }
    count += histogram.count(histogram.bounds().size());
    AddLine(name, "_bucket", labels, values, "+Inf", static_cast<double>(count));
    AddLine(name, "_sum", labels, values, "", sum);
    AddLine(name, "_count", labels, values, "", static_cast<double>(count));
  });
}

}  // namespace kprof
