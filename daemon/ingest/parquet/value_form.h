// The form of a Parquet column's values for its reader: integers, reals, flags, or numbers of texts. Numbers
// in texts are read ("12", "yes"); what cannot be what is wanted is nothing: kNoValue, or kNoReal.
//
// Pure but for the numbers of texts, which the reader gives. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/ingest/parquet/parquet_file.h"

namespace kprof {

enum class ValueAs : uint8_t { kInteger, kReal, kFlag, kText };

class ValueForm {
 public:
  // The number of a text; an entry of a dictionary is asked for once.
  using NumberText = std::function<int64_t(std::string_view text)>;

  // The column is borrowed.
  ValueForm(const ParquetColumn& column, ValueAs as, NumberText number_text);

  int64_t Nothing() const;
  // `raw`: an integer, a boolean, or the bits of a double.
  int64_t FromNumber(int64_t raw) const;
  int64_t FromText(std::string_view text) const;
  std::string TextOfNumber(int64_t raw) const;
  int64_t NumberOf(std::string_view text) const { return number_text_(text); }

  ValueAs as() const { return as_; }
  // Raw integers are what is wanted.
  bool is_raw() const { return as_ == ValueAs::kInteger && !is_real_ && !is_text_; }
  bool is_text() const { return is_text_; }
  // Bytes of a plain value; 0: it says its own.
  size_t width() const;

 private:
  const ParquetColumn& column_;
  const ValueAs as_;
  const bool is_real_;
  const bool is_text_;
  const NumberText number_text_;
};

}  // namespace kprof
