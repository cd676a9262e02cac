// The environment variables by which a service manager speaks to whom it starts. They are for one process alone, so
// reading one takes it out of the environment; only while there is no second thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// Empty when absent.
std::string TakeVariable(const char* name);

// A decimal number from 0; nothing for any other text.
std::optional<int64_t> ReadWholeNumber(std::string_view text);

// Whether a variable that names a process (LISTEN_PID, WATCHDOG_PID) means this one.
bool IsOwnPid(std::string_view text);

}  // namespace kprof
