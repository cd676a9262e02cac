// The lock by which one daemon at a time has a state folder (Layout::LockPath). Its text says who has it.
#pragma once

#include <memory>

#include "storage/base/files.h"
#include "storage/db/layout.h"

namespace kprof {

// Held while the file lives, and gone with the process whatever its end. Fails with kUsage when another daemon lives
// there, and still does after a second: "state folder /x is held by kprofd, pid 123 since ...", with kNotFound when
// there is no such folder. Works on a full disk, too; then the text may be missing.
Result<std::unique_ptr<File>> TakeStateLock(const Layout& layout, Files& files);

}  // namespace kprof
