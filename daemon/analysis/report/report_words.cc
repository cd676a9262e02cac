#include "daemon/analysis/report/report_words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "storage/base/readable_text.h"
#include "storage/trace/format/event_args.h"

namespace kprof {

std::string NumberText(std::optional<double> number, int digits) {
  if (!number || !std::isfinite(*number)) return std::string(kUnknownNumber);
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, *number);
  return text;
}

std::string CellText(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return cell;
}

std::string CsvText(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + '"';
}

std::string JsonNumber(std::optional<double> number) {
  if (!number || !std::isfinite(*number)) return "null";
  CounterTextBuffer buffer;
  return std::string(CounterText(*number, buffer));
}

std::string SvgBegin(double width, double height) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + NumberText(width, 0) + " " +
         NumberText(height, 0) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
}

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) escaped += c;
    }
  }
  return escaped;
}

std::string ShortKernelName(std::string_view name) {
  const std::string_view whole = name;
  int nesting = 0;
  // The list of parameters that ends the name: the last parenthesis outside of brackets.
  if (name.ends_with(')')) {
    for (size_t i = name.size(); i-- > 0;) {
      if (name[i] == ')') ++nesting;
      if (name[i] == '(' && --nesting == 0) {
        name = name.substr(0, i);
        break;
      }
    }
  }
  for (const std::string_view tags : {"[v1,", "[abi:"}) {
    if (const size_t at = name.find(tags); at != name.npos && at > 0 && name.ends_with(']')) name = name.substr(0, at);
  }
  constexpr std::string_view kNothing = "void ";
  if (name.starts_with(kNothing)) name.remove_prefix(kNothing.size());
  return std::string(name.empty() ? whole : name);
}

std::string PathStep(std::string_view text) {
  constexpr std::string_view kPlainSigns = "._-+=@,";
  constexpr size_t kMostStepBytes = 100;
  std::string step;
  for (const char c : text.substr(0, kMostStepBytes)) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          kPlainSigns.find(c) != kPlainSigns.npos;
    step += is_plain ? c : '_';
  }
  if (step.starts_with('.')) step.front() = '_';
  return step;
}

std::string FirstSentence(std::string_view text) {
  constexpr size_t kMostSentenceBytes = 300;
  const size_t end = text.find(". ");
  std::string sentence = ClippedText(text.substr(0, end == text.npos ? text.size() : end + 1), kMostSentenceBytes);
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  if (!sentence.empty() && !sentence.ends_with('.')) sentence += '.';
  return sentence;
}

std::string SentenceOf(std::string_view text) {
  std::string sentence = FirstSentence(text);
  if (sentence.empty()) return sentence;
  const char first = sentence.front();
  if (first >= 'a' && first <= 'z') sentence.front() = static_cast<char>(first - 'a' + 'A');
  return sentence;
}

std::string AdviceOf(const ReportOpportunity& one) {
  constexpr size_t kMostAdviceBytes = 500;
  if (!one.hint.starts_with("See the message")) return one.hint;
  std::string advice = ClippedText(one.message, kMostAdviceBytes);
  std::replace(advice.begin(), advice.end(), '\n', ' ');
  return advice;
}

std::string UnaskedText(const Report& report) {
  const size_t count = report.unasked.size();
  return std::to_string(count) + (count == 1 ? " rule lacks" : " rules lack") + " metrics that the run has not";
}

std::string BottleneckText(const Report& report) {
  const bool stands_alone = report.bottleneck == "Balanced" || report.bottleneck == "Unknown";
  return report.bottleneck + (stands_alone ? "" : "-bound");
}

std::optional<double> ChangePercent(const ReportChange& change) {
  if (!change.previous || !change.current || *change.previous == 0) return std::nullopt;
  return (*change.current - *change.previous) / *change.previous * 100;
}

}  // namespace kprof
