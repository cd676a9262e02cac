#include "client/cli/verbs/python_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "storage/base/descriptors.h"
#include "storage/base/readable_text.h"

extern char** environ;

namespace kprof::cli {
namespace {

constexpr char kQuestion[] = R"(
import importlib.util, importlib.metadata
try:
    spec = importlib.util.find_spec("kprof")
    paths = list(spec.submodule_search_locations or []) if spec else []
except Exception:
    paths = []
import os
print(next((p for p in (os.path.join(os.path.abspath(path), "neuron.py") for path in paths) if os.path.isfile(p)), ""))
try:
    print(importlib.metadata.version("scalene"))
except importlib.metadata.PackageNotFoundError:
    print("")
)";
constexpr size_t kMostAnswerBytes = size_t{64} << 10;
constexpr auto kAnswerLimit = std::chrono::seconds(20);

// All that comes until its end, or until the limit.
std::string ReadAnswer(int fd) {
  const auto until = std::chrono::steady_clock::now() + kAnswerLimit;
  std::string answer;
  char buffer[4096];
  while (answer.size() < kMostAnswerBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd wanted{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? ::poll(&wanted, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace

Result<PythonFacts> AskPython(const std::vector<std::string>& interpreter) {
  const std::string act = "ask " + ClippedText(interpreter.front(), 200) + " what it has installed";
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Fail(ErrorCode::kInternal, act, std::strerror(errno));
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::vector<std::string> words = interpreter;
  words.insert(words.end(), {"-c", kQuestion});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, to.get(), STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  to.Reset();
  if (error != 0) return Fail(ErrorCode::kToolMissing, act, std::strerror(error), "name a Python that is there");
  const std::string answer = ReadAnswer(from.get());
  ::kill(child, SIGKILL);  // one that has ended is a zombie yet, and hears nothing
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const size_t first = answer.find('\n');
  const size_t second = first == std::string::npos ? first : answer.find('\n', first + 1);
  if (second == std::string::npos) {
    return Fail(ErrorCode::kToolMissing, act, "it gives no answer (its own words, if any, are above)",
                "try: " + ClippedText(interpreter.front(), 200) + " -c 'import importlib.metadata'");
  }
  return PythonFacts{answer.substr(0, first), answer.substr(first + 1, second - first - 1)};
}

}  // namespace kprof::cli
