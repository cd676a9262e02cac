// Numbers and texts of reports, as their files write them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/analysis/report/report.h"

namespace kprof {

inline constexpr std::string_view kUnknownNumber = "--";

// "12.3", with that many digits behind the point; kUnknownNumber where it is not known.
std::string NumberText(std::optional<double> number, int digits);
// A text in a cell of a Markdown table: on one line, and no '|' ends it.
std::string CellText(std::string_view text);
// A text as a cell of CSV (RFC 4180): in quotes where it has a comma, a quote or an end of line.
std::string CsvText(std::string_view text);
// A number as JSON has it, null where it is not known or not finite.
std::string JsonNumber(std::optional<double> number);
// The beginning of an SVG of that size, white.
std::string SvgBegin(double width, double height);
// A text in an SVG.
std::string XmlText(std::string_view text);
// The kernel's name without what it returns, its parameters and the tags of its compiler: "void f<4>(float*)" is f<4>,
// Numba's "f[v1,cw51...](Array)" is f.
std::string ShortKernelName(std::string_view name);
// A name for a folder or a file: other characters than letters, digits and . _ - + = @ , are '_', and so is a dot at
// its beginning; at most 100 bytes. REQUIRES: it is not empty.
std::string PathStep(std::string_view text);
// The first sentence, with its point; at most 300 bytes of it.
std::string FirstSentence(std::string_view text);
// The first sentence, from a capital letter to its point.
std::string SentenceOf(std::string_view text);
// The advice of an opportunity: its hint, or its message where that has it, as those of a profiler's own rules do.
std::string AdviceOf(const ReportOpportunity& one);
// "8 rules lack metrics that the run has not". REQUIRES: there are some.
std::string UnaskedText(const Report& report);
// "Memory-bound"; "Balanced" and "Unknown" stand alone.
std::string BottleneckText(const Report& report);
// The change from the previous number to the current one in percent; nothing where one of them is not known or the
// previous one is 0.
std::optional<double> ChangePercent(const ReportChange& change);

}  // namespace kprof
