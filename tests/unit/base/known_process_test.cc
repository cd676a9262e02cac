#include "daemon/base/user_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/base/real_loop.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class KnownProcessTest : public testing::Test {
 protected:
  KnownProcess Read(const std::string& status) {
    std::filesystem::create_directories(proc_.path() + "/4711");
    std::ofstream(proc_.path() + "/4711/status") << status;
    return ReadKnownProcess(4711, proc_.path());
  }

  TemporaryFolder proc_;
  RealLoop real_;
};

TEST_F(KnownProcessTest, HasTheNameAndTheUserThatProcTells) {
  const KnownProcess self = ReadKnownProcess(::getpid());
  EXPECT_EQ(self.uid, ::geteuid());
  EXPECT_TRUE(self.name.starts_with("unit_base")) << self.name;
  EXPECT_EQ(Read("Name:\tpython3\nUmask:\t0022\nUid:\t1001\t1002\t1001\t1001\n"),
            (KnownProcess{4711, "python3", 1002}));
}

TEST_F(KnownProcessTest, WhatItCallsItselfCanBeShown) {
  EXPECT_EQ(Read("Name:\tevil\x1b[2J\nUid:\t0\t0\t0\t0\n").name, "evil\\x1b[2J");
}

TEST_F(KnownProcessTest, OfOneThatIsGoneThereIsItsNumber) {
  UserNames users(real_.loop);
  const KnownProcess gone = ReadKnownProcess(4711, proc_.path());
  EXPECT_EQ(gone, (KnownProcess{.pid = 4711}));
  EXPECT_EQ(KnownAs(gone, users), "pid 4711");
  EXPECT_EQ(Read("nonsense"), (KnownProcess{.pid = 4711}));
}

TEST_F(KnownProcessTest, ItsUserHasANameWhenItIsKnown) {
  UserNames users(real_.loop, [](uint32_t uid) -> Result<Account> {
    if (uid == 1002) return Account{1002, 1002, "eve"};
    return Fail(ErrorCode::kNotFound, "find a user", "there is none");
  });
  const KnownProcess eves{4711, "python3", 1002};
  const KnownProcess nobodys{4712, "", 77};
  real_.loop.Post([&] {
    EXPECT_EQ(KnownAs(eves, users), "pid 4711 (python3, uid 1002)");
    EXPECT_EQ(KnownAs(nobodys, users), "pid 4712 (uid 77)");
  });
  EXPECT_TRUE(real_.Until([&] { return KnownAs(eves, users) == "pid 4711 (python3, user eve)"; }));
  EXPECT_EQ(KnownAs(nobodys, users), "pid 4712 (uid 77)");
}

}  // namespace
}  // namespace kprof
