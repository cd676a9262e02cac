// Names of what tells who ran a program, where, and with what words: users, hosts, folders, command lines. What a
// source has under such a name is dropped where nothing says that it is kept.
//
// Pure; any thread.
#pragma once

#include <string_view>

namespace kprof {

// Upper and lower case are the same here, and so are words together and with _, - or spaces between them.
bool IsPersonalName(std::string_view name);

}  // namespace kprof
