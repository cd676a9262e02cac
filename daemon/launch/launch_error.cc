#include "daemon/launch/launch_error.h"

#include <cerrno>
#include <system_error>

#include "storage/base/environment.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kShownBytes = 400;

std::string Words(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such file or folder";
    case ENOTDIR:
      return "not a folder";
    default:
      return std::generic_category().message(error);
  }
}

Status ExecError(int error, const std::string& what, const LaunchSubject& subject) {
  const bool is_path = subject.program.find('/') != std::string::npos;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (is_path) {
        return Fail(ErrorCode::kSpawnFailed, what,
                    "no such program, seen from " + ClippedText(subject.cwd, kShownBytes), "check the path");
      }
      return Fail(ErrorCode::kSpawnFailed, what, "no such program in PATH " + ClippedText(subject.path, kShownBytes),
                  "check the name or give a path");
    case EACCES:
    case EPERM:
      return Fail(ErrorCode::kSpawnFailed, what, "it may not be executed",
                  "check that it is a program, its mode (chmod +x), and the modes of the folders above it");
    case E2BIG:
      return Fail(ErrorCode::kSpawnFailed, what,
                  "command line and environment, " + std::to_string(subject.arguments_bytes) +
                      " bytes, are more than the kernel takes",
                  "shorten them (a single string may have 128 KiB), or raise the stack limit (ulimit -s)");
    case ENOEXEC:
      return Fail(ErrorCode::kSpawnFailed, what, "it is not a program of this machine",
                  "a script needs a first line such as #!/bin/sh; a binary must be built for this processor");
    default:
      return Fail(ErrorCode::kSpawnFailed, what, Words(error));
  }
}

}  // namespace

LaunchSubject SubjectOf(const LaunchRequest& request) {
  LaunchSubject subject;
  subject.program = request.argv.empty() ? request.tool : request.argv[0];
  subject.cwd = request.cwd;
  subject.path = PathIn(request.environment);
  subject.has_steps_before = !request.prepare.empty();
  subject.most_outputs = request.most_outputs;
  for (const std::string& text : request.argv) subject.arguments_bytes += text.size() + 1;
  for (const std::string& text : request.environment) subject.arguments_bytes += text.size() + 1;
  return subject;
}

Status LaunchError(const LaunchFailure& failure, const LaunchSubject& subject) {
  const std::string what = "start '" + ClippedText(subject.program, kShownBytes) + "'";
  if (failure.step == "exec") return ExecError(failure.error, what, subject);
  if (failure.step == "interpreter") {
    return Fail(ErrorCode::kSpawnFailed, what, "the interpreter or loader that it names is not there",
                "check its first line (#!)");
  }
  if (failure.step == "chdir") {
    return Fail(ErrorCode::kSpawnFailed, "start in '" + ClippedText(subject.cwd, kShownBytes) + "'",
                Words(failure.error), "check that the folder exists and that you may enter it");
  }
  if (failure.step == "setrlimit") {
    return Fail(ErrorCode::kSpawnFailed, what, "set its resource limits: " + Words(failure.error),
                "check the limits that were asked for");
  }
  if (failure.step == "digest") {
    return Fail(ErrorCode::kSpawnFailed, what, "it is not what its caller asked for when the run was queued",
                "submit it again; if that does not help, look for who changed kprofd's files");
  }
  if (failure.step.starts_with(kToolMissingStep)) {
    return Fail(ErrorCode::kToolMissing, "profile '" + ClippedText(subject.program, kShownBytes) + "'",
                ClippedText(failure.step.substr(sizeof kToolMissingStep - 1), kShownBytes));
  }
  if (failure.step.starts_with(kNotPermittedStep)) {
    return Fail(ErrorCode::kNotPermitted, what,
                ClippedText(failure.step.substr(sizeof kNotPermittedStep - 1), kShownBytes));
  }
  if (failure.step.starts_with(kPlanStep)) {
    return Fail(ErrorCode::kToolFailed, what, ClippedText(failure.step.substr(sizeof kPlanStep - 1), kShownBytes));
  }
  if (failure.step == "output folder") {
    return Fail(ErrorCode::kSpawnFailed, what, "make a folder for its outputs: " + Words(failure.error),
                "check TMPDIR (or /tmp): it must be a folder that you may write");
  }
  if (failure.step == "fork") {
    return Fail(ErrorCode::kSpawnFailed, what, "no process can be made: " + Words(failure.error),
                "end other processes or raise the limit (ulimit -u)");
  }
  return Fail(ErrorCode::kSpawnFailed, what, ClippedText(failure.step, kShownBytes) + ": " + Words(failure.error));
}

}  // namespace kprof
