#include "daemon/net/local_acceptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class LocalAcceptorTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  std::string path_ = folder_ / "s";
  RealClock clock_;
  IoLoop loop_{clock_};
  std::vector<LocalAcceptor::Peer> peers_;

  Result<std::unique_ptr<LocalAcceptor>> Listen() {
    return LocalAcceptor::Listen(loop_, path_, 0600,
                                 [this](const LocalAcceptor::Peer& peer, UniqueFd) { peers_.push_back(peer); });
  }
  UniqueFd Connect() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
};

TEST_F(LocalAcceptorTest, KnowsWhoConnectsFromTheSocket) {
  auto acceptor = Listen();
  ASSERT_TRUE(acceptor.ok()) << acceptor.status().ToString();
  UniqueFd first = Connect();
  UniqueFd second = Connect();
  while (peers_.size() < 2) loop_.RunUntilIdle();
  for (const LocalAcceptor::Peer& peer : peers_) {
    EXPECT_EQ(peer.uid, getuid());
    EXPECT_EQ(peer.pid, getpid());
  }
}

TEST_F(LocalAcceptorTest, HasTheModeItWasGivenAndGoesAwayWithItsOwner) {
  {
    auto acceptor = Listen();
    ASSERT_TRUE(acceptor.ok());
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(LocalAcceptorTest, ReplacesASocketThatNobodyAnswersOn) {
  {
    UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  EXPECT_TRUE(Listen().ok());
}

TEST_F(LocalAcceptorTest, RefusesAPathWhereAnotherDaemonAnswers) {
  auto first = Listen();
  ASSERT_TRUE(first.ok());
  auto second = Listen();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kUsage);
  EXPECT_THAT(second.status().ToString(), testing::HasSubstr("another daemon"));
  UniqueFd still_there = Connect();
}

TEST_F(LocalAcceptorTest, RefusesAFileOfAnotherKindAndAPathThatIsTooLong) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(Listen().status().code(), ErrorCode::kUsage);
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
  path_ = "/tmp/" + std::string(200, 'x');
  EXPECT_THAT(Listen().status().ToString(), testing::HasSubstr("--socket"));
}

}  // namespace
}  // namespace kprof
