#include "storage/trace/format/column_store.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/db/statement.h"
#include "storage/trace/format/part_checksums.h"
#include "storage/trace/format/part_schema.h"

namespace kprof {
namespace {

constexpr const char* kWrite =
    "INSERT INTO segment_column (id, rows, codec, min, max, checksum, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
constexpr const char* kRead = "SELECT rows, codec, min, max, checksum, data FROM segment_column WHERE id = ?1";

std::string NameOf(const ColumnPlace& place) {
  std::string name = "read column " + std::to_string(place.column);
  if (place.shape != 0) name += " of shape " + std::to_string(place.shape);
  return name + " of segment " + std::to_string(place.segment);
}

// Zeros, whose pages the kernel makes in one step. One by one, as they are first written to, they cost four times as
// much on some virtual machines: most of what a first question takes there. Kernels before 5.14 do not know how.
std::vector<int64_t> RoomFor(size_t rows) {
  constexpr size_t kLeastBytes = 64 << 10;
  static const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<int64_t> values;
  values.reserve(rows);
  auto* begin = reinterpret_cast<char*>(values.data());
  const size_t before = (page_bytes - reinterpret_cast<uintptr_t>(begin) % page_bytes) % page_bytes;
  const size_t bytes = rows * sizeof(int64_t);
  if (bytes >= kLeastBytes + before) {
    (void)::madvise(begin + before, (bytes - before) / page_bytes * page_bytes, MADV_POPULATE_WRITE);
  }
  values.resize(rows);
  return values;
}

}  // namespace

Status WriteColumn(Db& db, const ColumnPlace& place, uint32_t rows, const EncodedColumn& column) {
  const int64_t id = ColumnId(place.segment, place.shape, place.column);
  const auto codec = static_cast<int64_t>(column.codec);
  const int64_t checksum = ColumnChecksum(id, int64_t{rows}, codec, column.min, column.max, column.bytes);
  Statement insert(db, kWrite);
  insert.Bind(1, id).Bind(2, int64_t{rows}).Bind(3, codec).Bind(4, column.min).Bind(5, column.max);
  insert.Bind(6, checksum).BindBytes(7, column.bytes);
  return insert.Run();
}

Result<std::vector<int64_t>> ReadColumn(Db& db, const ColumnPlace& place) {
  Statement select(db, kRead);
  const int64_t id = ColumnId(place.segment, place.shape, place.column);
  select.Bind(1, id);
  if (!select.Next()) {
    RETURN_IF_ERROR(select.status());
    return std::vector<int64_t>();
  }
  const int64_t rows = select.Integer(0);
  const int64_t codec = select.Integer(1);
  const std::string_view data = select.Bytes(5);
  if (rows < 1 || rows > static_cast<int64_t>(kMaxSegmentRows) || codec < 0 || codec > UINT8_MAX) {
    return Fail(ErrorCode::kStorageBroken, NameOf(place),
                "it says that it has " + std::to_string(rows) + " rows of codec " + std::to_string(codec));
  }
  if (ColumnChecksum(id, rows, codec, select.Integer(2), select.Integer(3), data) != select.Integer(4)) {
    return Fail(ErrorCode::kStorageBroken, NameOf(place), "its checksum is of other bytes", "import its source again");
  }
  std::vector<int64_t> values = RoomFor(static_cast<size_t>(rows));
  const Status decoded = DecodeColumn(static_cast<ColumnCodec>(codec), data, values);
  if (!decoded.ok()) return decoded.In(NameOf(place));
  return values;
}

}  // namespace kprof
