// "SIGKILL" for 9; "signal 77" for one without a name.
#pragma once

#include <string>

namespace kprof {

std::string SignalName(int signal);

}  // namespace kprof
