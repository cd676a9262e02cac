// The time of a trace, as its report tells it: shares by what devices did, how much of communication and copies is
// hidden behind compute, why devices were idle, how work came to them, and the longest gaps.
//
// One thread, that of the parts.
#pragma once

#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/report/report.h"
#include "storage/base/status.h"

namespace kprof {

// Fills `timeline`, `devices`, `launches` and `gaps`, and adds notes. Fails as the analyses do.
Status AddTraceTimes(const AnalysisTraces& traces, const StopSignal& stop, Report& report);

// Notes and reasons for doubt of an answer, each once.
void AddNotesOf(const AnalysisAnswer& answer, Report& report);

// Its tables in Markdown, from the heading `### Timeline` on; empty: it is no report of a trace.
std::string TimelineMarkdown(const Report& report);
// The same as an object in JSON; "null": it is no report of a trace.
std::string TimelineJson(const Report& report);

}  // namespace kprof
