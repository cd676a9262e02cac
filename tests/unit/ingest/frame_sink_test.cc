#include "daemon/ingest/channel/ingest_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

class FrameSinkTest : public testing::Test {
 protected:
  FrameSinkTest() {
    int ends[2];
    KPROF_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }
  // What has come by now.
  std::vector<IngestFrame> Received() {
    char more[65'536];
    for (ssize_t got = 0; (got = ::recv(theirs_.get(), more, sizeof(more), MSG_DONTWAIT)) > 0;) {
      bytes_.append(more, static_cast<size_t>(got));
    }
    std::vector<IngestFrame> types;
    for (std::string_view rest = bytes_;;) {
      const std::optional<ReceivedFrame> frame = *TakeFrame(rest);
      if (!frame) return types;
      types.push_back(frame->type);
    }
  }

  UniqueFd ours_;
  UniqueFd theirs_;
  std::string bytes_;
};

TEST_F(FrameSinkTest, WhatItIsGivenComesInItsOrder) {
  FrameSink sink(ours_.get());
  ASSERT_TRUE(sink.AddString(0, "").ok());
  ASSERT_TRUE(sink.AddTrack({}).ok());
  ASSERT_TRUE(sink.AddShape(1, {}).ok());
  ASSERT_TRUE(sink.AddSegment({}).ok());
  ASSERT_TRUE(sink.SetFact("a", "b").ok());
  ASSERT_TRUE(sink.SetFact("a", int64_t{1}).ok());
  EXPECT_TRUE(Received().empty());  // some of them at once
  ASSERT_TRUE(sink.SendNow(IngestFrame::kDone, "").ok());
  EXPECT_EQ(Received(), (std::vector<IngestFrame>{IngestFrame::kString, IngestFrame::kTrack, IngestFrame::kShape,
                                                  IngestFrame::kSegment, IngestFrame::kText, IngestFrame::kInteger,
                                                  IngestFrame::kDone}));
}

TEST_F(FrameSinkTest, MuchGoesOutWithoutBeingTold) {
  FrameSink sink(ours_.get());
  const std::string text(10'000'000, 'x');
  std::thread reader([&] {
    std::vector<char> more(1 << 20);
    while (bytes_.size() < text.size()) {
      const ssize_t got = ::recv(theirs_.get(), more.data(), more.size(), 0);
      if (got <= 0) return;
      bytes_.append(more.data(), static_cast<size_t>(got));
    }
  });
  EXPECT_TRUE(sink.AddString(1, text).ok());
  reader.join();
  EXPECT_EQ(Received().size(), 1u);
}

TEST_F(FrameSinkTest, WhatFitsIntoNoFrameFails) {
  FrameSink sink(ours_.get());
  const Status status = sink.AddString(1, std::string(kMostFrameBytes, 'x'));
  EXPECT_EQ(status.code(), ErrorCode::kBadInput);
  EXPECT_EQ(status.why(), "a piece of it has more than 256 MiB");
}

TEST_F(FrameSinkTest, WhereNobodyListensItFails) {
  std::signal(SIGPIPE, SIG_IGN);
  FrameSink sink(ours_.get());
  theirs_.Reset();
  EXPECT_FALSE(sink.SendNow(IngestFrame::kDone, "").ok());
}

}  // namespace
}  // namespace kprof
