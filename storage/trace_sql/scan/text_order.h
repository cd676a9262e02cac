// Texts of parts in the order of their bytes, as SQLite has it. They are read piece by piece, as far as they have to be
// told apart, so that the memory that it takes does not depend on how long they are.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// A text of a part by its number; `none` stands before all texts.
struct TextPlace {
  OpenPart* part = nullptr;
  int64_t number = 0;
  bool is_none = false;
};

// Sorts them; says of each whether it is the same text as the one before it. Takes about 16 MiB at most beside them,
// which it asks the parts' terms for. Fails as OpenPart::ReadText does, and where the query must end.
Result<std::vector<bool>> SortTexts(std::vector<TextPlace>& texts);

}  // namespace kprof
