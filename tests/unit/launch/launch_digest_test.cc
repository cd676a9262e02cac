#include "daemon/launch/launch_request.h"

#include <gtest/gtest.h>

#include <functional>

namespace kprof {
namespace {

LaunchRequest Wish() {
  LaunchRequest request;
  request.argv = {"train", "--steps", "10"};
  request.environment = {"PATH=/bin", "CUDA_VISIBLE_DEVICES=3", "LANG=C"};
  request.cwd = "/work";
  request.limits = {{.resource = 7, .soft = 1, .hard = 2}};
  return request;
}

struct Change {
  const char* name;
  std::function<void(LaunchRequest&)> apply;
};

void PrintTo(const Change& change, std::ostream* out) {
  *out << change.name;
}

class WhatTheCallerDecides : public testing::TestWithParam<Change> {};
class WhatTheDaemonDecides : public testing::TestWithParam<Change> {};

TEST_P(WhatTheCallerDecides, ChangesTheSum) {
  LaunchRequest changed = Wish();
  GetParam().apply(changed);
  EXPECT_NE(LaunchDigest(changed), LaunchDigest(Wish()));
}

TEST_P(WhatTheDaemonDecides, LeavesTheSum) {
  LaunchRequest changed = Wish();
  GetParam().apply(changed);
  EXPECT_EQ(LaunchDigest(changed), LaunchDigest(Wish()));
}

INSTANTIATE_TEST_SUITE_P(
    All, WhatTheCallerDecides,
    testing::Values(Change{"program", [](LaunchRequest& r) { r.argv[0] = "sh"; }},
                    Change{"argument", [](LaunchRequest& r) { r.argv[2] = "11"; }},
                    Change{"more arguments", [](LaunchRequest& r) { r.argv.emplace_back(""); }},
                    Change{"arguments cut elsewhere",
                           [](LaunchRequest& r) {
                             r.argv = {"train", "--steps10"};
                           }},
                    Change{"an argument as a variable",
                           [](LaunchRequest& r) {
                             r.argv.pop_back();
                             r.environment.insert(r.environment.begin(), "10");
                           }},
                    Change{"variable", [](LaunchRequest& r) { r.environment[0] = "PATH=/tmp"; }},
                    Change{"LD_PRELOAD", [](LaunchRequest& r) { r.environment.emplace_back("LD_PRELOAD=/tmp/x.so"); }},
                    Change{"a name that begins like ours",
                           [](LaunchRequest& r) { r.environment.emplace_back("KPROF_STATEX=1"); }},
                    Change{"more than a word in a variable of the daemon's",
                           [](LaunchRequest& r) { r.environment.emplace_back("CUDA_VISIBLE_DEVICES=$(reboot)"); }},
                    Change{"a quote in the folders of vendors' programs",
                           [](LaunchRequest& r) { r.environment.emplace_back("KPROF_TOOL_PATH=/opt/'x"); }},
                    Change{"a line more in a variable of the daemon's",
                           [](LaunchRequest& r) { r.environment.emplace_back("KPROF_STATE=1\nLD_PRELOAD=x"); }},
                    Change{"a variable of the daemon's without a value",
                           [](LaunchRequest& r) { r.environment.emplace_back("KPROF_RUN_ID"); }},
                    Change{"no variable", [](LaunchRequest& r) { r.environment.emplace_back("LD_PRELOAD"); }},
                    Change{"tool", [](LaunchRequest& r) { r.tool = "ncu"; }},
                    Change{"option of the tool", [](LaunchRequest& r) { r.options.emplace_back("set=full"); }},
                    Change{"files to be kept", [](LaunchRequest& r) { r.collect.emplace_back("*"); }},
                    Change{"step before", [](LaunchRequest& r) { r.prepare = "make"; }},
                    Change{"step after", [](LaunchRequest& r) { r.check = "make"; }},
                    Change{"step elsewhere",
                           [](LaunchRequest& r) {
                             r.prepare = "";
                             r.check = "x";
                           }},
                    Change{"folder", [](LaunchRequest& r) { r.cwd = "/"; }},
                    Change{"umask", [](LaunchRequest& r) { r.umask = 0; }},
                    Change{"limit", [](LaunchRequest& r) { r.limits[0].hard = 3; }},
                    Change{"no limit", [](LaunchRequest& r) { r.limits.clear(); }}));

INSTANTIATE_TEST_SUITE_P(All, WhatTheDaemonDecides,
                         testing::Values(Change{"marker",
                                                [](LaunchRequest& r) {
                                                  r.environment.emplace_back("KPROF_RUN_ID=a");
                                                  r.environment.emplace_back("KPROF_STATE=1-2");
                                                }},
                                         Change{"folders of vendors' programs and of ncu's lock",
                                                [](LaunchRequest& r) {
                                                  r.environment.emplace_back("KPROF_TOOL_PATH=/opt/nvidia/bin:/a");
                                                  r.environment.emplace_back("KPROF_NCU_FOLDER=/run/kprofd-helper/ncu");
                                                }},
                                         Change{"devices",
                                                [](LaunchRequest& r) {
                                                  r.environment[1] = "CUDA_VISIBLE_DEVICES=GPU-3f0c1a:MIG/1,2 3";
                                                  r.environment.emplace_back("NEURON_RT_VISIBLE_CORES=0-3");
                                                  r.environment.emplace_back("ROCR_VISIBLE_DEVICES=1");
                                                }},
                                         Change{"devices, in another place",
                                                [](LaunchRequest& r) {
                                                  r.environment.erase(r.environment.begin() + 1);
                                                  r.environment.emplace_back("CUDA_VISIBLE_DEVICES=");
                                                }},
                                         Change{"limits of output", [](LaunchRequest& r) {
                                                  r.output_head_bytes = 1;
                                                  r.output_tail_bytes = 2;
                                                  r.leftover_grace_ms = 3;
                                                  r.most_outputs = 4;
                                                  r.output_folder = "/x";
                                                }}));

// Grants on disk hold such sums: a change of the form must be seen.
TEST(LaunchDigest, StaysAsItIs) {
  EXPECT_EQ(LaunchDigest(Wish()), "14ff1aa44269b0e2a6cf815a1bdef291991d580fd1e595cce4994793c5773312");
}

TEST(LaunchDigest, KnowsItsForm) {
  EXPECT_TRUE(LooksLikeLaunchDigest(LaunchDigest(Wish())));
  EXPECT_FALSE(LooksLikeLaunchDigest(""));
  EXPECT_FALSE(LooksLikeLaunchDigest(std::string(63, 'a')));
  EXPECT_FALSE(LooksLikeLaunchDigest(std::string(64, 'A')));
  EXPECT_FALSE(LooksLikeLaunchDigest(std::string(64, '/')));
}

}  // namespace
}  // namespace kprof
