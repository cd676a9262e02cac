// From what a client calls a run or a session to its whole id: an id, a unique beginning of one, @last, or @last~N for
// the N-th before it. Names resolve within what the caller may see, which is up to who looks. Pure but for what it is
// given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// Where names are looked up.
struct NamedObjects {
  const char* noun;    // "run"
  const char* remedy;  // "list yours with kprofctl runs"
  std::function<Result<std::string>(int64_t back)> recent;
  // At most two of those that begin so, newest first.
  std::function<Result<std::vector<std::string>>(const std::string& prefix)> starting;
};

// `act` begins the message. Fails with kUsage for what is no name or begins several ids, with kNotFound, and as the
// look-ups do. A whole id is not looked up.
Result<std::string> ResolveName(const std::string& name, const NamedObjects& objects, const std::string& act);

// "cancel run 01j...": the act and what the object was called, however long.
std::string ActOn(const std::string& act, const std::string& name);

}  // namespace kprof
