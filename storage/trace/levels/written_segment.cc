#include "storage/trace/levels/written_segment.h"

#include <string>

#include "storage/trace/format/column_store.h"

namespace kprof {

Result<std::vector<int64_t>> ReadRows(Db& db, const WrittenSegment& segment, EventColumn column) {
  ASSIGN_OR_RETURN(std::vector<int64_t> values, ReadColumn(db, PlaceOf(segment.id, column)));
  if (values.size() == segment.rows) return values;
  return Fail(ErrorCode::kStorageBroken, "read segment " + std::to_string(segment.id),
              "column " + std::to_string(static_cast<int>(column)) + " has " + std::to_string(values.size()) +
                  " of its " + std::to_string(segment.rows) + " rows");
}

}  // namespace kprof
