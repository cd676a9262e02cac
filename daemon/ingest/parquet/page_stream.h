// The values of a column's pages in their order, without nulls: of the dictionary of a chunk, and of one page after the
// other, in all encodings of page_values.h.
//
// One thread. Memory: one page and one dictionary, which are borrowed until the next; what is decoded of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/parquet/page_values.h"
#include "daemon/ingest/parquet/parquet_file.h"
#include "daemon/ingest/parquet/value_form.h"
#include "storage/base/status.h"

namespace kprof {

// Why a page cannot be read; nothing: it can.
using PageFault = std::optional<std::string>;

class PageStream {
 public:
  static constexpr size_t kMostTextBytes = 64 << 20;    // of a page whose texts are put together
  static constexpr size_t kMostDeltaValues = 16 << 20;  // of a page, where they are all decoded at once

  // Both are borrowed.
  PageStream(const ParquetColumn& column, const ValueForm& form) : column_(column), form_(form) {}

  void ForgetDictionary() { has_dictionary_ = false; }
  PageFault StartDictionary(std::span<const char> bytes, size_t count);
  // Asks for the numbers of the dictionary's texts anew.
  void ForgetTexts();
  // A page of at most `most` values.
  PageFault StartPage(std::span<const char> bytes, int64_t encoding, size_t most);

  // Appends the next `count` values.
  PageFault Take(size_t count, std::vector<int64_t>& values);
  // Appends the next one to the text of a list, as JSON.
  PageFault TakeInto(std::string& list);

 private:
  // The kinds of values in a page.
  enum class Source : uint8_t { kPlain, kBits, kRuns, kDictionary, kDecoded };

  bool TakePlain(std::span<const char>& bytes, int64_t& raw, std::string_view& text) const;
  PageFault TakePlainValues(size_t count, std::vector<int64_t>& values);
  bool TakeOne(int64_t& raw, std::string_view& text);

  const ParquetColumn& column_;
  const ValueForm& form_;
  // The dictionary: values as they are wanted, those of texts where they were asked for.
  std::vector<std::string_view> dictionary_texts_;
  std::vector<int64_t> dictionary_;
  bool has_dictionary_ = false;
  // The page.
  Source source_ = Source::kPlain;
  std::span<const char> plain_;
  uint64_t bit_at_ = 0;
  RunDecoder runs_;
  std::vector<char> joined_;
  std::vector<int64_t> decoded_;
  std::vector<std::string_view> decoded_texts_;
  size_t decoded_at_ = 0;
  std::vector<uint32_t> indexes_;
};

}  // namespace kprof
