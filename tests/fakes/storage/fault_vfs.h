// A SQLite VFS over the system's with a FaultPlan behind it. Give its name to Db::Options::vfs.
// Like SQLite's own, it reports a write without space as SQLITE_FULL, and syncs the folder of a journal or WAL with
// the first sync after it was opened.
// Registered while it lives: the plan must outlive it, it every connection.
#pragma once

#include <memory>

#include "tests/fakes/storage/fault_plan.h"

namespace kprof {

class FaultVfs {
 public:
  explicit FaultVfs(FaultPlan& plan);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const char* name() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kprof
