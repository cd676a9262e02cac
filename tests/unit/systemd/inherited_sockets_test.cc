#include "daemon/systemd/service_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Far from the descriptors of the test itself.
constexpr int kFirst = 200;

class InheritedSocketsTest : public testing::Test {
 protected:
  ~InheritedSocketsTest() override {
    for (int fd = kFirst; fd < kFirst + 8; ++fd) ::close(fd);
  }

  // The next inherited descriptor is a copy of this one.
  void Pass(int fd) {
    ASSERT_EQ(::dup2(fd, kFirst + passed_), kFirst + passed_);
    ++passed_;
  }
  void PassListening(int type) {
    UniqueFd socket = Bound(type);
    ASSERT_EQ(::listen(socket.get(), 1), 0);
    Pass(socket.get());
  }
  UniqueFd Bound(int type) {
    UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ / ("s" + std::to_string(passed_))).c_str());
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  Result<InheritedSockets> Take(const std::string& names) {
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", std::to_string(passed_).c_str(), 1);
    ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
    return InheritedSockets::TakeFromEnvironment(kFirst);
  }

  const TemporaryFolder folder_;
  int passed_ = 0;
};

TEST_F(InheritedSocketsTest, AreNoneWithoutTheVariables) {
  Result<InheritedSockets> sockets = InheritedSockets::TakeFromEnvironment(kFirst);
  ASSERT_TRUE(sockets.ok()) << sockets.status().ToString();
  EXPECT_FALSE(sockets->Take("kprofd", SOCK_STREAM)->valid());
  EXPECT_THAT(sockets->left(), IsEmpty());
}

TEST_F(InheritedSocketsTest, AreFoundByNameAndType) {
  PassListening(SOCK_STREAM);
  PassListening(SOCK_SEQPACKET);
  PassListening(SOCK_STREAM);
  Result<InheritedSockets> sockets = Take("kprofd:kprofd:other");
  ASSERT_TRUE(sockets.ok()) << sockets.status().ToString();
  EXPECT_EQ(sockets->Take("kprofd", SOCK_SEQPACKET)->get(), kFirst + 1);
  EXPECT_THAT(sockets->left(), ElementsAre("kprofd", "other"));
  EXPECT_FALSE(sockets->Take("kprofd", SOCK_SEQPACKET)->valid());
  EXPECT_FALSE(sockets->Take("other", SOCK_DGRAM)->valid());
  EXPECT_TRUE(sockets->Take("other", SOCK_STREAM)->valid());
  EXPECT_THAT(sockets->left(), ElementsAre("kprofd"));
}

TEST_F(InheritedSocketsTest, NeitherVariablesNorDescriptorsReachAChild) {
  PassListening(SOCK_STREAM);
  Result<InheritedSockets> sockets = Take("kprofd");
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) EXPECT_EQ(std::getenv(name), nullptr) << name;
  EXPECT_EQ(::fcntl(kFirst, F_GETFD), FD_CLOEXEC);
  Result<UniqueFd> taken = sockets->Take("kprofd", SOCK_STREAM);
  ASSERT_TRUE(taken.ok());
  EXPECT_NE(::fcntl(taken->get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(InheritedSocketsTest, AreLeftAloneWhenTheyAreForAnotherProcess) {
  PassListening(SOCK_STREAM);
  ::setenv("LISTEN_PID", std::to_string(::getppid()).c_str(), 1);
  ::setenv("LISTEN_FDS", "1", 1);
  Result<InheritedSockets> sockets = InheritedSockets::TakeFromEnvironment(kFirst);
  ASSERT_TRUE(sockets.ok());
  EXPECT_THAT(sockets->left(), IsEmpty());
  EXPECT_NE(::fcntl(kFirst, F_GETFD), -1);
  EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr);
}

TEST_F(InheritedSocketsTest, WithoutNamesAreUnknown) {
  PassListening(SOCK_STREAM);
  EXPECT_THAT(Take("")->left(), ElementsAre("unknown"));
}

TEST_F(InheritedSocketsTest, ThatDoNotListenOrAreNoUnixSocketsAreRefused) {
  Pass(Bound(SOCK_STREAM).get());
  UniqueFd internet(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(internet.get(), 1), 0);
  Pass(internet.get());
  Result<InheritedSockets> sockets = Take("deaf:internet");
  ASSERT_TRUE(sockets.ok());
  EXPECT_THAT(sockets->Take("deaf", SOCK_STREAM).status().ToString(), HasSubstr("deaf: it does not listen"));
  EXPECT_THAT(sockets->Take("internet", SOCK_STREAM).status().ToString(), HasSubstr("internet: it is no Unix socket"));
}

TEST_F(InheritedSocketsTest, ThatAreFilesAreNeverFound) {
  UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pass(file.get());
  Result<InheritedSockets> sockets = Take("kprofd");
  ASSERT_TRUE(sockets.ok());
  EXPECT_FALSE(sockets->Take("kprofd", SOCK_STREAM)->valid());
  EXPECT_THAT(sockets->left(), ElementsAre("kprofd"));
}

TEST_F(InheritedSocketsTest, FailsWhereTheNumbersMakeNoSense) {
  for (const char* count : {"", "-1", "65", "1x", "99999999999999999999"}) {
    ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
    ::setenv("LISTEN_FDS", count, 1);
    EXPECT_EQ(InheritedSockets::TakeFromEnvironment(kFirst).status().code(), ErrorCode::kUsage) << count;
  }
  passed_ = 1;  // announced, and not there
  EXPECT_THAT(Take("kprofd").status().ToString(), HasSubstr("descriptor 200 is not open"));
}

}  // namespace
}  // namespace kprof
