// Reads whole sessions: the row and all that hangs on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/session_row.h"
#include "storage/db/db.h"
#include "storage/db/statement.h"

namespace kprof {

// Its statements are prepared once, for one session or a thousand. Must not outlive its Db.
class SessionReader {
 public:
  explicit SessionReader(Db& db);

  // Nothing when there is no such session.
  Result<std::optional<SessionRow>> Read(const std::string& id);

  // Those of `ids` that are there, in that order.
  Result<std::vector<SessionRow>> ReadAll(const std::vector<std::string>& ids);

 private:
  Statement session_;
  Statement devices_;
  Statement labels_;
  Statement trust_;
};

}  // namespace kprof
