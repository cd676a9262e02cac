#include "daemon/clocks/keeper/pause_keeper.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

PauseHold Hold() {
  return {"9f0c1f52-0f6e-4b4f-8a90-4f0e4a1f0a11", "run 01hx3m5qrstvwxyz", 1'764'000'000'000'000'000, true, true};
}

TEST(PauseHold, IsReadAsItWasWritten) {
  PauseHold least;
  least.boot_id = "b";
  for (const PauseHold& hold : {Hold(), least}) {
    Result<PauseHold> read = ParsePauseHold(PauseHoldText(hold));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, hold);
  }
}

// The example of docs/quiet_devices.md.
TEST(PauseHold, HasTheFormThatIsWrittenDown) {
  EXPECT_EQ(PauseHoldText(Hold()).substr(0, PauseHoldText(Hold()).rfind("sum ")),
            "kprof pause held 1\n"
            "boot 9f0c1f52-0f6e-4b4f-8a90-4f0e4a1f0a11\n"
            "holder run 01hx3m5qrstvwxyz\n"
            "since_unix_ns 1764000000000000000\n"
            "by_others 1\n"
            "set 1\n");
}

TEST(PauseHold, RefusesWhatIsCutOffOrChanged) {
  const std::string text = PauseHoldText(Hold());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ParsePauseHold(text.substr(0, size)).status().code(), ErrorCode::kStorageBroken) << size;
    std::string changed = text;
    changed[size] ^= 1;
    EXPECT_FALSE(ParsePauseHold(changed).ok()) << size;
  }
}

}  // namespace
}  // namespace kprof
