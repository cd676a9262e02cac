// A real kprofd-helper, and the test as its kprofd: one that may be hostile. Callers are made-up uids. Needs root, else
// every test is skipped by name. Only processes that were started here are ever signalled.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/launch_request.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "storage/base/packet_socket.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

inline constexpr uint32_t kKprofdUid = 61001;
inline constexpr uint32_t kCallerUid = 61002;
inline constexpr uint32_t kOtherUid = 61003;
inline constexpr int kPatienceMs = 60'000;
inline const std::string kBin = KPROF_BIN_DIR;
inline const std::string kRun = "01hx3m5qrstvwxyz";

// Who a process of the test is.
struct Who {
  uint32_t uid = kCallerUid;
  uint32_t gid = kCallerUid;
  std::vector<gid_t> groups = {61010, 61011};
};

// What `open` gives in a process that is somebody else, and that ends then, or stays until the test ends. `before`:
// still as root.
inline UniqueFd OpenAs(
    const Who& who, const std::function<int()>& open, bool stays = false,
    const std::function<bool()>& before = [] { return true; }) {
  SocketPair ends = *MakeSocketPair(SOCK_SEQPACKET);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool is_who = before() && ::setgroups(who.groups.size(), who.groups.data()) == 0 &&
                        ::setresgid(who.gid, who.gid, who.gid) == 0 && ::setresuid(who.uid, who.uid, who.uid) == 0;
    const int fd = is_who ? open() : -1;
    SendPacket(ends.theirs.get(), "x", fd >= 0 ? std::vector<int>{fd} : std::vector<int>{});
    if (stays) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const auto channel = static_cast<unsigned>(ends.theirs.get());
      ::close_range(channel + 1, ~0U, 0);
      if (channel > 0) ::close_range(0, channel - 1, 0);
      SendPacket(ends.theirs.get(), "the caller's end is the test's alone", {});
      ::pause();
    }
    ::_exit(0);
  }
  EXPECT_GT(pid, 1);
  if (!stays) ::waitpid(pid, nullptr, 0);
  Packet packet;
  Packet closed;
  for (Packet* next : stays ? std::vector<Packet*>{&packet, &closed} : std::vector<Packet*>{&packet}) {
    pollfd said{ends.ours.get(), POLLIN, 0};
    ::poll(&said, 1, kPatienceMs);
    EXPECT_EQ(ReceivePacket(ends.ours.get(), 64, *next), 0);
  }
  return packet.files.empty() ? UniqueFd() : std::move(packet.files.front());
}

inline int ConnectStream(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

inline UniqueFd ListenStream(const std::string& path, int type = SOCK_STREAM) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd.get(), 10), 0);
  ::chmod(path.c_str(), 0666);
  return fd;
}

// A caller and kprofd's end of its connection.
struct CallersConnection {
  UniqueFd caller;
  UniqueFd accepted;
};

class HelperTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    std::filesystem::create_directory(folder_ / "run");
    kprofd_listener_ = ListenStream(KprofdSocket());
    StartHelper();
    ConnectToHelper();
  }

  void TearDown() override {
    StopHelper(SIGTERM);
    KillAll([] { return FindDescendants(::getpid()); });
  }

  std::string KprofdSocket() const { return folder_ / "run/kprofd.sock"; }

  std::string RemoteUsers() const { return folder_ / "remote-users"; }
  void WriteRemoteUsers(const std::string& text) {
    std::ofstream(RemoteUsers()) << text;
    ::chmod(RemoteUsers().c_str(), 0644);
  }

  virtual std::vector<std::string> MoreOptions() { return {"--units", "no"}; }
  virtual bool needs_account() const { return false; }

  void StartHelper() {
    std::vector<std::string> words = {program_,
                                      "--socket",
                                      folder_ / "helper.sock",
                                      "--kprofd-user",
                                      std::to_string(kKprofdUid),
                                      "--kprofd-socket",
                                      KprofdSocket(),
                                      "--grants",
                                      folder_ / "grants",
                                      "--launcher",
                                      launcher_,
                                      "--remote-users",
                                      RemoteUsers()};
    if (!needs_account()) words.emplace_back("--allow-uids-without-account");
    for (const std::string& word : MoreOptions()) words.push_back(word);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ASSERT_EQ(::posix_spawn(&helper_, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  }

  void StopHelper(int signal) {
    if (helper_ <= 1) return;
    ::kill(helper_, signal);
    ::waitpid(helper_, nullptr, 0);
    helper_ = -1;
  }

  void SignalHelper(int signal) { ::kill(helper_, signal); }

  UniqueFd ConnectedToHelperAs(const Who& who) {
    return OpenAs(who, [this] {
      Result<UniqueFd> socket = ConnectPacketSocket(folder_ / "helper.sock");
      return socket.ok() ? socket->Release() : -1;
    });
  }

  void ConnectToHelper() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
    do {
      to_helper_ = ConnectedToHelperAs({kKprofdUid, kKprofdUid, {}});
    } while (!to_helper_.valid() && std::chrono::steady_clock::now() < deadline);
    ASSERT_TRUE(to_helper_.valid());
    ASSERT_EQ(SendPacket(to_helper_.get(), EncodeHelperPacket({0, HelperHello{}})), 0);
    ASSERT_EQ(Hear(), HelperMessage(HelperHello{}));
  }

  // The next answer; a refusal that says so when there is none.
  HelperMessage Hear() {
    heard_file_.Reset();
    pollfd wait{to_helper_.get(), POLLIN, 0};
    Packet packet;
    if (::poll(&wait, 1, kPatienceMs) != 1 || ReceivePacket(to_helper_.get(), kHelperPacketLimitBytes, packet) != 0 ||
        packet.end) {
      return HelperRefused{ErrorCode::kNoDaemon, "the helper closed the connection", ""};
    }
    if (!packet.files.empty()) heard_file_ = std::move(packet.files.front());
    Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
    EXPECT_TRUE(decoded.ok());
    return decoded.ok() ? decoded->message : HelperMessage();
  }

  HelperMessage Ask(const HelperMessage& request, int file = -1) {
    EXPECT_EQ(SendPacket(to_helper_.get(), EncodeHelperPacket({7, request}),
                         file >= 0 ? std::vector<int>{file} : std::vector<int>{}),
              0);
    return Hear();
  }

  // Whether the helper took bytes as they are, and then answers as before.
  bool SurvivesBytes(const std::string& bytes, const std::vector<int>& files = {}) {
    SendPacket(to_helper_.get(), bytes, files);
    ConnectToHelper();
    return std::holds_alternative<HelperState>(Ask(HelperGetState{}));
  }

  CallersConnection Connect(const Who& who = {}) {
    CallersConnection connection;
    constexpr bool kStays = true;
    connection.caller = OpenAs(
        who, [this] { return ConnectStream(KprofdSocket()); }, kStays);
    EXPECT_TRUE(connection.caller.valid());
    connection.accepted.Reset(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(connection.accepted.valid());
    return connection;
  }

  static LaunchRequest Request(std::vector<std::string> argv) {
    LaunchRequest request;
    request.argv = std::move(argv);
    request.environment = {"PATH=/usr/bin:/bin"};
    request.cwd = "/";
    return request;
  }

  // Registers it as `who` would.
  HelperMessage Register(const std::string& run_id, const LaunchRequest& request, const Who& who = {}) {
    return Ask(HelperRegister{run_id, LaunchDigest(request)}, Connect(who).accepted.get());
  }

  // What a supervisor sends its command's output to; we read it at the end.
  OutputFiles NewOutput() {
    output_ = *MakeSocketPair(SOCK_STREAM);
    error_output_ = *MakeSocketPair(SOCK_STREAM);
    return {.stdout_fd = output_.theirs.get(), .stderr_fd = error_output_.theirs.get()};
  }

  // Asks for a start; what then comes over the channel is up to the test.
  HelperMessage Start(const std::string& run_id, UniqueFd& channel) {
    SocketPair ends = *MakeLaunchSockets(NewOutput());
    channel = std::move(ends.ours);
    return Ask(HelperStart{run_id}, ends.theirs.get());
  }

  // The next frame of the supervisor; nothing when it has gone.
  static std::optional<FrameReader::Frame> NextFrame(int channel, FrameReader& frames) {
    while (true) {
      Result<std::optional<FrameReader::Frame>> frame = frames.Next();
      if (!frame.ok()) return std::nullopt;
      if (frame->has_value()) return **frame;
      char bytes[4096];
      pollfd wait{channel, POLLIN, 0};
      if (::poll(&wait, 1, kPatienceMs) != 1) return std::nullopt;
      const ssize_t size = ::recv(channel, bytes, sizeof bytes, 0);
      if (size <= 0) return std::nullopt;
      frames.Add(std::string_view(bytes, static_cast<size_t>(size)));
    }
  }

  static void Say(int channel, const std::string& frames) {
    ASSERT_EQ(::send(channel, frames.data(), frames.size(), MSG_NOSIGNAL), static_cast<ssize_t>(frames.size()));
  }

  struct Outcome {
    std::optional<LaunchFailure> failure;
    std::optional<CommandEnded> ended;
    std::string output;
  };

  // Starts a registered run and follows it to its end.
  Outcome Run(const std::string& run_id, const LaunchRequest& request) {
    Outcome outcome;
    UniqueFd channel;
    const HelperMessage started = Start(run_id, channel);
    EXPECT_TRUE(std::holds_alternative<HelperStarted>(started)) << WhyRefused(started);
    Say(channel.get(), FirstFrames(request));
    FrameReader frames;
    while (std::optional<FrameReader::Frame> frame = NextFrame(channel.get(), frames)) {
      if (frame->type == LaunchMessage::kPrepared) Say(channel.get(), FrameOf(LaunchMessage::kGo));
      if (frame->type == LaunchMessage::kLaunchFailed) outcome.failure = *DecodeLaunchFailure(frame->payload);
      if (frame->type == LaunchMessage::kEnded) outcome.ended = *DecodeCommandEnded(frame->payload);
    }
    char bytes[4096];
    ssize_t size = 0;
    while ((size = ::recv(output_.ours.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
      outcome.output.append(bytes, static_cast<size_t>(size));
    }
    return outcome;
  }

  static std::string WhyRefused(const HelperMessage& answer) {
    const auto* refused = std::get_if<HelperRefused>(&answer);
    return refused == nullptr ? "" : refused->why;
  }
  static testing::AssertionResult IsRefused(const HelperMessage& answer, const std::string& why = "") {
    if (!std::holds_alternative<HelperRefused>(answer)) return testing::AssertionFailure() << "it was not refused";
    if (WhyRefused(answer).find(why) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "refused for: " << WhyRefused(answer);
  }

  const TemporaryFolder folder_{TemporaryFolder::Holds::kPrograms};
  UniqueFd kprofd_listener_;
  std::string program_ = kBin + "/kprofd-helper";
  pid_t helper_ = -1;
  std::string launcher_ = kBin + "/kprof-launch";
  UniqueFd to_helper_;
  UniqueFd heard_file_;
  SocketPair output_;
  SocketPair error_output_;
};

}  // namespace kprof
