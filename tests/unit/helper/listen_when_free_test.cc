#include "daemon/helper/helper_server.h"

#include <gtest/gtest.h>

#include <fstream>

#include "storage/base/packet_socket.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

constexpr mode_t kMode = 0600;

class ListenWhenFreeTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "helper.sock";
};

TEST_F(ListenWhenFreeTest, ListensWhereNobodyDoes) {
  EXPECT_TRUE(ListenWhenFree(path_, [&] { return ListenForPackets(path_, kMode); }).ok());
}

// Between its refusal and the look whether it is still there.
TEST_F(ListenWhenFreeTest, TakesThePlaceOfOneThatGoesRightWhenItHasRefused) {
  UniqueFd holder = *ListenForPackets(path_, kMode);
  Result<UniqueFd> listener = ListenWhenFree(path_, [&] {
    Result<UniqueFd> attempt = ListenForPackets(path_, kMode);
    holder.Reset();
    return attempt;
  });
  EXPECT_TRUE(listener.ok()) << listener.status().ToString();
}

TEST_F(ListenWhenFreeTest, WaitsForOneThatIsStillThere) {
  UniqueFd holder = *ListenForPackets(path_, kMode);
  int attempts = 0;
  Result<UniqueFd> listener = ListenWhenFree(path_, [&] {
    if (++attempts == 3) holder.Reset();
    return ListenForPackets(path_, kMode);
  });
  EXPECT_TRUE(listener.ok()) << listener.status().ToString();
  EXPECT_EQ(attempts, 3);
}

TEST_F(ListenWhenFreeTest, TellsAtOnceOfAPathThatNobodyCanListenAt) {
  std::ofstream(path_) << "a file";
  int attempts = 0;
  const Result<UniqueFd> listener = ListenWhenFree(path_, [&] {
    ++attempts;
    return ListenForPackets(path_, kMode);
  });
  EXPECT_EQ(listener.status().code(), ErrorCode::kUsage);
  EXPECT_LE(attempts, 2);
}

}  // namespace
}  // namespace kprof
