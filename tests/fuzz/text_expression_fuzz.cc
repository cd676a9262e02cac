// A regular expression, a line's end, and a text to be held against it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/analysis/operators/text_expression.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using kprof::TextExpression;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const size_t end = all.find('\n');
  if (end == all.npos || end > 256) return 0;
  const kprof::Result<TextExpression> expression = TextExpression::Read(all.substr(0, end), "read it");
  if (!expression.ok()) {
    KPROF_CHECK(expression.status().code() == kprof::ErrorCode::kUsage);
    return 0;
  }
  const std::string_view text = all.substr(end + 1).substr(0, 4096);
  // The same answer each time: nothing is kept of a text.
  KPROF_CHECK(expression->Fits(text) == expression->Fits(text));
  return 0;
}
