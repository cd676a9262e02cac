// The picture of an event run: the distribution of each case's samples, both sides on one axis, with their medians and
// the verdict. SVG. Pure; any thread.
#pragma once

#include <string>

#include "daemon/analysis/report/answer_table.h"

namespace kprof {

// `samples`: the answer of the analysis of that name.
std::string DrawSamples(const KindAnswer& samples);

}  // namespace kprof
