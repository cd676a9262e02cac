// The header of a page in a column of a Parquet file, as Thrift has it.
//
// Values; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

// The numbers of the format.
enum ParquetEncoding : int64_t {
  kPlainEncoding = 0,
  kPlainDictionary = 2,
  kRle = 3,
  kDeltaBinaryPacked = 5,
  kDeltaLengthByteArray = 6,
  kDeltaByteArray = 7,
  kRleDictionary = 8,
  kByteStreamSplit = 9,
};
enum ParquetPage : int64_t { kDataPage = 0, kDictionaryPage = 2, kDataPageV2 = 3 };

struct ParquetPageHeader {
  int64_t type = -1;
  int64_t unpacked_bytes = 0;
  int64_t packed_bytes = 0;
  int64_t values = 0;
  int64_t encoding = kPlainEncoding;
  int64_t definition_encoding = kRle;
  int64_t repetition_encoding = kRle;
  int64_t definition_bytes = 0;  // of version 2, as those below
  int64_t repetition_bytes = 0;
  bool is_packed = true;
};

// Reads the header at `at_bytes` and moves that on behind it. Nothing: it is damaged, or goes beyond `end_bytes`. Fails
// as reading does.
Result<std::optional<ParquetPageHeader>> ReadPageHeader(const SourceFile& file, int64_t& at_bytes, int64_t end_bytes);

}  // namespace kprof
