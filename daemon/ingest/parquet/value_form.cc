#include "daemon/ingest/parquet/value_form.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "daemon/ingest/text/json_text.h"
#include "storage/trace/format/side_table.h"

namespace kprof {
namespace {

std::optional<int64_t> IntegerOfReal(double real) {
  if (!(std::abs(real) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(std::floor(real));
}

}  // namespace

ValueForm::ValueForm(const ParquetColumn& column, ValueAs as, NumberText number_text)
    : column_(column),
      as_(as),
      is_real_(column.type == ParquetType::kFloat || column.type == ParquetType::kDouble),
      is_text_(column.type == ParquetType::kByteArray || column.type == ParquetType::kFixed),
      number_text_(std::move(number_text)) {}

int64_t ValueForm::Nothing() const {
  return as_ == ValueAs::kReal ? kNoReal : kNoValue;
}

size_t ValueForm::width() const {
  switch (column_.type) {
    case ParquetType::kInt32:
    case ParquetType::kFloat:
      return 4;
    case ParquetType::kInt64:
    case ParquetType::kDouble:
      return 8;
    case ParquetType::kFixed:
      return column_.fixed_bytes;
    default:
      return 0;
  }
}

std::string ValueForm::TextOfNumber(int64_t raw) const {
  if (column_.type == ParquetType::kBoolean) return raw != 0 ? "true" : "false";
  if (!is_real_) return std::to_string(raw);
  const auto real = std::bit_cast<double>(raw);
  return std::isfinite(real) ? ShortestNumber(real) : std::string();
}

int64_t ValueForm::FromNumber(int64_t raw) const {
  const double real = is_real_ ? std::bit_cast<double>(raw) : static_cast<double>(raw);
  switch (as_) {
    case ValueAs::kInteger:
      return is_real_ ? IntegerOfReal(real).value_or(kNoValue) : raw;
    case ValueAs::kReal:
      return std::isnan(real) ? kNoReal : std::bit_cast<int64_t>(real);
    case ValueAs::kFlag:
      return real != 0 ? 1 : 0;
    case ValueAs::kText: {
      const std::string text = TextOfNumber(raw);
      return text.empty() ? kNoValue : number_text_(text);
    }
  }
  return kNoValue;
}

int64_t ValueForm::FromText(std::string_view text) const {
  if (as_ == ValueAs::kText) return text.empty() ? kNoValue : number_text_(text);
  if (as_ == ValueAs::kFlag) {
    if (text == "yes" || text == "true" || text == "1") return 1;
    return text == "no" || text == "false" || text == "0" ? 0 : kNoValue;
  }
  const char* const end = text.data() + text.size();
  int64_t number = 0;
  if (as_ == ValueAs::kInteger) {
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && !text.empty()) return number;
  }
  double real = 0;
  const auto [at, error] = std::from_chars(text.data(), end, real);
  if (error != std::errc() || at != end || text.empty() || !std::isfinite(real)) return Nothing();
  return as_ == ValueAs::kReal ? std::bit_cast<int64_t>(real) : IntegerOfReal(real).value_or(kNoValue);
}

}  // namespace kprof
