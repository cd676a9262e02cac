// A sample of a counter as a source writes it, and what of that the double it is kept as does not say: digits, zeros at
// its end, that it is a text.
//
// Pure; any thread. Reads up to eight bytes behind a text, which must be there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "storage/trace/format/arg_shape.h"

namespace kprof {

// The key of the one argument that a sample has then.
constexpr std::string_view kSampleKey = "value";

struct CounterSample {
  double value = 0;
  // How it was written; nothing where that is the double's text (event_args.h), which of what is no number it never
  // is.
  std::optional<ArgType> written;
  int64_t column = 0;  // as an argument of that type has it, where it is no text: that is the one given
};

// Nothing for what is no number. `is_text`: it stood between quotes.
std::optional<CounterSample> ReadCounterSample(std::string_view text, bool is_text);

}  // namespace kprof
