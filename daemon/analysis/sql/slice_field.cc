#include "daemon/analysis/sql/slice_field.h"

#include <iterator>

namespace kprof {
namespace {

constexpr SliceFieldWords kFields[] = {
    {"run", "TEXT", "run"},
    {"part", "TEXT", "part"},
    {"rank", "INTEGER", "rank"},
    {"track_id", "INTEGER", "track"},
    {"track_kind", "TEXT", "track_kind"},
    {"track_name", "TEXT", "track_name"},
    {"device", "INTEGER", "device"},
    {"stream", "INTEGER", "stream"},
    {"process", "TEXT", "process"},
    {"name", "TEXT", "name"},
    {"category", "TEXT", "category"},
    {"ts_ns", "INTEGER", nullptr},
    {"dur_ns", "INTEGER", nullptr},
    {"from_ns", "INTEGER", nullptr},
    {"to_ns", "INTEGER", nullptr},
};

}  // namespace

std::span<const SliceFieldWords> SliceFields() {
  return kFields;
}

std::optional<SliceField> FieldOfKey(std::string_view key) {
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if (kFields[i].key != nullptr && (key == kFields[i].key || key == kFields[i].column)) {
      return static_cast<SliceField>(i);
    }
  }
  return std::nullopt;
}

}  // namespace kprof
