// The footer of a Parquet file: its columns, its row groups, and where the chunks of each column stand. Hostile files
// are refused, or have fewer columns: a column is read where it is flat, or a list of one level (docs/adr/020).
//
// A value; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// The numbers are those of the format.
enum class ParquetType : uint8_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kInt96 = 3,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixed = 7,
};
enum class ParquetCodec : uint8_t {
  kNone = 0,
  kSnappy = 1,
  kGzip = 2,
  kLzo = 3,
  kBrotli = 4,
  kLz4Framed = 5,
  kZstd = 6,
  kLz4Raw = 7,
};

struct ParquetColumn {
  std::string name;  // of the column, or of the list
  ParquetType type = ParquetType::kInt64;
  uint32_t fixed_bytes = 0;  // of kFixed
  uint8_t most_definition = 0;
  uint8_t most_repetition = 0;  // 0: flat; 1: a list
  uint8_t list_definition = 0;  // of a list: the level of an element that is there, null or not
  bool is_unsigned = false;
  bool is_readable = true;  // false: nested otherwise, or INT96
};

struct ParquetChunk {
  ParquetCodec codec = ParquetCodec::kNone;
  int64_t values = 0;       // with nulls
  int64_t begin_bytes = 0;  // of its first page, a dictionary or not
  int64_t size_bytes = 0;   // of all pages, packed, with their headers
};

struct ParquetRowGroup {
  int64_t rows = 0;
  std::vector<ParquetChunk> chunks;  // by column
};

struct ParquetFile {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetRowGroup> groups;
  int64_t rows = 0;
  std::string made_by;

  // Waits until the file is whole. Fails with kBadInput for a file that is no Parquet, is cut off, is encrypted, or
  // contradicts itself, and as reading does.
  static Result<ParquetFile> Open(const SourceFile& file);
  // -1: there is none.
  int Find(std::string_view name) const;
};

bool LooksLikeParquet(std::span<const char> first);

}  // namespace kprof
