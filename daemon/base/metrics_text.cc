#include "daemon/base/metrics_text.h"

#include <charconv>
#include <cmath>

#include "storage/base/readable_text.h"

namespace kprof {
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
