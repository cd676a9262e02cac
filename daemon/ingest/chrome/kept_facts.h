// What an import keeps of what a Chrome trace says of itself beside its events. Tools and the platforms that run them
// put there whatever they know: users, hosts, jobs, folders, whole environments. So what is kept is on a list; of all
// else only numbers and true or false, which say how a tool was set up and not who ran it.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kprof {

// Of the member `key`, without escapes, what is kept of its value, as JSON without needless space: all of it but
// environments where it is on the list; of an object that is not, its members that are or are such values, at whatever
// depth. Nothing where nothing is.
std::optional<std::string> KeptFact(std::string_view key, std::string_view value);

}  // namespace kprof
