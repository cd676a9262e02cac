// Which part of which run: what a query is told to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kprof {

struct TracePlace {
  std::string run;              // its id
  std::string part;             // its name
  std::string path;             // of its file
  std::optional<int64_t> rank;  // nothing: what the part itself says
};

}  // namespace kprof
