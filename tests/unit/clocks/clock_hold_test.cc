#include "daemon/clocks/locks/clock_notes.h"

#include <gtest/gtest.h>

namespace kprof {
namespace {

ClockHold FullHold() {
  ClockHold hold;
  hold.boot_id = "9f0c1f52-0f6e-4b4f-8a90-4f0e4a1f0a11";
  hold.uuid = "GPU-0a1b2c3d-0000-0000-0000-000000000001";
  hold.holder = "session 01hx3m5qrstvwxyz";
  hold.since_unix_ns = 1'764'000'000'000'000'000;
  hold.prior = {false, 700'000, 3201, 1980};
  hold.wanted = {1500, 3201, true, 650'000};
  hold.set = {.sm = true, .memory = false, .persistence = true, .power = true};
  return hold;
}

TEST(ClockHold, IsReadAsItWasWritten) {
  ClockHold least;
  least.boot_id = "b";
  least.uuid = "GPU-1";
  for (const ClockHold& hold : {FullHold(), least}) {
    Result<ClockHold> read = ParseClockHold(ClockHoldText(hold));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(*read, hold);
  }
}

// The example of docs/clocks.md.
TEST(ClockHold, HasTheFormThatIsWrittenDown) {
  EXPECT_EQ(ClockHoldText(FullHold()).substr(0, ClockHoldText(FullHold()).rfind("sum ")),
            "kprof clocks held 1\n"
            "boot 9f0c1f52-0f6e-4b4f-8a90-4f0e4a1f0a11\n"
            "device GPU-0a1b2c3d-0000-0000-0000-000000000001\n"
            "holder session 01hx3m5qrstvwxyz\n"
            "since_unix_ns 1764000000000000000\n"
            "prior_persistence 0\n"
            "prior_power_limit_mw 700000\n"
            "prior_application_memory_mhz 3201\n"
            "prior_application_sm_mhz 1980\n"
            "wanted_sm_mhz 1500\n"
            "wanted_memory_mhz 3201\n"
            "wanted_persistence 1\n"
            "wanted_power_limit_mw 650000\n"
            "set_sm 1\n"
            "set_memory 0\n"
            "set_persistence 1\n"
            "set_power_limit 1\n");
}

TEST(ClockHold, RefusesWhatIsCutOff) {
  const std::string text = ClockHoldText(FullHold());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(ParseClockHold(text.substr(0, size)).status().code(), ErrorCode::kStorageBroken) << size;
  }
}

TEST(ClockHold, RefusesEachChangedByte) {
  const std::string text = ClockHoldText(FullHold());
  for (size_t place = 0; place < text.size(); ++place) {
    std::string changed = text;
    changed[place] ^= 1;
    EXPECT_FALSE(ParseClockHold(changed).ok()) << place;
  }
}

TEST(ClockHold, RefusesWhatIsNoneOfKprofs) {
  for (const std::string& text : {std::string("kprof clocks held 2\nsum 0000000000000000\n"), std::string(1 << 20, 'x'),
                                  std::string("sum \n"), std::string()}) {
    EXPECT_FALSE(ParseClockHold(text).ok());
  }
}

TEST(ClockHold, AHolderIsOneLine) {
  ClockHold hold = FullHold();
  hold.holder = "eve\nwanted_sm_mhz 99999";
  Result<ClockHold> read = ParseClockHold(ClockHoldText(hold));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->holder, "eve wanted_sm_mhz 99999");
  EXPECT_EQ(read->wanted.sm_mhz, 1500u);
}

}  // namespace
}  // namespace kprof
