#include "client/cli/views/device_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/text/terminal_text.h"

namespace kprof::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kNow = 1'795'267'369'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

std::string TextOf(const ScreenLine& line) {
  std::string text;
  for (const StyledText& piece : line) text += piece.text;
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::vector<std::string> TextsOf(const std::vector<ScreenLine>& lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : lines) texts.push_back(TextOf(line));
  return texts;
}

// The style of the piece with this text; kPlain where there is none.
TextStyle InkOf(const std::vector<ScreenLine>& lines, const std::string& text) {
  for (const ScreenLine& line : lines) {
    for (const StyledText& piece : line) {
      if (piece.text.find(text) != std::string::npos) return piece.style;
    }
  }
  return TextStyle::kPlain;
}

v1::Device H200() {
  v1::Device device;
  device.set_id("0");
  device.set_kind("nvidia");
  device.set_name("NVIDIA H200");
  device.set_health("ok");
  device.set_held_since_unix_ns(1);
  device.set_run_id("1m7z76yq0sjfh8j2");
  device.set_queued(2);
  v1::NvidiaFacts& facts = *device.mutable_nvidia();
  facts.set_sm_mhz(1365);
  facts.set_power_mw(699'600);
  facts.set_power_limit_mw(700'000);
  facts.set_temperature_c(61);
  facts.set_slowdown_c(90);
  facts.set_gpu_percent(98);
  facts.set_memory_used_bytes(108'447'924'224);
  facts.set_memory_bytes(150'323'855'360);
  facts.add_clock_reasons("power_cap");
  facts.add_processes()->set_pid(7);
  device.mutable_clocks()->set_locked(true);
  device.mutable_clocks()->set_locked_sm_mhz(1500);
  return device;
}

DeviceFollower::News NewsOf(const std::vector<v1::Device>& devices) {
  DeviceFollower::News news;
  news.heard = true;
  for (const v1::Device& device : devices) news.devices[device.id()] = device;
  return news;
}

v1::Device Cpu() {
  v1::Device device;
  device.set_id("cpu");
  device.set_kind("cpu");
  device.set_health("ok");
  return device;
}

v1::DeviceEvent Event(const std::string& kind, const std::string& text) {
  v1::DeviceEvent event;
  event.set_device_id("0");
  event.set_kind(kind);
  event.set_unix_ns(kNow - kSecond);
  event.set_text(text);
  return event;
}

class DeviceScreenTest : public testing::Test {
 protected:
  DeviceScreen screen_{"node7", false};
};

TEST_F(DeviceScreenTest, ShowsEachDeviceWithItsFiguresAndItsWords) {
  DeviceFollower::News news = NewsOf({Cpu(), H200()});
  news.events = {Event("locked", "its clocks are at 1500 MHz")};
  screen_.Take(news, kNow);
  screen_.Take(NewsOf({}), kNow);
  const std::vector<ScreenLine> lines = screen_.Lines(140, 24, kNow);
  const std::vector<std::string> texts = TextsOf(lines);
  ASSERT_EQ(texts.size(), 10u);
  EXPECT_THAT(texts[0], testing::StartsWith("kprofd on node7  "));
  EXPECT_EQ(texts[1],
            "DEVICE  SM CLOCK           POWER        TEMPERATURE        BUSY   MEMORY                  HELD BY");
  EXPECT_EQ(texts[2],
            "0       1365 of 1500 MHz   700 of 700 W 61 C, slows at 90  98 %   101.0 GiB of 140.0 GiB "
            " run 1m7z76yq0sjfh8j2, 2 wait");
  EXPECT_EQ(texts[3], "        NVIDIA H200  power_cap  1 process  ##");
  EXPECT_EQ(texts[4], "cpu                                                                                       free");
  EXPECT_EQ(texts[5], "");
  EXPECT_EQ(texts[7], "EVENTS");
  EXPECT_THAT(texts[8], testing::EndsWith("0       locked        its clocks are at 1500 MHz"));
  EXPECT_EQ(texts[9], "q quits");
  EXPECT_EQ(InkOf(lines, "power_cap"), TextStyle::kWarning);
  EXPECT_EQ(InkOf(lines, "1365 of 1500"), TextStyle::kWarning) << "below its lock while it is at work";
}

TEST_F(DeviceScreenTest, In80ColumnsItSaysTheSameInFewerWords) {
  screen_.Take(NewsOf({Cpu(), H200()}), kNow);
  const std::vector<ScreenLine> lines = screen_.Lines(80, 24, kNow);
  const std::vector<std::string> texts = TextsOf(lines);
  EXPECT_EQ(texts[1], "DEVICE  SM MHZ    POWER     TEMP  BUSY  MEMORY          HELD BY");
  EXPECT_EQ(texts[2], "0       1365/1500 700/700 W 61 C  98 %  101.0/140.0 GiB 1m7z76yq0sjfh8j2, 2 wait");
  EXPECT_EQ(InkOf(lines, "1365/1500"), TextStyle::kWarning);
}

TEST_F(DeviceScreenTest, ADeviceThatIsNotWellSaysWhy) {
  v1::Device device = H200();
  device.set_health("unresponsive");
  device.set_trouble("nvmlDeviceGetClockInfo has not returned for 12 s");
  screen_.Take(NewsOf({device}), kNow);
  const std::vector<ScreenLine> lines = screen_.Lines(120, 24, kNow);
  EXPECT_THAT(TextsOf(lines), testing::Contains(HasSubstr("unresponsive: nvmlDeviceGetClockInfo has not returned")));
  EXPECT_EQ(InkOf(lines, "unresponsive"), TextStyle::kTrouble);
}

TEST_F(DeviceScreenTest, AnIdleDeviceBelowItsLockIsNoWarning) {
  v1::Device device = H200();
  device.mutable_nvidia()->set_sm_mhz(345);
  device.mutable_nvidia()->set_gpu_percent(0);
  screen_.Take(NewsOf({device}), kNow);
  EXPECT_EQ(InkOf(screen_.Lines(120, 24, kNow), "345 of 1500"), TextStyle::kPlain);
}

TEST_F(DeviceScreenTest, EveryLineFitsWhateverTheSize) {
  std::vector<v1::Device> devices;
  for (int i = 0; i < 16; ++i) {
    devices.push_back(H200());
    devices.back().set_id(std::to_string(i));
    devices.back().set_name("a device with a very long name \xe2\x82\xac");
  }
  DeviceFollower::News news = NewsOf(devices);
  for (int i = 0; i < 300; ++i) news.events.push_back(Event("xid", "the driver reported Xid 79, and much besides"));
  screen_.Take(news, kNow);
  for (size_t columns : {1, 9, 40, 79, 80, 200}) {
    for (size_t rows : {1, 2, 3, 5, 12, 24, 60}) {
      const std::vector<ScreenLine> lines = screen_.Lines(columns, rows, kNow);
      EXPECT_LE(lines.size(), rows);
      for (const ScreenLine& line : lines) EXPECT_LE(WidthOf(TextOf(line)), columns) << columns << "x" << rows;
    }
  }
}

TEST_F(DeviceScreenTest, InASmallWindowItSaysHowManyAreMissing) {
  std::vector<v1::Device> devices;
  for (int i = 0; i < 16; ++i) {
    devices.push_back(H200());
    devices.back().set_id(std::to_string(i));
  }
  screen_.Take(NewsOf(devices), kNow);
  const std::vector<std::string> texts = TextsOf(screen_.Lines(120, 10, kNow));
  EXPECT_EQ(texts.back(), "and 9 more in a taller window; q quits");
  EXPECT_THAT(texts[4], testing::StartsWith("2 ")) << "2 before 10";
}

TEST_F(DeviceScreenTest, WhileTheDaemonIsAwayItSaysSo) {
  screen_.Take(NewsOf({H200()}), kNow);
  DeviceFollower::News away;
  away.disconnected = true;
  screen_.Take(away, kNow);
  screen_.Take(away, kNow + 5 * kSecond);
  const std::vector<ScreenLine> lines = screen_.Lines(140, 24, kNow + 12 * kSecond);
  EXPECT_THAT(TextOf(lines[0]), HasSubstr("kprofd is away for 12"));
  EXPECT_THAT(TextsOf(lines), testing::Contains(HasSubstr("NVIDIA H200"))) << "what was known stays";
  screen_.Take(NewsOf({H200()}), kNow + 13 * kSecond);
  EXPECT_THAT(TextOf(screen_.Lines(140, 24, kNow)[0]), Not(HasSubstr("away")));
}

TEST_F(DeviceScreenTest, BarsAreBlocksWhereTheTerminalHasThem) {
  DeviceScreen screen("n", true);
  for (uint32_t busy : {0, 50, 100}) {
    v1::Device device = H200();
    device.mutable_nvidia()->set_gpu_percent(busy);
    screen.Take(NewsOf({device}), kNow);
  }
  EXPECT_THAT(TextsOf(screen.Lines(140, 24, kNow)), testing::Contains(testing::EndsWith("  \u2581\u2585\u2588")));
}

TEST_F(DeviceScreenTest, WhatOthersCallThemselvesDoesNothingToTheTerminal) {
  v1::Device device = H200();
  device.set_name("\x1b[2Jevil");
  DeviceFollower::News news = NewsOf({device});
  news.events = {Event("xid", "\x1b]0;title\x07")};
  screen_.Take(news, kNow);
  for (const std::string& text : TextsOf(screen_.Lines(140, 24, kNow))) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace kprof::cli
