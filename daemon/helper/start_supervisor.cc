#include "daemon/helper/start_supervisor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <variant>

#include "daemon/helper/become_caller.h"
#include "daemon/launch/launch_request.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int kControlFd = 3;
constexpr int kProgramFd = 4;
constexpr int kReportFd = 5;
constexpr off_t kComplaintBytes = 4096;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

constexpr const char* kSeeJournal = "look in the journal of kprofd-helper";

// What the child says when it does not get as far as exec.
[[noreturn]] void Give(ErrorCode code, const std::string& why, const std::string& remedy) {
  const std::string report = EncodeHelperPacket({0, HelperRefused{code, why, remedy}});
  [[maybe_unused]] ssize_t written = ::write(kReportFd, report.data(), report.size());
  ::_exit(127);
}

[[noreturn]] void Give(const char* step, int error) {
  Give(ErrorCode::kSpawnFailed, std::string(step) + ": " + std::strerror(error), kSeeJournal);
}

// The descriptors of the child, each where it belongs: given ones are above all of these.
struct ChildFiles {
  int standard_in;
  int control;  // -1: none at kControlFd
  int program;
  int report;
  int standard_error;  // -1: /dev/null
};

void PlaceFiles(const ChildFiles& files) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(files.report, kReportFd);
  ::fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  if (null < 0) Give("open /dev/null", errno);
  ::dup2(files.standard_in >= 0 ? files.standard_in : null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(files.standard_error >= 0 ? files.standard_error : null, STDERR_FILENO);
  if (files.control >= 0) {
    ::dup2(files.control, kControlFd);
  } else {
    ::close(kControlFd);
  }
  ::dup2(files.program, kProgramFd);
  ::fcntl(kProgramFd, F_SETFD, FD_CLOEXEC);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

UniqueFd AboveAll(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, kReportFd + 1));
}

// What a child is to be.
struct Program {
  std::string path;
  int file = -1;  // -1: what is at the path now
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  const CallerIdentity* caller = nullptr;  // null: it stays what we are
  std::function<Status()> check;           // in the child, before all else
  bool control_is_input = false;
};

Status SpawnError(const std::string& run_id, const std::string& why) {
  return Fail(ErrorCode::kSpawnFailed, "start run " + run_id, why, kSeeJournal);
}

// Memory of a fixed size: the unit has it as well, whose user may write what it likes.
UniqueFd MakeComplaintFile() {
  UniqueFd file(::memfd_create("systemd-run", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), kComplaintBytes) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return {};
  }
  return file;
}

Result<StartingSupervisor> Spawn(const Program& program, int control, const std::string& run_id) {
  UniqueFd opened(program.file >= 0 ? ::fcntl(program.file, F_DUPFD_CLOEXEC, 0)
                                    : ::open(program.path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid()) return SpawnError(run_id, "there is no program " + program.path);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return SpawnError(run_id, std::strerror(errno));
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  UniqueFd program_file = AboveAll(opened.get());
  UniqueFd control_file = AboveAll(control);
  UniqueFd report_file = AboveAll(write_end.get());
  UniqueFd complaint = program.control_is_input ? MakeComplaintFile() : UniqueFd();
  UniqueFd complaint_file = complaint.valid() ? AboveAll(complaint.get()) : UniqueFd();
  if (!program_file.valid() || !control_file.valid() || !report_file.valid()) {
    return SpawnError(run_id, "no descriptor is left");
  }
  const ChildFiles files{program.control_is_input ? control_file.get() : -1,
                         program.control_is_input ? -1 : control_file.get(), program_file.get(), report_file.get(),
                         complaint_file.get()};
  const std::vector<char*> arguments = Pointers(program.arguments);
  const std::vector<char*> environment = Pointers(program.environment);
  const pid_t pid = ::fork();
  if (pid < 0) return SpawnError(run_id, std::strerror(errno));
  if (pid == 0) {
    PlaceFiles(files);
    // The helper's own, its listener among them: should it die, who takes its place finds nobody listening there.
    ::syscall(SYS_close_range, kReportFd + 1, INT_MAX, 0);
    const Status may_start = program.check();
    if (!may_start.ok()) Give(may_start.code(), may_start.why(), may_start.remedy());
    if (program.caller != nullptr) {
      const BecomeFailure failure = BecomeCaller(*program.caller, kReportFd);
      if (failure.step != nullptr) Give(failure.step, failure.error);
    } else {
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::syscall(SYS_close_range, kReportFd + 1, INT_MAX, 0);
      ::execve(program.path.c_str(), arguments.data(), environment.data());
      Give("exec", errno);
    }
    // By descriptor: a caller need not be able to walk to it, and it is the file that was looked at.
    ::syscall(SYS_execveat, kProgramFd, "", arguments.data(), environment.data(), AT_EMPTY_PATH);
    Give("exec", errno);
  }
  return StartingSupervisor{pid, std::move(read_end), std::move(complaint)};
}

std::vector<std::string> LaunchArguments(const Grant& grant, int control_fd) {
  return {"--kept", "--control-fd=" + std::to_string(control_fd), "--digest=" + grant.digest};
}

}  // namespace

bool SystemdRuns() {
  struct stat info {};
  return ::stat("/run/systemd/system", &info) == 0 && S_ISDIR(info.st_mode);
}

std::string UnitOf(const std::string& run_id) {
  return "kprof-run-" + run_id + ".service";
}

std::vector<std::string> SystemdRunArguments(const Grant& grant, const StartPrograms& programs) {
  const std::string uid = std::to_string(grant.caller.uid);
  std::vector<std::string> arguments = {
      "systemd-run",
      "--quiet",
      "--collect",            // a unit that failed goes, too
      "--pipe",               // our standard input, which is the channel, becomes the unit's
      "--service-type=exec",  // it says when kprof-launch cannot be executed
      "--unit=" + UnitOf(grant.run_id),
      "--description=kprof run " + grant.run_id + " of uid " + uid,
      "--uid=" + uid,
      "--gid=" + std::to_string(grant.caller.gid),
      "--slice=user-" + uid + ".slice",
      "--working-directory=/",
      "--setenv=" + std::string(kRunIdVariable) + "=" + grant.run_id,
      "--property=KeyringMode=private",
      "--property=UMask=0022",
      "--property=KillMode=control-group",
      "--property=TimeoutStopSec=30s",
      "--property=OOMPolicy=continue",  // kprof-launch tells of it
  };
  if (!grant.caller.groups.empty()) {
    std::string groups;
    for (uint32_t group : grant.caller.groups) groups += (groups.empty() ? "" : " ") + std::to_string(group);
    arguments.push_back("--property=SupplementaryGroups=" + groups);
  }
  arguments.emplace_back("--");
  arguments.push_back(programs.launch);
  for (std::string& argument : LaunchArguments(grant, STDIN_FILENO)) arguments.push_back(std::move(argument));
  return arguments;
}

Status ReadStartReport(int report, const std::string& run_id) {
  std::string bytes(kHelperPacketLimitBytes, '\0');
  const ssize_t size = ::read(report, bytes.data(), bytes.size());
  if (size <= 0) return OkStatus();  // executed
  Result<HelperPacket> packet = DecodeHelperPacket(std::string_view(bytes).substr(0, static_cast<size_t>(size)));
  const auto* refused = packet.ok() ? std::get_if<HelperRefused>(&packet->message) : nullptr;
  if (refused == nullptr) return SpawnError(run_id, "the process that was to become it does not say why it did not");
  return Fail(refused->code, "start run " + run_id, refused->why, refused->remedy);
}

std::string ReadComplaint(int complaint) {
  std::string text(static_cast<size_t>(kComplaintBytes), '\0');
  const ssize_t size = ::pread(complaint, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  text.resize(std::min(text.size(), text.find('\0')));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return ReadableText(text);
}

Result<StartingSupervisor> StartSupervisor(const Grant& grant, const StartPrograms& programs,
                                           std::function<Status()> check, UniqueFd control) {
  Program program;
  program.check = std::move(check);
  if (programs.systemd_run) {
    program.path = *programs.systemd_run;
    program.arguments = SystemdRunArguments(grant, programs);
    program.environment = {kPath};
    program.control_is_input = true;
  } else {
    program.path = programs.launch;
    program.file = programs.launch_file;
    program.arguments = LaunchArguments(grant, kControlFd);
    program.arguments.insert(program.arguments.begin(), "kprof-launch");
    program.environment = {kPath, std::string(kRunIdVariable) + "=" + grant.run_id};
    program.caller = &grant.caller;
  }
  return Spawn(program, control.get(), grant.run_id);
}

}  // namespace kprof
