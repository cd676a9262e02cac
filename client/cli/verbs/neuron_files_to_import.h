// Files of Neuron that an import is given and that are no files to read: a NEFF with its NTFFs, which the vendor's
// program makes readable, and those of which only the way to a file that is one can be told.
#pragma once

#include <optional>

#include "client/cli/grammar/verb_args.h"
#include "storage/base/status.h"

namespace kprof::cli {

// The capture that runs nothing and makes a profile of a NEFF and its NTFFs; so does a folder that has these and
// nothing that an import reads. Nothing where the files are others. Fails with kUsage and the command to write for a
// NEFF alone, several of them, and what the runtime's inspection left. Blocks for the file system: looks at 10,000
// names of a folder at most.
Result<std::optional<CaptureArgs>> CaptureOfNeuronFiles(const ImportArgs& args);

}  // namespace kprof::cli
