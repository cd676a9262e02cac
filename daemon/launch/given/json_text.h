// JSON that a user gives with a request, such as the parameters of a kernel: checked before anything is queued, by
// kprofctl and by kprofd, and read by kprof-launch, which knows libc alone. For texts of some KiB; traces have readers
// of their own.
//
// Strict: UTF-8, one value, no comments, no NaN, no name twice in an object. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

inline constexpr size_t kMostJsonBytes = 256 << 10;
inline constexpr size_t kMostJsonDepth = 32;
inline constexpr size_t kMostJsonNames = 1000;  // of an object

struct GivenJson {
  enum class Kind { kNull, kBool, kNumber, kText, kList, kObject };
  Kind kind = Kind::kNull;
  std::string text;                // of a text, without quotes and escapes; else as it is written
  std::vector<GivenJson> items;    // of a list, and the values of an object
  std::vector<std::string> names;  // of an object's items, in their order
  size_t at = 0;                   // the byte where it begins in the text that it was read from

  // Null for a name that the object does not have, and for what is no object.
  const GivenJson* Find(std::string_view name) const;
};

// Fails with kUsage: which byte, and why. `what` names the text: "--params".
Result<GivenJson> ReadJson(std::string_view text, const std::string& what, size_t most_bytes = kMostJsonBytes);

// As JSON, with quotes.
std::string JsonQuoted(std::string_view text);

// Without the spaces and line ends between its parts.
std::string JsonOf(const GivenJson& value);

}  // namespace kprof
