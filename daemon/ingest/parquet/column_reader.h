// Reads one column of a Parquet file from its first row to its last, some rows at a time, as whatever its reader wants
// to have: integers, reals, flags, numbers of texts. Pages of both versions, dictionaries, all encodings of
// page_values.h; nulls; lists of one level, which become texts ("[1,2]").
//
// One thread. Blocks for the file. Memory: one page and one dictionary, of at most kMostPageBytes each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/parquet/page_values.h"
#include "daemon/ingest/parquet/parquet_file.h"
#include "daemon/ingest/source/source_file.h"
#include "storage/base/status.h"

namespace kprof {

class ColumnReader {
 public:
  static constexpr size_t kMostPageBytes = 64 << 20;
  static constexpr size_t kMostDeltaValues = 16 << 20;  // of a page, where they are all decoded at once

  enum class As : uint8_t { kInteger, kReal, kFlag, kText };
  // The number of a text; an entry of a dictionary is asked for once.
  using NumberText = std::function<int64_t(std::string_view text)>;

  // All are borrowed. REQUIRES: the column is readable.
  ColumnReader(const SourceFile& file, const ParquetFile& of, size_t column, As as, NumberText number_text);

  // Appends a value for each of the next rows: kNoValue, or kNoReal, for null and for what cannot be what is wanted.
  // Fails with kBadInput, naming the column, where the file contradicts itself or has fewer rows.
  Status Read(size_t rows, std::vector<int64_t>& values);

  // Asks for the numbers of texts anew, also of those in a dictionary: for a reader that keeps texts for some rows
  // only. REQUIRES: it is a column of texts or a list, or is not read as texts.
  void ForgetTexts();

 private:
  // The kinds of values in a page.
  enum class Source : uint8_t { kPlain, kBits, kRuns, kDictionary, kDecoded };
  struct PageHeader;

  int64_t Nothing() const;
  Status Damaged(std::string why) const;
  Status LoadPage();
  Status LoadDictionary(const PageHeader& header);
  Status LoadData(const PageHeader& header);
  Result<PageHeader> ReadHeader();
  Status StartValues(std::span<const char> bytes, int64_t encoding);
  Status ReadLevels(std::span<const char>& bytes, uint8_t most, bool has_length, size_t length, RunDecoder& levels);
  // Appends the next `count` values that are no nulls.
  Status TakeValues(size_t count, std::vector<int64_t>& values);
  Status TakeTexts(size_t count, std::vector<std::string>& texts);
  Status ReadFlat(size_t rows, std::vector<int64_t>& values);
  Status ReadListRow(std::vector<int64_t>& values);
  bool TakePlain(std::span<const char>& bytes, int64_t& raw, std::string_view& text) const;
  int64_t FromNumber(int64_t raw) const;
  int64_t FromText(std::string_view text) const;
  std::string TextOfNumber(int64_t raw) const;
  size_t width() const;
  bool is_real() const { return column_.type == ParquetType::kFloat || column_.type == ParquetType::kDouble; }
  bool is_text() const { return column_.type == ParquetType::kByteArray || column_.type == ParquetType::kFixed; }

  const SourceFile& file_;
  const ParquetFile& of_;
  const size_t number_;
  const ParquetColumn& column_;
  const As as_;
  const NumberText number_text_;

  // The chunk that is read.
  size_t group_ = 0;  // the next one
  ParquetCodec codec_ = ParquetCodec::kNone;
  int64_t at_bytes_ = 0;
  int64_t end_bytes_ = 0;
  int64_t chunk_left_ = 0;  // values, with nulls, in pages that are not loaded
  // Its dictionary: values as they are wanted, those of texts where they were asked for.
  std::vector<char> dictionary_bytes_;
  std::vector<std::string_view> dictionary_texts_;
  std::vector<int64_t> dictionary_;
  bool has_dictionary_ = false;
  // The page.
  std::vector<char> packed_;
  std::vector<char> page_;
  std::vector<char> joined_;
  size_t page_left_ = 0;  // values, with nulls
  Source source_ = Source::kPlain;
  std::span<const char> plain_;
  uint64_t bit_at_ = 0;
  RunDecoder runs_;
  std::vector<int64_t> decoded_;
  std::vector<std::string_view> decoded_texts_;
  size_t decoded_at_ = 0;
  RunDecoder definition_;
  RunDecoder repetition_;
  std::vector<uint32_t> levels_;
  std::vector<uint32_t> indexes_;
  std::optional<uint32_t> next_repetition_;  // of a list: of the entry that was looked at
};

}  // namespace kprof
