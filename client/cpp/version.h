// The version of this build of the client, as `kprofctl --version` says it: "0.1.0".
#pragma once

#include <string_view>

namespace kprof {

std::string_view ClientVersion();

}  // namespace kprof
