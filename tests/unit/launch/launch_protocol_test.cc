#include "daemon/launch/launch_protocol.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

LaunchRequest SomeRequest() {
  LaunchRequest request;
  request.argv = {"python3", "", "a b", std::string("\xff\xfe\n")};
  request.environment = {"PATH=/bin", "EMPTY=", "no equals sign"};
  request.cwd = "/home/ada";
  request.umask = 077;
  request.limits = {{7, 1024, 4096}, {-1, 0, std::numeric_limits<uint64_t>::max()}};
  request.output_head_bytes = 1;
  request.output_tail_bytes = 1LL << 40;
  request.leftover_grace_ms = 3;
  request.tool = "ncu";
  request.options = {"set=full", "source=true"};
  request.collect = {"out/*.json", std::string("\xff*")};
  request.prepare = "make";
  request.check = "diff a b";
  request.most_outputs = 17;
  request.output_folder = "/state/tmp/outputs-r";
  return request;
}

CommandEnded SomeEnd() {
  CommandEnded ended;
  ended.exit_code = -1;
  ended.stopped = true;
  ended.ended_unix_ns = 1'700'000'000'000'000'000;
  ended.wall_ns = 5;
  ended.user_cpu_ns = std::numeric_limits<int64_t>::max();
  ended.max_rss_bytes = 7;
  ended.leftover_processes = 2;
  ended.unkillable_processes = 1;
  ended.host_cpus = 2;
  ended.host_wall_ns = 6;
  ended.others_cpu_ns = 4;
  ended.stderr_dropped_bytes = std::numeric_limits<int64_t>::min();
  ended.output_error = 28;
  ended.metrics = "{\"name\": 1}\n\0\xff";
  ended.metrics_dropped_bytes = 9;
  ended.failed_step = "check";
  ended.step_exit_code = 3;
  ended.tries = 2;
  ended.tool_error = "tool_failed";
  ended.tool_error_why = "no permission";
  ended.tool_error_remedy = "ask root";
  ended.tool_notes = {"retried: try 1", ""};
  return ended;
}

// Every message: its bytes, and what decodes and encodes them again (empty when they do not decode).
struct Message {
  const char* name;
  std::string bytes;
  std::function<std::string(std::string_view)> round_trip;
};

template <typename Decode, typename Encode>
auto RoundTrip(Decode decode, Encode encode) {
  return [=](std::string_view bytes) -> std::string {
    auto decoded = decode(bytes);
    if (decoded.ok()) return encode(*decoded);
    EXPECT_EQ(decoded.status().code(), ErrorCode::kBadInput);
    return {};
  };
}

TurnEnded SomeTurn() {
  TurnEnded turn;
  turn.side = 1;
  turn.exit_code = 3;
  turn.began_unix_ns = 1'750'000'000'000'000'000;
  turn.wall_ns = 5;
  turn.user_cpu_ns = 6;
  turn.system_cpu_ns = 7;
  turn.max_rss_bytes = 8;
  turn.leftover_processes = 9;
  turn.text = "{\"ns\":5}\n";
  turn.dropped_bytes = 10;
  return turn;
}

std::vector<Message> EveryMessage() {
  return {
      {"Prepare", EncodeLaunchRequest(SomeRequest()), RoundTrip(DecodeLaunchRequest, EncodeLaunchRequest)},
      {"LaunchFailed", EncodeLaunchFailure({"chdir", 13}), RoundTrip(DecodeLaunchFailure, EncodeLaunchFailure)},
      {"Started", EncodeCommandStarted({17, -1, 1LL << 62}), RoundTrip(DecodeCommandStarted, EncodeCommandStarted)},
      {"Ended", EncodeCommandEnded(SomeEnd()), RoundTrip(DecodeCommandEnded, EncodeCommandEnded)},
      {"Stop", EncodeStop(2500), RoundTrip(DecodeStop, EncodeStop)},
      {"Lease", EncodeLease({"A=1", "B="}), RoundTrip(DecodeLease, EncodeLease)},
      {"Output", EncodeOutputFound({"out/a\xff", 2}), RoundTrip(DecodeOutputFound, EncodeOutputFound)},
      {"LeftOut", EncodeOutputsLeftOut({{"'a': it is a pipe"}, 5}),
       RoundTrip(DecodeOutputsLeftOut, EncodeOutputsLeftOut)},
      {"Turn", EncodeTurnAsked({1, 120, UINT64_MAX}), RoundTrip(DecodeTurnAsked, EncodeTurnAsked)},
      {"TurnOver", EncodeTurnEnded(SomeTurn()), RoundTrip(DecodeTurnEnded, EncodeTurnEnded)},
  };
}

TEST(LaunchProtocol, RefusesMoreOfOutputsThanASupervisorOfOursSays) {
  EXPECT_TRUE(DecodeOutputFound(EncodeOutputFound({std::string(kMostOutputPathBytes, 'a'), -1})).ok());
  EXPECT_FALSE(DecodeOutputFound(EncodeOutputFound({std::string(kMostOutputPathBytes + 1, 'a'), -1})).ok());
  EXPECT_FALSE(DecodeOutputFound(EncodeOutputFound({"", -1})).ok());
  const std::string reason(kMostLeftOutReasonBytes, 'a');
  const std::vector<std::string> reasons(kMostLeftOutReasons, reason);
  EXPECT_TRUE(DecodeOutputsLeftOut(EncodeOutputsLeftOut({reasons, 1})).ok());
  EXPECT_FALSE(DecodeOutputsLeftOut(EncodeOutputsLeftOut({{reason + "a"}, 1})).ok());
  EXPECT_FALSE(DecodeOutputsLeftOut(EncodeOutputsLeftOut({reasons, -1})).ok());
  EXPECT_FALSE(
      DecodeOutputsLeftOut(EncodeOutputsLeftOut({std::vector<std::string>(kMostLeftOutReasons + 1, "a"), 1})).ok());
}

TEST(LaunchProtocol, BringsEveryFieldOver) {
  EXPECT_EQ(*DecodeLaunchRequest(EncodeLaunchRequest(SomeRequest())), SomeRequest());
  EXPECT_EQ(*DecodeLaunchRequest(EncodeLaunchRequest({})), LaunchRequest());
  EXPECT_EQ(*DecodeLaunchFailure(EncodeLaunchFailure({"chdir", 13})), (LaunchFailure{"chdir", 13}));
  EXPECT_EQ(*DecodeCommandStarted(EncodeCommandStarted({17, -1, 3})), (CommandStarted{17, -1, 3}));
  EXPECT_EQ(*DecodeCommandEnded(EncodeCommandEnded(SomeEnd())), SomeEnd());
  EXPECT_EQ(*DecodeTurnAsked(EncodeTurnAsked({1, 120, 7})), (TurnAsked{1, 120, 7}));
  EXPECT_FALSE(DecodeTurnAsked(EncodeTurnAsked({-1, 120, 7})).ok());
  EXPECT_EQ(*DecodeTurnEnded(EncodeTurnEnded(SomeTurn())), SomeTurn());
  TurnEnded talkative = SomeTurn();
  talkative.text.assign(kMostEventTextBytes + 1, 'x');
  EXPECT_FALSE(DecodeTurnEnded(EncodeTurnEnded(talkative)).ok());
  EXPECT_EQ(*DecodeStop(EncodeStop(2500)), 2500);
  EXPECT_EQ(*DecodeLease(EncodeLease({"A=1"})), std::vector<std::string>{"A=1"});
  EXPECT_EQ(*DecodeOutputFound(EncodeOutputFound({"a", -1})), (OutputFound{"a", -1}));
  EXPECT_EQ(*DecodeOutputsLeftOut(EncodeOutputsLeftOut({{"a"}, 2})), (OutputsLeftOut{{"a"}, 2}));
}

TEST(LaunchProtocol, RefusesEveryMessageCutAnywhere) {
  for (const Message& message : EveryMessage()) {
    EXPECT_EQ(message.round_trip(message.bytes), message.bytes) << message.name;
    for (size_t size = 0; size < message.bytes.size(); ++size) {
      // A copy of just that size, so that a sanitizer sees a read past its end.
      std::vector<char> cut(message.bytes.begin(), message.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_EQ(message.round_trip({cut.data(), cut.size()}), "") << message.name << " cut to " << size;
    }
  }
}

TEST(LaunchProtocol, RefusesBytesAfterTheEnd) {
  for (const Message& message : EveryMessage()) EXPECT_EQ(message.round_trip(message.bytes + '\0'), "") << message.name;
}

TEST(LaunchProtocol, TakesAMutatedMessageExactlyOrRefusesIt) {
  std::mt19937 random(20261121);
  for (const Message& message : EveryMessage()) {
    for (int i = 0; i < 20'000; ++i) {
      std::string bytes = message.bytes;
      for (int n = static_cast<int>(random() % 4); n >= 0; --n) {
        switch (random() % 3) {
          case 0:
            bytes[random() % bytes.size()] = static_cast<char>(random());
            break;
          case 1:
            bytes.insert(random() % bytes.size(), 1, static_cast<char>(random()));
            break;
          default:
            if (bytes.size() > 1) bytes.erase(random() % bytes.size(), 1);
        }
      }
      std::string again = message.round_trip(bytes);
      if (!again.empty()) {
        EXPECT_EQ(again, bytes) << message.name;
      }
    }
  }
}

TEST(LaunchProtocol, RefusesAListThatClaimsMoreThanTheFrameHolds) {
  EXPECT_FALSE(DecodeLaunchRequest(std::string("\xff\xff\xff\xff", 4)).ok());
  EXPECT_FALSE(DecodeLaunchRequest(std::string("\xff\xff\xff\x7f\0\0\0\0", 8)).ok());
}

TEST(LaunchProtocol, CutsAStreamIntoFramesWhereverItIsTorn) {
  std::string stream = HelloFrame() + FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(SomeRequest())) +
                       FrameOf(LaunchMessage::kGo) + FrameOf(LaunchMessage::kStop, EncodeStop(1));
  for (size_t step = 1; step <= stream.size(); ++step) {
    FrameReader reader;
    std::vector<std::pair<LaunchMessage, size_t>> seen;
    for (size_t at = 0; at < stream.size(); at += step) {
      reader.Add(std::string_view(stream).substr(at, step));
      while (true) {
        auto frame = reader.Next();
        ASSERT_TRUE(frame.ok());
        if (!frame->has_value()) break;
        seen.emplace_back((*frame)->type, (*frame)->payload.size());
      }
    }
    ASSERT_EQ(seen.size(), 3u) << step;
    EXPECT_EQ(seen[0].first, LaunchMessage::kPrepare);
    EXPECT_EQ(seen[0].second, EncodeLaunchRequest(SomeRequest()).size());
    EXPECT_EQ(seen[1], std::pair(LaunchMessage::kGo, size_t{0}));
    EXPECT_EQ(seen[2], std::pair(LaunchMessage::kStop, size_t{8}));
  }
}

TEST(LaunchProtocol, RefusesAFrameThatIsTooLongEmptyOrOfNoType) {
  const std::string bad[] = {
      std::string("\x01\x00\x80\x00\x01", 5),  // 8 MiB + 1
      std::string("\xff\xff\xff\xff\x01", 5), std::string("\x00\x00\x00\x00\x01", 5),
      std::string("\x01\x00\x00\x00\x00", 5), std::string("\x01\x00\x00\x00\x07", 5),
      std::string("\x01\x00\x00\x00\xff", 5),
  };
  for (const std::string& bytes : bad) {
    FrameReader reader;
    reader.Add(HelloFrame() + bytes);
    auto frame = reader.Next();
    ASSERT_FALSE(frame.ok());
    EXPECT_EQ(frame.status().code(), ErrorCode::kBadInput);
    EXPECT_TRUE(reader.greeted());
  }
}

TEST(LaunchProtocol, RefusesAStreamThatDoesNotBeginWithOurHello) {
  const std::string hello = HelloFrame();
  std::string other_magic = hello;
  other_magic[5] ^= 1;
  const std::string bad[] = {
      FrameOf(LaunchMessage::kPrepared),
      FrameOf(LaunchMessage::kHello),
      HelloFrame(kLaunchProtocolVersion + 1),
      HelloFrame(kLaunchProtocolVersion - 1),
      other_magic,
      std::string("\x01\x00\x00\x00\xff", 5),
      "GET / HTTP/1.1\r\n",
  };
  for (const std::string& bytes : bad) {
    FrameReader reader;
    reader.Add(bytes);
    auto frame = reader.Next();
    ASSERT_FALSE(frame.ok());
    EXPECT_EQ(frame.status().ToString(),
              "read from kprof-launch's channel: kprofd and kprof-launch are of different builds; restart kprofd");
    EXPECT_FALSE(reader.greeted());
  }
}

// Hello keeps this form for ever. Where the sum is another one, a message has changed: raise kLaunchProtocolVersion,
// and put the new sum here.
TEST(LaunchProtocol, HasTheBytesOfItsVersion) {
  std::string bytes;
  for (const Message& message : EveryMessage()) bytes += message.bytes;
  EXPECT_EQ(HelloFrame(), std::string("\x09\0\0\0\x08KPRL\x07\0\0\0", 13));
  EXPECT_EQ(Sha256Of(bytes), "4c365d20dc2a6fcd5969f3cddb70c0e9c98ca72ebe76792750f5802341a9e72c")
      << "of version " << kLaunchProtocolVersion;
}

TEST(LaunchProtocol, ChecksThatARequestMakesSense) {
  const LaunchRequest good{.argv = {"true"}, .cwd = "/"};
  EXPECT_TRUE(CheckLaunchRequest(good).ok());
  const std::function<void(LaunchRequest&)> spoils[] = {
      [](LaunchRequest& r) { r.argv[0] = ""; },
      [](LaunchRequest& r) { r.cwd = ""; },
      [](LaunchRequest& r) { r.cwd = "work"; },
      [](LaunchRequest& r) { r.cwd.push_back('\0'); },
      [](LaunchRequest& r) { r.argv.push_back(std::string("a\0b", 3)); },
      [](LaunchRequest& r) { r.environment.push_back(std::string("A=\0", 3)); },
      [](LaunchRequest& r) { r.output_head_bytes = -1; },
      [](LaunchRequest& r) { r.output_tail_bytes = -1; },
      [](LaunchRequest& r) { r.output_head_bytes = (1 << 30) + 1; },
      [](LaunchRequest& r) { r.output_tail_bytes = (1 << 30) + 1; },
      [](LaunchRequest& r) { r.leftover_grace_ms = -1; },
      [](LaunchRequest& r) { r.argv.push_back(std::string(8 << 20, 'x')); },
      [](LaunchRequest& r) { r.environment.resize(3 << 20); },
  };
  for (const auto& spoil : spoils) {
    LaunchRequest request = good;
    spoil(request);
    EXPECT_EQ(CheckLaunchRequest(request).code(), ErrorCode::kUsage);
  }
}

TEST(LaunchProtocol, LetsEveryRequestThatPassesTheCheckFitAFrame) {
  LaunchRequest request{.argv = {"true"}, .cwd = "/"};
  request.environment.resize(1'500'000, "A");
  ASSERT_TRUE(CheckLaunchRequest(request).ok());
  EXPECT_LT(FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(request)).size(), kLaunchFrameLimitBytes);
}

}  // namespace
}  // namespace kprof
