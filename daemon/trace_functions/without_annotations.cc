#include "daemon/trace_functions/without_annotations.h"

namespace kprof {
namespace {

constexpr std::string_view kAnnotation = "gpu_user_annotation";

}  // namespace

EventFilter WithoutAnnotations(EventFilter filter) {
  if (!filter.categories.empty() || filter.accepts_category) return filter;
  filter.accepts_category = [](std::string_view category) { return category != kAnnotation; };
  return filter;
}

}  // namespace kprof
