// What reading a trace part fails with. A part is untrusted: what SQLite finds wrong with its file is the part's fault,
// not ours.
#pragma once

#include <string>

#include "storage/base/status.h"

namespace kprof {

// kStorageBroken, naming the part.
Status BrokenPart(const std::string& path, std::string why);

// Of what was done with a part: kStorageBroken where SQLite has no better word for it, or takes it for too much.
Status OfPart(const Status& status, std::string what);

}  // namespace kprof
