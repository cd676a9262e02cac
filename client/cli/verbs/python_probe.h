// Asks a Python interpreter what it has installed, before a program is started with it.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"

namespace kprof::cli {

struct PythonFacts {
  std::string recorder;  // the path of kprof/neuron.py that it would import; empty: none
  std::string scalene;   // the version; empty: not installed
};

// `interpreter`: it and its options, as ["python3", "-u"]. Costs one start of it, 20 s at most. Fails with kToolMissing
// where there is none, or it does not answer.
Result<PythonFacts> AskPython(const std::vector<std::string>& interpreter);

}  // namespace kprof::cli
