// Reads one column of a Parquet file from its first row to its last, some rows at a time, as whatever its reader wants
// to have (value_form.h). Pages of both versions and their levels: nulls; lists of one level, which become texts
// ("[1,2]"). The values themselves are page_stream.h's.
//
// One thread. Blocks for the file. Memory: one page and one dictionary, of at most kMostPageBytes each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/parquet/page_header.h"
#include "daemon/ingest/parquet/page_stream.h"
#include "daemon/ingest/parquet/page_values.h"
#include "daemon/ingest/parquet/parquet_file.h"
#include "daemon/ingest/parquet/value_form.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

class ColumnReader {
 public:
  static constexpr size_t kMostPageBytes = 64 << 20;

  using As = ValueAs;
  using NumberText = ValueForm::NumberText;

  // All are borrowed. REQUIRES: the column is readable.
  ColumnReader(const SourceFile& file, const ParquetFile& of, size_t column, As as, NumberText number_text);
  ColumnReader(const ColumnReader&) = delete;  // its pages borrow from it
  ColumnReader& operator=(const ColumnReader&) = delete;

  // Appends a value for each of the next rows: kNoValue, or kNoReal, for null and for what cannot be what is wanted.
  // Fails with kBadInput, naming the column, where the file contradicts itself or has fewer rows.
  Status Read(size_t rows, std::vector<int64_t>& values);

  // Asks for the numbers of texts anew, also of those in a dictionary: for a reader that keeps texts for some rows
  // only. REQUIRES: it is a column of texts or a list, or is not read as texts.
  void ForgetTexts();

 private:
  Status Damaged(std::string why) const;
  Status Check(PageFault fault) const;
  Status LoadPage();
  Status LoadDictionary(const ParquetPageHeader& header);
  Status LoadData(const ParquetPageHeader& header);
  Status ReadLevels(std::span<const char>& bytes, uint8_t most, bool has_length, size_t length, RunDecoder& levels);
  Status ReadFlat(size_t rows, std::vector<int64_t>& values);
  Status ReadListRow(std::vector<int64_t>& values);

  const SourceFile& file_;
  const ParquetFile& of_;
  const size_t number_;
  const ParquetColumn& column_;
  const ValueForm form_;

  // The chunk that is read.
  size_t group_ = 0;  // the next one
  ParquetCodec codec_ = ParquetCodec::kNone;
  int64_t at_bytes_ = 0;
  int64_t end_bytes_ = 0;
  int64_t chunk_left_ = 0;  // values, with nulls, in pages that are not loaded
  // Its dictionary, and the page.
  std::vector<char> dictionary_bytes_;
  std::vector<char> packed_;
  std::vector<char> page_;
  PageStream stream_;
  size_t page_left_ = 0;  // values, with nulls
  RunDecoder definition_;
  RunDecoder repetition_;
  std::vector<uint32_t> levels_;
  std::optional<uint32_t> next_repetition_;  // of a list: of the entry that was looked at
};

}  // namespace kprof
