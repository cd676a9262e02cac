// The place of the recorder of kernel calls, which is part of the Python package kprof.
#pragma once

#include <string>
#include <vector>

namespace kprof::cli {

// The path of kprof/neuron.py in the build tree, or where Debian's package installs it; empty: in neither. Blocks for
// the file system.
std::string RecorderBesideUs();

// True for a command `PYTHON ... -m kprof.MODULE ...`.
bool RunsPackageKprof(const std::vector<std::string>& command);

// PYTHONPATH with the package's folder as the last one, so that a package of the user's own comes first. `now`: its
// value, empty for none.
std::string PythonPathWithPackage(const std::string& now, const std::string& recorder);

}  // namespace kprof::cli
