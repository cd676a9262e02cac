// A kprofd that has been taken over: it may send what it likes, and gets nothing that no caller asked for.
#include <gmock/gmock.h>

#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

const HelperMessage kWish = HelperRegister{kRun, std::string(64, 'a')};

class HostileKprofd : public HelperTest {};

TEST_F(HostileKprofd, CannotStartWhatNobodyAskedFor) {
  UniqueFd channel;
  EXPECT_TRUE(IsRefused(Start(kRun, channel), "has not asked"));
  char byte = 0;
  EXPECT_LE(::recv(channel.get(), &byte, 1, 0), 0);  // the other end was closed, unused
}

TEST_F(HostileKprofd, CannotRegisterWithASocketPair) {
  SocketPair pair = *MakeSocketPair(SOCK_STREAM);
  EXPECT_TRUE(IsRefused(Ask(kWish, pair.ours.get()), "nobody accepted it"));
}

TEST_F(HostileKprofd, CannotRegisterWithItsOwnConnectionToSomebodysSocket) {
  // SO_PEERCRED of this one says that the victim is at the other end, because the victim listens.
  const std::string path = folder_ / "victims.sock";
  ASSERT_EQ(::chmod(folder_.path().c_str(), 01777), 0);
  UniqueFd listener = OpenAs({}, [&] { return ListenStream(path).Release(); });
  ASSERT_TRUE(listener.valid());
  UniqueFd connected = OpenAs({kKprofdUid, kKprofdUid, {}}, [&] { return ConnectStream(path); });
  ASSERT_TRUE(connected.valid());
  ucred who{};
  socklen_t size = sizeof who;
  ASSERT_EQ(::getsockopt(connected.get(), SOL_SOCKET, SO_PEERCRED, &who, &size), 0);
  ASSERT_EQ(who.uid, kCallerUid);
  EXPECT_TRUE(IsRefused(Ask(kWish, connected.get())));
}

TEST_F(HostileKprofd, CannotRegisterWithAConnectionAcceptedElsewhere) {
  const std::string path = folder_ / "run/another.sock";
  UniqueFd listener = ListenStream(path);
  UniqueFd caller = OpenAs({}, [&] { return ConnectStream(path); });
  UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  EXPECT_TRUE(IsRefused(Ask(kWish, accepted.get()), "was not accepted at"));
}

TEST_F(HostileKprofd, CannotRegisterWithTheCallersEnd) {
  CallersConnection connection = Connect();
  EXPECT_TRUE(IsRefused(Ask(kWish, connection.caller.get()), "nobody accepted it"));
}

TEST_F(HostileKprofd, CannotRegisterWithTheListener) {
  EXPECT_TRUE(IsRefused(Ask(kWish, kprofd_listener_.get()), "it listens"));
}

TEST_F(HostileKprofd, CannotRegisterForACallerWhoHasGone) {
  CallersConnection connection = Connect();
  connection.caller.Reset();
  EXPECT_TRUE(IsRefused(Ask(kWish, connection.accepted.get()), "has gone"));
}

TEST_F(HostileKprofd, CannotRegisterWithOtherFiles) {
  UniqueFd file(::open("/dev/null", O_RDWR));
  EXPECT_TRUE(IsRefused(Ask(kWish, file.get()), "no stream socket"));
  UniqueFd unconnected(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_TRUE(IsRefused(Ask(kWish, unconnected.get())));
  UniqueFd network(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_TRUE(IsRefused(Ask(kWish, network.get()), "no stream socket"));
  SocketPair packets = *MakeSocketPair(SOCK_SEQPACKET);
  EXPECT_TRUE(IsRefused(Ask(kWish, packets.ours.get()), "no stream socket"));
}

TEST_F(HostileKprofd, CannotRegisterForTheSystemsUsers) {
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect({0, 0, {}}).accepted.get()), "root"));
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect({kKprofdUid, kKprofdUid, {}}).accepted.get()), "kprofd itself"));
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect({65534, 65534, {}}).accepted.get()), "no uid on this machine"));
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect({2, 2, {}}).accepted.get()), "the system's own"));
}

TEST_F(HostileKprofd, CannotRegisterForACallerInAnotherMountNamespace) {
  // As in a container that the socket is mounted into: the same uid, other files.
  UniqueFd caller = OpenAs(
      {}, [this] { return ConnectStream(KprofdSocket()); }, true, [] { return ::unshare(CLONE_NEWNS) == 0; });
  ASSERT_TRUE(caller.valid());
  UniqueFd accepted(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const HelperMessage answer = Ask(kWish, accepted.get());
  EXPECT_TRUE(IsRefused(answer, "is in a container"));
  EXPECT_NE(std::get<HelperRefused>(answer).remedy.find("in the foreground"), std::string::npos);
}

TEST_F(HostileKprofd, CannotRegisterForACallerInAnotherUserNamespace) {
  UniqueFd caller = OpenAs(
      {},
      [this] {
        if (::unshare(CLONE_NEWUSER) != 0) return -1;
        return ConnectStream(KprofdSocket());
      },
      true);
  if (!caller.valid()) GTEST_SKIP() << "nobody may make user namespaces here";
  UniqueFd accepted(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(IsRefused(Ask(kWish, accepted.get()), "is in a container"));
}

TEST_F(HostileKprofd, CannotRegisterForAProcessThatHasGoneAlthoughItsConnectionIsOpen) {
  UniqueFd caller = OpenAs({}, [this] { return ConnectStream(KprofdSocket()); });
  UniqueFd accepted(::accept4(kprofd_listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(IsRefused(Ask(kWish, accepted.get()), "has gone"));
}

TEST_F(HostileKprofd, IsNotToldWhereAnybodyIsButItsCallers) {
  UniqueFd file(::open("/dev/null", O_RDWR));
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, file.get()), "no stream socket"));
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, kprofd_listener_.get()), "it listens"));
  SocketPair pair = *MakeSocketPair(SOCK_STREAM);
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, pair.ours.get()), "nobody accepted it"));
  const std::string path = folder_ / "run/another.sock";
  UniqueFd listener = ListenStream(path);
  UniqueFd caller = OpenAs({}, [&] { return ConnectStream(path); });
  UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, accepted.get()), "was not accepted at"));
  CallersConnection connection = Connect();
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, connection.caller.get()), "nobody accepted it"));
  ASSERT_EQ(::chown((folder_ / "run").c_str(), kKprofdUid, kKprofdUid), 0);
  EXPECT_TRUE(IsRefused(Ask(HelperWhereIs{}, connection.accepted.get()), "not a folder of root's"));
}

TEST_F(HostileKprofd, CannotRegisterForRemoteUsersWhomRootHasNotListed) {
  const HelperMessage wish = HelperRegisterRemote{kRun, kCallerUid, std::string(64, 'a')};
  EXPECT_TRUE(IsRefused(Ask(wish), "not one as whom remote clients may"));  // there is no file
  WriteRemoteUsers("# nobody but\n\n" + std::to_string(kOtherUid) + "\nno-such-user\n");
  EXPECT_TRUE(IsRefused(Ask(wish), "not one as whom remote clients may"));
  WriteRemoteUsers("0\n2\n" + std::to_string(kKprofdUid) + "\n");
  const std::string digest(64, 'a');
  EXPECT_TRUE(IsRefused(Ask(HelperRegisterRemote{kRun, 0, digest}), "root"));
  EXPECT_TRUE(IsRefused(Ask(HelperRegisterRemote{kRun, 2, digest}), "the system's own"));
  EXPECT_TRUE(IsRefused(Ask(HelperRegisterRemote{kRun, kKprofdUid, digest}), "kprofd itself"));
}

TEST_F(HostileKprofd, CannotStartForRemoteUsersWhomRootHasTakenOut) {
  constexpr int kRuns = 3;
  auto run = [](int n) { return kRun.substr(0, kRun.size() - 1) + std::to_string(n); };
  WriteRemoteUsers(std::to_string(kCallerUid) + "\n");
  for (int n = 0; n < kRuns; ++n) {
    const HelperMessage wish = HelperRegisterRemote{run(n), kCallerUid, std::string(64, 'a')};
    ASSERT_EQ(Ask(wish), HelperMessage(HelperDone{}));
  }
  auto start = [&](int n) {
    UniqueFd channel;
    const HelperMessage answer = Start(run(n), channel);
    const auto* refused = std::get_if<HelperRefused>(&answer);
    return refused == nullptr || refused->code != ErrorCode::kNotPermitted ? "it is not refused" : refused->why;
  };
  StopHelper(SIGTERM);  // what it knows of them is on the disk
  StartHelper();
  ConnectToHelper();
  WriteRemoteUsers(std::to_string(kOtherUid) + "\n");
  EXPECT_THAT(start(0), testing::HasSubstr("not one as whom remote clients may"));
  ASSERT_EQ(::unlink(RemoteUsers().c_str()), 0);
  EXPECT_THAT(start(1), testing::HasSubstr("not one as whom remote clients may"));
  WriteRemoteUsers(std::to_string(kCallerUid) + "\n");
  ASSERT_EQ(::chmod(RemoteUsers().c_str(), 0666), 0);
  EXPECT_THAT(start(2), testing::HasSubstr("not a small file of root's"));
  // A user of this node, who is connected, is nobody whom the file is about.
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  EXPECT_TRUE(Run(kRun, Request({"true"})).ended);
}

TEST_F(HostileKprofd, CannotListRemoteUsersItself) {
  const HelperMessage wish = HelperRegisterRemote{kRun, kCallerUid, std::string(64, 'a')};
  WriteRemoteUsers(std::to_string(kCallerUid) + "\n");
  ASSERT_EQ(::chown(RemoteUsers().c_str(), kKprofdUid, kKprofdUid), 0);
  EXPECT_TRUE(IsRefused(Ask(wish), "not a small file of root's"));
  ASSERT_EQ(::chown(RemoteUsers().c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(RemoteUsers().c_str(), 0664), 0);
  EXPECT_TRUE(IsRefused(Ask(wish), "not a small file of root's"));
  ASSERT_EQ(::rename(RemoteUsers().c_str(), (RemoteUsers() + ".real").c_str()), 0);
  ASSERT_EQ(::symlink((RemoteUsers() + ".real").c_str(), RemoteUsers().c_str()), 0);
  EXPECT_TRUE(IsRefused(Ask(wish)));
}

TEST_F(HostileKprofd, CannotPutItsOwnSocketInThePlaceOfTheRealOne) {
  // The folder is not root's any more: as if kprofd had been let to make it.
  ASSERT_EQ(::chown((folder_ / "run").c_str(), kKprofdUid, kKprofdUid), 0);
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect().accepted.get()), "not a folder of root's"));
  ASSERT_EQ(::chown((folder_ / "run").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod((folder_ / "run").c_str(), 0777), 0);
  EXPECT_TRUE(IsRefused(Ask(kWish, Connect().accepted.get()), "not a folder of root's"));
}

TEST_F(HostileKprofd, CannotUseAConnectionOfASocketThatWasReplaced) {
  CallersConnection old = Connect();
  ::unlink(KprofdSocket().c_str());
  UniqueFd anew = ListenStream(KprofdSocket());
  EXPECT_TRUE(IsRefused(Ask(kWish, old.accepted.get()), "was not accepted at"));
}

TEST_F(HostileKprofd, CannotReplaceAGrant) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  EXPECT_TRUE(IsRefused(Register(kRun, Request({"sh"}), {kOtherUid, kOtherUid, {}}), "registered already"));
  const Outcome outcome = Run(kRun, Request({"sh"}));
  ASSERT_TRUE(outcome.failure);
  EXPECT_EQ(outcome.failure->step, "digest");
}

TEST_F(HostileKprofd, CannotSendASecondRequestDownTheChannel) {
  const LaunchRequest asked = Request({"sleep", "1000"});
  ASSERT_EQ(Register(kRun, asked), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_TRUE(std::holds_alternative<HelperStarted>(Start(kRun, channel)));
  const LaunchRequest other = Request({"touch", folder_ / "executed"});
  Say(channel.get(),
      FirstFrames(asked) + FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(other)) + FrameOf(LaunchMessage::kGo));
  FrameReader frames;
  EXPECT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
  Say(channel.get(), FrameOf(LaunchMessage::kStop, EncodeStop(0)));
  while (NextFrame(channel.get(), frames)) {
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(HostileKprofd, CannotStartWithSomethingThatIsNoChannel) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  UniqueFd file(::open("/dev/null", O_RDWR));
  EXPECT_TRUE(IsRefused(Ask(HelperStart{kRun}, file.get()), "no channel"));
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 1, 0}));  // the grant is not used up
}

TEST_F(HostileKprofd, CannotSweepWhatItDidNotStart) {
  EXPECT_EQ(Ask(HelperSweep{kRun}), HelperMessage(HelperSwept{}));
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  EXPECT_EQ(Ask(HelperSweep{kRun}), HelperMessage(HelperSwept{}));
}

TEST_F(HostileKprofd, CannotGetFilesThatTheCallerMayNotRead) {
  const std::string secret = folder_ / "secret";
  UniqueFd(::open(secret.c_str(), O_WRONLY | O_CREAT, 0600)).Reset();
  ASSERT_EQ(::symlink(secret.c_str(), (folder_ / "link").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0666), 0);
  ASSERT_EQ(::chmod((folder_ / "fifo").c_str(), 0666), 0);
  const CallersConnection connection = Connect();
  for (const std::string& path :
       {secret, folder_ / "link", folder_ / "fifo", std::string("/etc/shadow"), std::string("/dev/null"),
        std::string("/dev/mem"), std::string("/proc/self/mem"), std::string("/proc/self/environ"),
        std::string("/proc/self/exe"), std::string("/proc/self/fd/3"), std::string("/proc/1/environ"),
        std::string("/proc/self/root/etc/shadow"), std::string("/proc/version"), std::string("/sys/kernel/profiling"),
        folder_.path(), KprofdSocket(), folder_ / "absent", folder_ / "grants/" + kRun}) {
    EXPECT_TRUE(IsRefused(Ask(HelperOpenFile{path}, connection.accepted.get()))) << path;
    EXPECT_FALSE(heard_file_.valid()) << path;
  }
}

TEST_F(HostileKprofd, CannotOpenFilesForACallerWhoHasGone) {
  CallersConnection connection = Connect();
  connection.caller.Reset();
  EXPECT_TRUE(IsRefused(Ask(HelperOpenFile{"/etc/passwd"}, connection.accepted.get()), "has gone"));
}

TEST_F(HostileKprofd, LosesTheConnectionForForgedBytes) {
  UniqueFd null(::open("/dev/null", O_RDONLY));
  const std::string good = EncodeHelperPacket({1, HelperGetState{}});
  const std::string forged_id = EncodeHelperPacket({1, HelperStart{"../../etc/passwd"}});
  EXPECT_TRUE(SurvivesBytes("x"));
  EXPECT_TRUE(SurvivesBytes(std::string(kHelperPacketLimitBytes + 1, '\0')));
  EXPECT_TRUE(SurvivesBytes(good + "x"));
  EXPECT_TRUE(SurvivesBytes(forged_id, {null.get()}));
  EXPECT_TRUE(SurvivesBytes(good, {null.get()}));                                        // a file that none asked for
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({1, kWish})));                            // one that is missing
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({1, kWish}), {null.get(), null.get()}));  // one too many
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({1, HelperWhereIs{}})));
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({1, HelperWhereIs{}}), {null.get(), null.get()}));
  EXPECT_TRUE(SurvivesBytes(EncodeHelperPacket({1, HelperHello{}})));  // a second Hello
  EXPECT_TRUE(SurvivesBytes(std::string(5, '\xff')));
}

TEST_F(HostileKprofd, IsNotHeardBeforeHelloNorInAnotherVersion) {
  for (const HelperMessage& first : {HelperMessage(HelperGetState{}), HelperMessage(HelperHello{99})}) {
    UniqueFd socket = ConnectedToHelperAs({kKprofdUid, kKprofdUid, {}});
    ASSERT_EQ(SendPacket(socket.get(), EncodeHelperPacket({1, first})), 0);
    SendPacket(socket.get(), EncodeHelperPacket({2, HelperGetState{}}));
    Packet packet;
    bool answered = false;
    do {
      pollfd wait{socket.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&wait, 1, kPatienceMs), 1);
      if (ReceivePacket(socket.get(), kHelperPacketLimitBytes, packet) != 0 || packet.end) break;
      Result<HelperPacket> decoded = DecodeHelperPacket(packet.bytes);
      answered = answered || (decoded.ok() && std::holds_alternative<HelperState>(decoded->message));
    } while (true);
    EXPECT_FALSE(answered);
  }
}

TEST_F(HostileKprofd, IsNotHeardUnderAnotherUid) {
  for (uint32_t uid : {kCallerUid, 0U}) {
    ASSERT_EQ(::chmod((folder_ / "helper.sock").c_str(), 0666), 0);
    UniqueFd socket = ConnectedToHelperAs({uid, uid, {}});
    ASSERT_TRUE(socket.valid());
    SendPacket(socket.get(), EncodeHelperPacket({0, HelperHello{}}));
    pollfd wait{socket.get(), POLLIN, 0};
    ASSERT_EQ(::poll(&wait, 1, kPatienceMs), 1);
    Packet packet;
    EXPECT_TRUE(ReceivePacket(socket.get(), kHelperPacketLimitBytes, packet) != 0 || packet.end) << uid;
  }
}

TEST_F(HostileKprofd, CannotHoldUpTheHelperByNotReading) {
  std::vector<UniqueFd> deaf;
  for (int i = 0; i < 4; ++i) {
    UniqueFd socket = ConnectedToHelperAs({kKprofdUid, kKprofdUid, {}});
    SendPacket(socket.get(), EncodeHelperPacket({0, HelperHello{}}));
    const std::string ask = EncodeHelperPacket({1, HelperGetState{}});
    for (int j = 0; j < 5000; ++j) SendPacket(socket.get(), ask);
    deaf.push_back(std::move(socket));
  }
  EXPECT_EQ(Ask(HelperGetState{}), HelperMessage(HelperState{false, 0, 0}));
}

}  // namespace
}  // namespace kprof
