#include "daemon/ingest/chrome/chrome_envelope.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/ingest/memory_text.h"

namespace kprof {
namespace {

constexpr int64_t kMost = 64 << 20;

struct Before {
  Result<ChromeEnvelope> frame = ChromeEnvelope();
  std::string members;
};

Before ReadBefore(const std::string& source, int64_t most = kMost) {
  MemoryText text(source);
  Before before;
  before.frame = ReadEnvelopeBefore(text, most, [&](std::string_view key, std::string_view value) {
    before.members += std::string(key) + "=" + std::string(value) + " ";
    return OkStatus();
  });
  return before;
}

// The members, and where the object is closed.
std::string ReadBehind(const std::string& source, int64_t from = 0, int64_t most = kMost) {
  MemoryText text(source);
  std::string members;
  const Result<ChromeEnvelopeEnd> behind =
      ReadEnvelopeBehind(text, from, most, [&](std::string_view key, std::string_view value) {
        members += std::string(key) + "=" + std::string(value) + " ";
        return OkStatus();
      });
  if (behind->more_events_bytes) members += "events from " + std::to_string(*behind->more_events_bytes) + " ";
  return members + (behind->end_bytes ? "closed before " + std::to_string(*behind->end_bytes) : "open");
}

TEST(ChromeEnvelope, AnObjectsEventsBeginBehindTheirBracket) {
  const Before before = ReadBefore(R"({"schemaVersion": 1, "env": {"traceEvents": [1]}, "traceEvents": [{"ph")");
  ASSERT_TRUE(before.frame.ok());
  EXPECT_FALSE(before.frame->is_list);
  EXPECT_EQ(before.frame->events_bytes, 66);
  EXPECT_EQ(before.members, "schemaVersion=1 env={\"traceEvents\": [1]} ");
}

TEST(ChromeEnvelope, ABareListsEventsBeginBehindItsBracket) {
  const Before before = ReadBefore(" \n[{");
  ASSERT_TRUE(before.frame.ok());
  EXPECT_TRUE(before.frame->is_list);
  EXPECT_EQ(before.frame->events_bytes, 3);
}

TEST(ChromeEnvelope, AByteOrderMarkMayStandInFront) {
  EXPECT_EQ(ReadBefore("\xef\xbb\xbf[").frame->events_bytes, 4);
  EXPECT_EQ(ReadBefore("\xef\xbb\xbf {\"traceEvents\" : [").frame->events_bytes, 22);
}

TEST(ChromeEnvelope, WhereThereAreNoEventsItSaysWhy) {
  for (const std::string source :
       {"", "  ", "hello", "{", "{}", R"({"a":1})", R"({"a":1)", R"({"traceEvents":{}})", R"({"traceEvents":1})",
        R"({"traceEvents")", R"({"a" 1})", R"({"a":1 "traceEvents":[)", "{1:2}", R"({"a":word,"traceEvents":[)"}) {
    const Before before = ReadBefore(source);
    ASSERT_FALSE(before.frame.ok()) << source;
    EXPECT_EQ(before.frame.status().code(), ErrorCode::kNotFound);
    EXPECT_EQ(before.frame.status().what(), "read it as a Chrome trace");
    EXPECT_FALSE(before.frame.status().remedy().empty());
    EXPECT_EQ(before.members, "") << source;
  }
}

TEST(ChromeEnvelope, OfJsonLinesItSaysWhatToDo) {
  for (const std::string source :
       {"{\"a\":1}\n{\"a\":2}\n", "{}{}", "{\"ph\":\"X\",\"args\":{\"a\":[1]}}\r\n{\"ph\""}) {
    const Status status = ReadBefore(source).frame.status();
    EXPECT_EQ(status.code(), ErrorCode::kNotFound);
    EXPECT_TRUE(status.why().starts_with("it is JSON lines")) << source << ": " << status.ToString();
    EXPECT_NE(status.remedy().find("jq -s"), std::string::npos);
  }
  for (const std::string source : {"{\"a\":1}", "{\"a\":1} x", "{\"a\":{}}", "{\"a\":1}\n[1]"}) {
    EXPECT_EQ(ReadBefore(source).frame.status().why(), "it has no list \"traceEvents\"") << source;
  }
}

TEST(ChromeEnvelope, EventsThatBeginTooLateAreNone) {
  const std::string source = "{\"a\":\"" + std::string(2 << 20, 'x') + "\",\"traceEvents\":[";
  EXPECT_EQ(ReadBefore(source).frame->events_bytes, static_cast<int64_t>(source.size()));
  const Before before = ReadBefore(source, 1 << 20);
  ASSERT_FALSE(before.frame.ok());
  EXPECT_NE(before.frame.status().why().find("begins in its first 1 MiB"), std::string::npos);
}

TEST(ChromeEnvelope, WhatSeesMembersMayFail) {
  MemoryText text(R"({"a":1,"traceEvents":[],"b":2})");
  const auto fail = [](std::string_view, std::string_view) { return Fail(ErrorCode::kStorageFull, "a", "b"); };
  EXPECT_EQ(ReadEnvelopeBefore(text, kMost, fail).status().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(ReadEnvelopeBehind(text, 23, kMost, fail).status().code(), ErrorCode::kStorageFull);
}

TEST(ChromeEnvelope, ATextThatCannotBeReadFails) {
  MemoryText text(R"({"a":1,"traceEvents":[],"b":2})");
  text.fail_from = 0;
  const auto see = [](std::string_view, std::string_view) { return OkStatus(); };
  EXPECT_FALSE(ReadEnvelopeBefore(text, kMost, see).ok());
  EXPECT_FALSE(ReadEnvelopeBehind(text, 23, kMost, see).ok());
}

TEST(ChromeEnvelope, MembersBehindAreSeen) {
  EXPECT_EQ(ReadBehind("}"), "closed before 1");
  EXPECT_EQ(ReadBehind(" \n }trailing"), "closed before 4");
  EXPECT_EQ(ReadBehind(R"(]xx , "a" : [1, 2] ,"b":{} }})", 3), "a=[1, 2] b={} closed before 28");
  EXPECT_EQ(ReadBehind(", } "), "closed before 3");
}

TEST(ChromeEnvelope, BehindWhatIsNotClosedIsSeenAsFarAsItIsWhole) {
  EXPECT_EQ(ReadBehind(""), "open");
  EXPECT_EQ(ReadBehind("  "), "open");
  EXPECT_EQ(ReadBehind(","), "open");
  EXPECT_EQ(ReadBehind("x}"), "open");
  EXPECT_EQ(ReadBehind(R"(,"a":1,"b":[2)"), "a=1 open");
  EXPECT_EQ(ReadBehind(R"(,"a":1 2})"), "a=1 open");
}

TEST(ChromeEnvelope, AnotherListOfEventsBehindIsNoMemberButKnown) {
  EXPECT_EQ(ReadBehind(R"(,"a":1,"traceEvents":[{"ph":"X"}],"b":2})"), "a=1 b=2 events from 22 closed before 40");
  EXPECT_EQ(ReadBehind(R"(,"a":1,"traceEvents":[{"ph":"X")"), "a=1 events from 22 open");
  EXPECT_EQ(ReadBehind(R"(,"a":{"traceEvents":[]},"traceEvents":1})"),
            "a={\"traceEvents\":[]} traceEvents=1 closed before 40");
}

TEST(ChromeEnvelope, ThatTheNextMemberIsAnotherListOfEventsIsSeen) {
  for (const std::string_view text : {R"(,"traceEvents":[)", " ,\n\"traceEvents\" :\t[{\"ph\""}) {
    EXPECT_EQ(FindNextEvents(text), text.data() + text.find('[') + 1);
  }
  for (const std::string_view text :
       {"", ",", R"("traceEvents":[)", R"(,"a":1,"traceEvents":[)", R"(,"traceEvents":)"}) {
    EXPECT_EQ(FindNextEvents(text), nullptr) << text;
  }
}

TEST(ChromeEnvelope, ManyBytesBehindAreReadUpToTheLimit) {
  const std::string source = ",\"a\":1,\"b\":\"" + std::string(2 << 20, 'x') + "\",\"c\":3}";
  EXPECT_TRUE(ReadBehind(source).ends_with("c=3 closed before " + std::to_string(source.size())));
  EXPECT_EQ(ReadBehind(source, 0, 1 << 20), "a=1 open");
  EXPECT_EQ(ReadBehind(std::string(1 << 20, ' ') + "}"), "closed before 1048577");
}

}  // namespace
}  // namespace kprof
