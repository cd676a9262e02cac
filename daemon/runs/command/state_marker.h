// Whose runs these are: a variable in every command's environment that names the state folder by where it is on the
// disk, so that a daemon on a copy or a restored backup of a catalog never takes another daemon's processes for its
// own.
#pragma once

#include <string>

#include "storage/db/layout.h"

namespace kprof {

// "KPROF_STATE=<device>-<inode>". Any thread; reads the folder's facts.
std::string StateMarker(const Layout& layout);

}  // namespace kprof
