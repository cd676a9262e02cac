// The tables of analyses (daemon/analysis/kinds) as functions of traces: `FROM analyze_temporal_breakdown`, over all
// runs of the query, with a kind's options as hidden columns. They are made from the kinds' descriptions alone.
#pragma once

#include <vector>

#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

// For each kind: analyze_<kind> for its primary table, analyze_<kind>_<table> for each other table, and, if it has
// facts, analyze_<kind>_facts with one row. Their texts live as long as the program.
std::vector<TraceFunction> AnalysisFunctions();

}  // namespace kprof
