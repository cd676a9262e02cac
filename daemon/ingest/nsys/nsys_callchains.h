// The call chains of an Nsight Systems export: of a number, the functions from the innermost outwards, as a JSON list
// of "function (module)".
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/ingest/assemble/batch_builder.h"
#include "daemon/ingest/nsys/nsys_database.h"
#include "daemon/ingest/nsys/nsys_id_lookup.h"
#include "daemon/ingest/nsys/nsys_strings.h"

namespace kprof {

class NsysCallchains {
 public:
  // `table` is one of ..._CALLCHAINS; the others are borrowed.
  NsysCallchains(NsysDatabase& database, const std::string& table, NsysStrings& strings);

  struct Chain {
    std::string json;
    int64_t innermost = 0;  // the function's number in StringIds
  };
  // Nothing where there is no such chain.
  std::optional<Chain> Find(int64_t id);
  // How many could not be read as the file is damaged.
  int64_t failed() const { return failed_; }

 private:
  struct Frame {
    int64_t depth = 0;
    int64_t symbol = 0;
    int64_t module = 0;
    bool operator<(const Frame& other) const { return depth < other.depth; }
  };
  std::vector<Frame> Frames(int64_t id);
  const std::string& FrameJson(const Frame& frame);

  NsysStrings& strings_;
  NsysIdLookup lookup_;
  std::map<std::pair<int64_t, int64_t>, std::string> frames_;  // by symbol and module
  int64_t failed_ = 0;
};

}  // namespace kprof
