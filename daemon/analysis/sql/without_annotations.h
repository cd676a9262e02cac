// What a GPU does, in a filter: annotations that a profiler draws over its streams (gpu_user_annotation) are slices
// there, but nothing that runs, and what lies under them would never be idle. Where a filter asks for categories (and
// does not only leave some out) it stays as it is: then they count.
#pragma once

#include "daemon/analysis/operators/event_filter.h"

namespace kprof {

EventFilter WithoutAnnotations(EventFilter filter);

}  // namespace kprof
