// Which boot of this machine it is: of what was left by processes, what still can be true.
#pragma once

#include <string>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// The kernel's own id of it, which no other boot has. Fails where /proc/sys does not tell.
Result<std::string> ReadBootId(Files& files);

}  // namespace kprof
