#include "daemon/capture/vendor_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/capture/tool.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class VendorPrograms : public testing::Test {
 protected:
  // Makes a program of these bytes.
  std::string Make(const std::string& path) const {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/sh\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  std::string Folder(const std::string& path) const { return folder_ / path; }

  Result<std::string> Find(const std::string& name, std::vector<std::string> environment,
                           bool trusts_tool_path = true) const {
    return FindVendorProgram(name, environment, {.trusts_tool_path = trusts_tool_path, .root = folder_ / "root"});
  }

  TemporaryFolder folder_{TemporaryFolder::Holds::kPrograms};
};

TEST_F(VendorPrograms, ToolPathComesFirst) {
  const std::string named = Make("named/ncu");
  Make("path/ncu");
  Make("root/usr/local/cuda/bin/ncu");
  const Result<std::string> found =
      Find("ncu", {"KPROF_TOOL_PATH=" + Folder("empty") + ":" + Folder("named"), "PATH=" + Folder("path")});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, named);
}

TEST_F(VendorPrograms, ThenComesPath) {
  const std::string in_path = Make("path/ncu");
  Make("root/usr/local/cuda/bin/ncu");
  EXPECT_EQ(*Find("ncu", {"PATH=" + Folder("path")}), in_path);
}

TEST_F(VendorPrograms, ASecondOneServesWhereTheFirstIsNotThere) {
  const ToolNeeds needs{.program = "neuron-explorer", .or_program = "neuron-profile"};
  const auto find = [&] {
    return FindProgramOf(needs, {"PATH=" + Folder("path")}, {.trusts_tool_path = true, .root = folder_ / "root"});
  };
  const Status missing = find().status();
  EXPECT_EQ(missing.code(), ErrorCode::kToolMissing);
  EXPECT_THAT(missing.why(), HasSubstr("no neuron-profile"));
  EXPECT_THAT(missing.remedy(), HasSubstr("aws-neuronx-tools"));
  const std::string older = Make("path/neuron-profile");
  EXPECT_EQ(*find(), older);
  const std::string usual = Make("root/opt/aws/neuron/bin/neuron-explorer");
  EXPECT_EQ(*find(), usual);
}

TEST_F(VendorPrograms, RelativeEntriesOfPathDoNotCount) {
  Make("path/ncu");
  std::filesystem::current_path(Folder("path"));
  EXPECT_FALSE(Find("ncu", {"PATH=.::path"}).ok());
  std::filesystem::current_path("/");
}

TEST_F(VendorPrograms, ThenTheUsualFoldersTheNewestFirst) {
  Make("root/opt/nvidia/nsight-compute/2024.9.1/ncu");
  const std::string newest = Make("root/opt/nvidia/nsight-compute/2024.10.0/ncu");
  Make("root/opt/nvidia/nsight-compute/2023.3.1/ncu");
  std::filesystem::create_directories(Folder("root/opt/nvidia/nsight-compute/2025.1.0"));
  EXPECT_EQ(*Find("ncu", {"PATH=/nowhere"}), newest);
  const std::string cuda = Make("root/usr/local/cuda/bin/ncu");
  EXPECT_EQ(*Find("ncu", {"PATH=/nowhere"}), cuda);
  const std::string nsys = Make("root/opt/nvidia/nsight-systems/2025.1.1/bin/nsys");
  Make("root/opt/nvidia/nsight-systems/2024.6.2/bin/nsys");
  EXPECT_EQ(*Find("nsys", {"PATH=/nowhere"}), nsys);
}

TEST_F(VendorPrograms, OneThatMayNotBeExecutedIsNone) {
  const std::string path = Make("path/ncu");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  EXPECT_FALSE(Find("ncu", {"PATH=" + Folder("path")}).ok());
  std::filesystem::create_directories(Folder("path2/ncu"));
  EXPECT_FALSE(Find("ncu", {"PATH=" + Folder("path2")}).ok());
}

TEST_F(VendorPrograms, WithoutOneSaysWhatToDo) {
  const Status missing = Find("nsys", {"PATH=/nowhere", "KPROF_TOOL_PATH=/named"}).status();
  EXPECT_EQ(missing.code(), ErrorCode::kToolMissing);
  EXPECT_THAT(missing.why(), HasSubstr("no nsys in tool_path /named, in PATH or where it is usually installed"));
  EXPECT_THAT(missing.remedy(), HasSubstr("install Nsight Systems"));
  EXPECT_THAT(missing.remedy(), HasSubstr("KPROF_TOOL_PATH"));
}

TEST_F(VendorPrograms, OfAnothersToolPathOnlyRootsOwnCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: only root makes files that are root's";
  const std::string named = Make("named/ncu");
  const std::vector<std::string> environment = {"KPROF_TOOL_PATH=" + Folder("named"), "PATH=/nowhere"};
  EXPECT_EQ(*Find("ncu", environment, false), named);
  ASSERT_EQ(::chown(Folder("named").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(Find("ncu", environment, false).ok());
  EXPECT_TRUE(Find("ncu", environment, true).ok());
  ASSERT_EQ(::chown(Folder("named").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(named.c_str(), 0777), 0);
  EXPECT_FALSE(Find("ncu", environment, false).ok());
  ASSERT_EQ(::chmod(named.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(Folder("named").c_str(), 0777), 0);
  EXPECT_FALSE(Find("ncu", environment, false).ok());
  ASSERT_EQ(::chmod(Folder("named").c_str(), 01777), 0);
  EXPECT_TRUE(Find("ncu", environment, false).ok());
}

struct ToldVersion {
  const char* text;
  const char* version;
  int64_t release;
};
class ToldVersions : public testing::TestWithParam<ToldVersion> {};

TEST_P(ToldVersions, AreRead) {
  EXPECT_EQ(VersionIn(GetParam().text), GetParam().version);
  EXPECT_EQ(ReleaseOf(GetParam().version), GetParam().release);
}

INSTANTIATE_TEST_SUITE_P(
    All, ToldVersions,
    testing::Values(ToldVersion{"NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2024 NVIDIA "
                                "Corporation\nVersion 2024.3.1.0 (build 34702747) (public-release)\n",
                                "2024.3.1.0", 202403},
                    ToldVersion{"NVIDIA Nsight Systems version 2024.6.2.225-246235244400v0\n", "2024.6.2.225", 202406},
                    ToldVersion{"Version 2020.10.0", "2020.10.0", 202010}, ToldVersion{"Version 7", "", 0},
                    ToldVersion{"dcgmi  version: 3.3.5", "3.3.5", 0},
                    ToldVersion{"neuron-explorer 2.33.38.0%kaena-tools built", "2.33.38.0", 0},
                    ToldVersion{"", "", 0}));

}  // namespace
}  // namespace kprof
