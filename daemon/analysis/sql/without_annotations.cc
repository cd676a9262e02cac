#include "daemon/analysis/sql/without_annotations.h"

#include <utility>

namespace kprof {
namespace {

constexpr std::string_view kAnnotation = "gpu_user_annotation";

}  // namespace

EventFilter WithoutAnnotations(EventFilter filter) {
  const bool asks_for_some = filter.accepts_category && !filter.categories_are_left_out;
  if (!filter.categories.empty() || asks_for_some) return filter;
  filter.accepts_category = [others = std::move(filter.accepts_category)](std::string_view category) {
    return category != kAnnotation && (!others || others(category));
  };
  return filter;
}

}  // namespace kprof
