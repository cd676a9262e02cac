#include "daemon/net/tls_refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace kprof {
namespace {

// What is logged meanwhile.
template <typename Act>
std::string LogOf(const Act& act) {
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

int64_t Lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(RefusalLog, SaysWhoWasRefusedAndWhy) {
  RefusalLog log;
  const std::string text = LogOf([&] { log.Add(TlsRefusal::kRevoked, "192.0.2.7:1", "ci"); });
  EXPECT_THAT(text, testing::HasSubstr("peer=192.0.2.7:1 certificate=ci reason=revoked"));
}

TEST(RefusalLog, TenThousandOfAKindAreAFewLinesAndANumber) {
  RefusalLog log;
  const std::string first = LogOf([&] {
    for (int i = 0; i < 10'000; ++i) log.Add(TlsRefusal::kNotTls, "192.0.2.7:" + std::to_string(i), "");
    log.Add(TlsRefusal::kRevoked, "192.0.2.8:1", "ci");  // another reason is not lost among them
  });
  EXPECT_EQ(Lines(first), 6);
  ASSERT_TRUE(log.pending());
  const std::string summary = LogOf([&] { log.Flush(); });
  EXPECT_EQ(Lines(summary), 1);
  EXPECT_THAT(summary, testing::HasSubstr("reason=not_tls count=9995 last_peer=192.0.2.7:9999"));
}

TEST(RefusalLog, AFloodThatGoesOnIsToldOfInNumbers) {
  RefusalLog log;
  int64_t lines = 0;
  for (int period = 0; period < 10; ++period) {
    lines += Lines(LogOf([&] {
      for (int i = 0; i < 1000; ++i) log.Add(TlsRefusal::kSilent, "p", "");
      log.Flush();
    }));
  }
  EXPECT_LE(lines, 6 + 9 * 2);
}

TEST(RefusalLog, IsAsItWasOnceAFloodHasStopped) {
  RefusalLog log;
  (void)LogOf([&] {
    for (int i = 0; i < 100; ++i) log.Add(TlsRefusal::kSilent, "p", "");
    log.Flush();
    log.Flush();
  });
  EXPECT_FALSE(log.pending());
  EXPECT_EQ(Lines(LogOf([&] {
              for (int i = 0; i < 100; ++i) log.Add(TlsRefusal::kSilent, "p", "");
            })),
            5);
}

}  // namespace
}  // namespace kprof
