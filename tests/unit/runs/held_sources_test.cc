#include "daemon/runs/imports/held_sources.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

#include "tests/fakes/base/fake_clock.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class HeldSourcesTest : public testing::Test {
 protected:
  HeldSourcesTest() {
    std::ofstream(path_) << "12345";
    loop_.RunUntilIdle();
  }
  UniqueFd Open(int flags = O_RDONLY) { return UniqueFd(::open(path_.c_str(), flags | O_CLOEXEC)); }
  std::string Hold(uint32_t uid = 1000) {
    Result<std::string> ticket = sources_.Hold(uid, uid, Open());
    EXPECT_TRUE(ticket.ok()) << ticket.status().ToString();
    return ticket.ok() ? *ticket : "";
  }
  ErrorCode Refused(UniqueFd fd) { return sources_.Hold(1000, 1000, std::move(fd)).status().code(); }
  void Pass(int64_t ms) {
    clock_.Advance(ms * kNanosPerMilli);
    loop_.RunUntilIdle();
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "source";
  FakeClock clock_;
  IoLoop loop_{clock_};
  HeldSources sources_{loop_};
};

TEST_F(HeldSourcesTest, GivesASourceOnceToItsUser) {
  const std::string ticket = Hold();
  EXPECT_EQ(sources_.Claim(1001, ticket).status().code(), ErrorCode::kNotFound);
  Result<HeldSource> source = sources_.Claim(1000, ticket);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->size_bytes, 5);
  char bytes[5];
  EXPECT_EQ(::pread(source->fd.get(), bytes, 5, 0), 5);
  EXPECT_EQ(sources_.Claim(1000, ticket).status().code(), ErrorCode::kNotFound);
}

TEST_F(HeldSourcesTest, RefusesWhatIsNoRegularFileOpenForReadingAlone) {
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  UniqueFd write_end(pipe[1]);
  EXPECT_EQ(Refused(UniqueFd(pipe[0])), ErrorCode::kUsage);
  EXPECT_EQ(Refused(UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC))), ErrorCode::kUsage);
  EXPECT_EQ(Refused(UniqueFd(::open("/", O_RDONLY | O_CLOEXEC))), ErrorCode::kUsage);
  EXPECT_EQ(Refused(Open(O_RDWR)), ErrorCode::kUsage);
  EXPECT_EQ(Refused(Open(O_WRONLY)), ErrorCode::kUsage);
  EXPECT_EQ(Refused(Open(O_PATH)), ErrorCode::kUsage);
  EXPECT_FALSE(sources_.Hold(1000, 1000, UniqueFd()).ok());
}

TEST_F(HeldSourcesTest, LetsGoOfWhatNobodyClaimsForAMinute) {
  const std::string ticket = Hold();
  Pass(59'000);
  EXPECT_EQ(sources_.waiting(), 1u);
  Pass(2'000);
  EXPECT_EQ(sources_.waiting(), 0u);
  EXPECT_FALSE(sources_.Claim(1000, ticket).ok());
}

TEST_F(HeldSourcesTest, KeepsThemWhileAnotherOfTheirUserIsOnItsWay) {
  Hold();
  Hold(1001);
  sources_.BeginUpload(1000);
  Pass(150'000);
  EXPECT_EQ(sources_.waiting(), 1u);
  sources_.EndUpload(1000);
  Pass(61'000);
  EXPECT_EQ(sources_.waiting(), 0u);
}

TEST_F(HeldSourcesTest, HasSoManyPlacesForAUserUntilTheirImportIsOver) {
  std::vector<Places::Place> places;
  for (int i = 0; i < HeldSources::kMostOfOne - 1; ++i) {
    Result<Places::Place> place = sources_.TakePlace(1000);
    ASSERT_TRUE(place.ok());
    places.push_back(*std::move(place));
  }
  Result<HeldSource> claimed = sources_.Claim(1000, Hold());
  ASSERT_TRUE(claimed.ok());
  EXPECT_EQ(Refused(Open()), ErrorCode::kQueueFull);
  *claimed = HeldSource();
  Hold();
}

}  // namespace
}  // namespace kprof
