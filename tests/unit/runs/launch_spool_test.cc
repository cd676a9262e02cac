#include "daemon/runs/command/launch_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/crypto/sha256.h"
#include "tests/fakes/storage/memory_files.h"

namespace kprof {
namespace {

using testing::HasSubstr;

const Layout kLayout{"/state"};

LaunchRequest SomeRequest() {
  LaunchRequest request;
  request.argv = {"/bin/sh", "-c", std::string("\xff", 1)};
  request.environment = {"PATH=/bin", "EMPTY="};
  request.cwd = "/tmp";
  request.umask = 077;
  request.limits = {{.resource = 7, .soft = 1024, .hard = UINT64_MAX}};
  request.output_head_bytes = 5;
  return request;
}

std::string FileOf(const std::string& payload) {
  return "kprofspool2\n" + Sha256Of(payload) + "\n" + payload;
}

class LaunchSpoolTest : public testing::Test {
 protected:
  // What it says of a file that holds this.
  std::string ReadBroken(const std::string& content) {
    files_.Put(kLayout.SpoolPath("r"), content);
    Result<LaunchRequest> request = ReadSpool(files_, kLayout, "r");
    if (request.ok()) return "it was taken";
    EXPECT_EQ(request.status().code(), ErrorCode::kStorageBroken);
    return request.status().ToString();
  }

  MemoryFiles files_;
};

TEST_F(LaunchSpoolTest, ReadsWhatItWrote) {
  ASSERT_TRUE(WriteSpool(files_, kLayout, "r", SomeRequest()).ok());
  EXPECT_EQ(*files_.Find(kLayout.SpoolPath("r")), FileOf(EncodeLaunchRequest(SomeRequest())));
  Result<LaunchRequest> request = ReadSpool(files_, kLayout, "r");
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  EXPECT_EQ(*request, SomeRequest());
}

// As the first version wrote it: `true` in /, with a limit.
TEST_F(LaunchSpoolTest, ReadsOneOfTheFirstForm) {
  const auto number = [](uint64_t value, size_t bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
  };
  const std::string payload = number(1, 4) + number(4, 4) + "true" + number(1, 4) + number(3, 4) + "A=1" +
                              number(1, 4) + "/" + number(022, 4) + number(1, 4) + number(7, 4) + number(8, 8) +
                              number(9, 8) + number(5, 8) + number(6, 8) + number(7, 8);
  files_.Put(kLayout.SpoolPath("r"), "kprofspool1\n" + Sha256Of(payload) + "\n" + payload);
  Result<LaunchRequest> request = ReadSpool(files_, kLayout, "r");
  ASSERT_TRUE(request.ok()) << request.status().ToString();
  LaunchRequest expected;
  expected.argv = {"true"};
  expected.environment = {"A=1"};
  expected.cwd = "/";
  expected.umask = 022;
  expected.limits = {{.resource = 7, .soft = 8, .hard = 9}};
  expected.output_head_bytes = 5;
  expected.output_tail_bytes = 6;
  expected.leftover_grace_ms = 7;
  EXPECT_EQ(*request, expected);
}

TEST_F(LaunchSpoolTest, SaysThatAFileIsGone) {
  Result<LaunchRequest> request = ReadSpool(files_, kLayout, "r");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.status().code(), ErrorCode::kStorageBroken);
  EXPECT_THAT(request.status().ToString(), HasSubstr("gone"));
}

TEST_F(LaunchSpoolTest, NoticesAChangeOfAnyByte) {
  const std::string whole = FileOf(EncodeLaunchRequest(SomeRequest()));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] ^= 0x20;
    EXPECT_THAT(ReadBroken(changed), HasSubstr("; submit the run again")) << i;
  }
}

TEST_F(LaunchSpoolTest, NoticesACutAnywhere) {
  const std::string whole = FileOf(EncodeLaunchRequest(SomeRequest()));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ReadBroken(whole.substr(0, size)), HasSubstr("; submit the run again")) << size;
  }
}

TEST_F(LaunchSpoolTest, CallsAnythingElseDamagedToo) {
  LaunchRequest no_program = SomeRequest();
  no_program.argv[0] = "";
  EXPECT_THAT(ReadBroken(FileOf(EncodeLaunchRequest(no_program))), HasSubstr("no program"));
  EXPECT_THAT(ReadBroken(FileOf("anything")), HasSubstr("not in the form"));
  EXPECT_THAT(ReadBroken(std::string(kLaunchFrameLimitBytes + 1, 'x')), HasSubstr("over the limit"));
}

}  // namespace
}  // namespace kprof
