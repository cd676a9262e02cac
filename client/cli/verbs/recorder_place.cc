#include "client/cli/verbs/recorder_place.h"

#include <unistd.h>

#include <cstdlib>

#include "client/cli/verbs/foreground_launch.h"
#include "client/cli/verbs/rank_command.h"

namespace kprof::cli {

std::string RecorderBesideUs() {
  const std::string folder = OwnFolder();
  for (const char* place : {"/../python/kprof/neuron.py", "/../lib/python3/dist-packages/kprof/neuron.py"}) {
    const std::string path = folder + place;
    if (::access(path.c_str(), R_OK) != 0) continue;
    char* real = ::realpath(path.c_str(), nullptr);
    std::string found = real == nullptr ? path : real;
    std::free(real);
    return found;
  }
  return "";
}

bool RunsPackageKprof(const std::vector<std::string>& command) {
  const std::vector<std::string> interpreter = InterpreterOf(command);
  const size_t at = interpreter.size();
  return at > 0 && at + 1 < command.size() && command[at] == "-m" && command[at + 1].starts_with("kprof.");
}

std::string PythonPathWithPackage(const std::string& now, const std::string& recorder) {
  const std::string package = recorder.substr(0, recorder.rfind('/'));
  return now + (now.empty() ? "" : ":") + package.substr(0, package.rfind('/'));
}

}  // namespace kprof::cli
