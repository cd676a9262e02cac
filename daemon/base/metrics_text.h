// Families of metrics as Prometheus reads them, text format 0.0.4: HELP, TYPE, a line per value. A family that has no
// values yet says what it is all the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/metrics.h"

namespace kprof {

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
