#include "daemon/runs/command/reported_metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kMostLaunch = int64_t{1} << 53;
constexpr size_t kShownBytes = 200;

Status NoMetric(std::string why) {
  return Fail(ErrorCode::kBadInput, "read a metric", std::move(why));
}

// A flat JSON object, strictly. Each Take advances behind what it took.
class MetricLine {
 public:
  explicit MetricLine(std::string_view text) : rest_(text) {}

  Result<MetricRow> Read() {
    if (!Take('{')) return NoMetric("it is no JSON object");
    MetricRow metric;
    if (!Take('}')) {
      do {
        std::string key;
        SkipBlank();
        if (!TakeString(key) || !Take(':')) return NoMetric("it is no JSON object of names and values");
        RETURN_IF_ERROR(TakeMember(key, metric));
      } while (Take(','));
      if (!Take('}')) return NoMetric("its JSON object does not end");
    }
    SkipBlank();
    if (!rest_.empty()) return NoMetric("something stands behind its JSON object");
    if (!has_name_) return NoMetric("it has no \"name\"");
    if (!has_value_) return NoMetric("it has no \"value\"");
    if (metric.launch && metric.kernel.empty()) return NoMetric("it has a \"launch\" and no \"kernel\"");
    return metric;
  }

 private:
  Status TakeMember(const std::string& key, MetricRow& metric) {
    SkipBlank();
    if (key == "name") return TakeText(key, kMostMetricNameBytes, has_name_, metric.name);
    if (key == "unit") return TakeText(key, kMostMetricUnitBytes, has_unit_, metric.unit);
    if (key == "kernel") return TakeText(key, kMostKernelNameBytes, has_kernel_, metric.kernel);
    if (key == "value") {
      if (std::exchange(has_value_, true)) return Twice(key);
      const std::optional<double> value = TakeNumber();
      if (!value) return NoMetric("its \"value\" is no number");
      metric.value = *value;
      return OkStatus();
    }
    if (key == "launch") {
      if (metric.launch) return Twice(key);
      const std::optional<double> launch = TakeNumber();
      const bool is_one =
          launch && *launch >= 0 && *launch < static_cast<double>(kMostLaunch) && *launch == std::floor(*launch);
      if (!is_one) return NoMetric("its \"launch\" is no whole number from 0 on");
      metric.launch = static_cast<int64_t>(*launch);
      return OkStatus();
    }
    return NoMetric("\"" + ClippedText(key, kShownBytes) + "\" is none of name, value, unit, kernel, launch");
  }

  static Status Twice(const std::string& key) { return NoMetric("it has \"" + key + "\" twice"); }

  Status TakeText(const std::string& key, size_t most_bytes, bool& has, std::string& to) {
    if (std::exchange(has, true)) return Twice(key);
    if (!TakeString(to)) return NoMetric("its \"" + key + "\" is no text");
    if (to.empty() && key != "unit") return NoMetric("its \"" + key + "\" is empty");
    if (to.size() > most_bytes) {
      return NoMetric("its \"" + key + "\" has more than " + std::to_string(most_bytes) + " bytes");
    }
    const bool is_plain = std::none_of(to.begin(), to.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20; });
    if (!is_plain || !IsUtf8(to)) return NoMetric("its \"" + key + "\" is not UTF-8, or has control characters");
    return OkStatus();
  }

  void SkipBlank() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')) rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipBlank();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool TakeString(std::string& to) {
    if (rest_.empty() || rest_[0] != '"') return false;
    rest_.remove_prefix(1);
    to.clear();
    while (!rest_.empty()) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (c == '"') return true;
      if (static_cast<uint8_t>(c) < 0x20) return false;
      if (c != '\\') {
        to += c;
      } else if (!TakeEscape(to)) {
        return false;
      }
    }
    return false;
  }

  bool TakeEscape(std::string& to) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t at = kLetters.find(c); at != kLetters.npos) {
      to += kMeanings[at];
      return true;
    }
    if (c != 'u') return false;
    std::optional<uint32_t> point = TakeHex();
    if (point && *point >= 0xd800 && *point < 0xdc00 && rest_.starts_with("\\u")) {
      rest_.remove_prefix(2);
      const std::optional<uint32_t> low = TakeHex();
      if (!low || *low < 0xdc00 || *low >= 0xe000) return false;
      point = 0x10000 + ((*point - 0xd800) << 10) + (*low - 0xdc00);
    }
    if (!point || (*point >= 0xd800 && *point < 0xe000)) return false;
    AppendPoint(*point, to);
    return true;
  }

  std::optional<uint32_t> TakeHex() {
    uint32_t value = 0;
    if (rest_.size() < 4) return std::nullopt;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, value, 16);
    if (error != std::errc() || end != rest_.data() + 4) return std::nullopt;
    rest_.remove_prefix(4);
    return value;
  }

  static void AppendPoint(uint32_t point, std::string& to) {
    const auto tail = [&](int shift) { to += static_cast<char>(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x80) {
      to += static_cast<char>(point);
    } else if (point < 0x800) {
      to += static_cast<char>(0xc0 | point >> 6);
      tail(0);
    } else if (point < 0x10000) {
      to += static_cast<char>(0xe0 | point >> 12);
      tail(6);
      tail(0);
    } else {
      to += static_cast<char>(0xf0 | point >> 18);
      tail(12);
      tail(6);
      tail(0);
    }
  }

  // As JSON writes numbers: no plus, no leading zeros, digits on both sides of a point; and finite.
  std::optional<double> TakeNumber() {
    size_t size = 0;
    const auto digits = [&] {
      const size_t first = size;
      while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
      return size - first;
    };
    const auto is = [&](std::string_view any) { return size < rest_.size() && any.find(rest_[size]) != any.npos; };
    if (is("-")) ++size;
    const bool leads_with_zero = is("0");
    const size_t whole = digits();
    if (whole == 0 || (leads_with_zero && whole > 1)) return std::nullopt;
    if (is(".")) {
      ++size;
      if (digits() == 0) return std::nullopt;
    }
    if (is("eE")) {
      ++size;
      if (is("+-")) ++size;
      if (digits() == 0) return std::nullopt;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + size, value);
    if (error != std::errc() || end != rest_.data() + size || !std::isfinite(value)) return std::nullopt;
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool has_name_ = false;
  bool has_value_ = false;
  bool has_unit_ = false;
  bool has_kernel_ = false;
};

// Which metric a row is.
using MetricKey = std::tuple<std::string, int64_t, std::string>;

MetricKey MetricKeyOf(const MetricRow& metric) {
  return {metric.kernel, metric.launch.value_or(-1), metric.name};
}

}  // namespace

Result<MetricRow> ReadMetricLine(std::string_view line) {
  return MetricLine(line).Read();
}

void ReportedMetrics::NoteBad(int64_t line, const std::string& why) {
  if (++bad_lines == 1) first_bad = "line " + std::to_string(line) + ": " + why;
}

ReportedMetrics ReadReportedMetrics(std::string_view text, int64_t dropped_bytes) {
  ReportedMetrics reported;
  reported.dropped_bytes = dropped_bytes;
  if (dropped_bytes > 0) {  // its last line is cut off
    const size_t whole = text.rfind('\n') + 1;
    reported.dropped_bytes += static_cast<int64_t>(text.size() - whole);
    text = text.substr(0, whole);
  }
  std::map<MetricKey, size_t> places;
  size_t totals = 0;
  for (int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    ++reported.lines;
    Result<MetricRow> metric = ReadMetricLine(line);
    if (!metric.ok()) {
      reported.NoteBad(number, metric.status().why());
      continue;
    }
    const auto found = places.find(MetricKeyOf(*metric));
    if (found != places.end()) {
      reported.rows[found->second] = {*std::move(metric), number};
      continue;
    }
    const bool is_total = metric->kernel.empty();
    const size_t kernels = reported.rows.size() - totals;
    if (is_total ? totals >= kMostReportedTotals : kernels >= kMostReportedKernelMetrics) {
      ++reported.left_out;
      continue;
    }
    totals += is_total ? 1 : 0;
    places.emplace(MetricKeyOf(*metric), reported.rows.size());
    reported.rows.push_back({*std::move(metric), number});
  }
  return reported;
}

void AddReportedMetrics(ReportedMetrics reported, RunRow& row, std::vector<MetricRow>& kernel_metrics) {
  const size_t own = row.metrics.size();
  for (ReportedMetrics::Row& each : reported.rows) {
    MetricRow& metric = each.metric;
    if (!metric.kernel.empty()) {
      kernel_metrics.push_back(std::move(metric));
      continue;
    }
    const auto end = row.metrics.begin() + static_cast<ptrdiff_t>(own);
    if (std::any_of(row.metrics.begin(), end, [&](const MetricRow& has) { return has.name == metric.name; })) {
      reported.NoteBad(each.line, "\"" + metric.name + "\" is measured by kprofd itself");
      continue;
    }
    row.metrics.push_back(std::move(metric));
  }
  if (reported.bad_lines > 0) {
    row.trust.push_back(
        {kMetricsNotUnderstood, std::to_string(reported.bad_lines) + " of " + std::to_string(reported.lines) +
                                    " lines in $KPROF_METRICS are no metrics; the first, " + reported.first_bad});
  }
  if (reported.left_out == 0 && reported.dropped_bytes == 0) return;
  std::string what;
  if (reported.dropped_bytes > 0) what = std::to_string(reported.dropped_bytes) + " bytes";
  if (reported.left_out > 0) {
    what += (what.empty() ? "" : " and ") + std::to_string(reported.left_out) + " metrics";
  }
  row.trust.push_back(
      {kMetricsDropped, what + " of what the command wrote to $KPROF_METRICS are beyond what a run keeps"});
}

}  // namespace kprof
