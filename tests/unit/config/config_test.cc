#include "daemon/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ConfigTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;

  void SetUp() override {
    std::filesystem::create_directories(folder_ / "run");
    std::ofstream(folder_ / "launch") << "#!/bin/sh\n";
    std::filesystem::permissions(folder_ / "launch", std::filesystem::perms::owner_all);
    setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
    setenv("XDG_RUNTIME_DIR", (folder_ / "run").c_str(), 1);
  }

  Result<Config> Load(const std::string& text, ConfigFlags flags = {.user = true}) {
    flags.file = folder_ / "kprofd.toml";
    std::ofstream(flags.file) << (flags.user ? "launcher = \"" + folder_ / "launch\"\n" : std::string("\n")) + text;
    LoadedConfig loaded = LoadConfig(flags);
    if (!loaded.ok()) return loaded.complaints.front();
    return loaded.config;
  }
};

TEST_F(ConfigTest, TakesItsPlacesFromTheEnvironment) {
  Result<Config> config = Load("");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->state_folder, folder_ / "state/kprof");
  EXPECT_EQ(config->socket_path, folder_ / "run/kprof/kprofd.sock");
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(Load("")->socket_path, folder_ / "state/kprof/kprofd.sock");
}

TEST_F(ConfigTest, RefusesALauncherWhereItWouldDoNothing) {
  Result<Config> config = Load("launcher = \"" + folder_ / "launch\"\n", {.user = false});
  EXPECT_THAT(config.status().ToString(), HasSubstr("kprofd.toml:2: 'launcher' is for kprofd --user"));
}

TEST_F(ConfigTest, FlagsOverrideTheFile) {
  Result<Config> config = Load("state_dir = \"/a\"\nsocket = \"/a/s\"\n",
                               {.user = true, .file = "", .state_folder = "/b/", .socket_path = "/b/s"});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->state_folder, "/b");
  EXPECT_EQ(config->socket_path, "/b/s");
}

TEST_F(ConfigTest, AStateFolderOfItsOwnHasASocketOfItsOwn) {
  EXPECT_EQ(Load("", {.user = true, .file = "", .state_folder = "/b", .socket_path = ""})->socket_path,
            "/b/kprofd.sock");
}

TEST_F(ConfigTest, ReadsEverySetting) {
  Result<Config> config = Load(R"(
log_level = "warning"
[queue]
limit_runs = 5
running_without_device = 3
[import]
at_once = 1
memory_megabytes = 100
max_source_gigabytes = 2
[sessions]
limit = 7
limit_per_uid = 4
max_ttl_minutes = 60
max_idle_timeout_minutes = 5
[query]
trace_cache_mib = 64
[output]
head_bytes = 100
tail_bytes = 8192
[retention]
max_age_hours = 2
max_artifact_bytes = 1000
[audit]
max_age_days = 30
max_entries = 5000
[devices]
find = false
nvml_library = "/a/libnvml.so"
dcgm_library = "/a/libdcgm.so"
tool_path = "/a/bin:/b/bin"
peaks = "/a/peaks.csv"
[[device]]
kind = "nvidia"
uuid = "GPU-1"
name = "H200"
[[device]]
id = "n0"
kind = "neuron"
cores = [0, 1]
)");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->log_level, LogLevel::kWarning);
  EXPECT_EQ(config->queue.runs, 5u);
  EXPECT_EQ(config->queue.running_without_device, 3u);
  EXPECT_EQ(config->import, (ImportPolicy{1, int64_t{100} << 20, int64_t{2} << 30}));
  EXPECT_EQ(config->sessions, (SessionLimits{7, 4, 3'600'000, 300'000}));
  EXPECT_EQ(config->query.trace_cache_bytes, 64 << 20);
  EXPECT_EQ(config->output.head_bytes, 100);
  EXPECT_EQ(config->output.tail_bytes, 8192);
  EXPECT_EQ(config->retention.max_age_ns, 2LL * 3600 * 1'000'000'000);
  EXPECT_EQ(config->retention.max_artifact_bytes, 1000);
  EXPECT_EQ(config->audit.max_age_ns, 30LL * 24 * 3600 * 1'000'000'000);
  EXPECT_EQ(config->audit.max_entries, 5000);
  EXPECT_EQ(Load("")->audit.max_age_ns, 365LL * 24 * 3600 * 1'000'000'000);
  EXPECT_EQ(config->devices,
            (DevicePolicy{false, "/a/libnvml.so", "/a/libdcgm.so", "/a/bin:/b/bin", "", "", "", "/a/peaks.csv"}));
  ASSERT_EQ(config->accelerators.size(), 2u);
  EXPECT_EQ(config->accelerators[0].id, "0");
  EXPECT_EQ(config->accelerators[1].cores, (std::vector<int>{0, 1}));
}

TEST_F(ConfigTest, ServesHttpWhereItIsToldTo) {
  EXPECT_EQ(Load("")->http, std::nullopt);
  EXPECT_EQ(Load("http = \"127.0.0.1:7977\"\n")->http, (HttpAddress{"127.0.0.1", 7977}));
  EXPECT_EQ(Load("http = \"127.0.0.1:7977\"\n", {.user = true, .http = "off"})->http, std::nullopt);
  EXPECT_EQ(Load("", {.user = false})->http, (HttpAddress{"127.0.0.1", kDefaultHttpPort}));
  EXPECT_EQ(Load("http = \"off\"\n", {.user = false})->http, std::nullopt);
}

TEST_F(ConfigTest, SaysTheLineOfWhatIsWrong) {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case cases[] = {
      {"sockt = \"/x\"\n", ":2: there is no setting 'sockt' here; there are: "},
      {"\n[queue]\nlimit = 5\n", ":4: [queue]: there is no setting 'limit'"},
      {"state_dir = \"\"\n", ":2: 'state_dir' is empty"},
      {"http = \"0.0.0.0:80\"\n", ":2: 'http' is refused: it is no address of the loopback"},
      {"state_dir = 5\n", ":2: 'state_dir' is not a string"},
      {"[queue]\nlimit_runs = 0\n", ":3: [queue]: 'limit_runs' is not a whole number from 1"},
      {"[queue]\nlimit_runs = \"5\"\n", ":3: [queue]: 'limit_runs' is not a whole number"},
      {"[sessions]\nmax_ttl_minutes = 43201\n", ":3: [sessions]: 'max_ttl_minutes' is not a whole number from 1"},
      {"queue = 5\n", ":2: 'queue' is not a table"},
      {"[device]\n", "write [[device]]"},
      {"[[device]]\nkind = \"abacus\"\n", "[[device]]: 'kind' is not one of nvidia, neuron, amd"},
      {"[[device]]\nkind = \"neuron\"\n", "needs its 'cores'"},
      {"[[device]]\nkind = \"amd\"\nid = \"cpu\"\n", "reserved"},
      {"[[device]]\nkind = \"amd\"\nid = \"0\"\n[[device]]\nkind = \"amd\"\nid = \"0\"\n", "taken already"},
      {"[[device]]\nkind = \"amd\"\nid = \"0,1\"\n", "the id '0,1' holds a comma"},
      {"[[device]]\nkind = \"amd\"\nid = \"a b\"\n", "the id 'a b' holds a space"},
      {"[[device]]\nkind = \"amd\"\nid = \"gpu@0\"\n", "the id 'gpu@0' holds an @"},
      {"[[device]]\nkind = \"nvidia\"\nuuid = \"GPU-1,GPU-2\"\n",
       ":2: [[device]]: the uuid 'GPU-1,GPU-2' holds a comma"},
      {"[[device]]\nkind = \"nvidia\"\nuuid = \" GPU-1\"\n", "holds a comma or a space"},
      {"[[device]]\nkind = \"nvidia\"\nuuid = \"GPU-ab\"\n[[device]]\nkind = \"nvidia\"\nuuid = \"gpu-AB\"\n",
       ":5: [[device]]: the uuid 'gpu-AB' is that of device '0' already"},
      {"[[device]]\nkind = \"nvidia\"\nuuid = \"GPU-ab\"\n[[device]]\nkind = \"nvidia\"\nuuid = \"GPU-abcd\"\n",
       "the uuid 'GPU-abcd' is that of device '0' already"},
      {"[[device]]\nkind = \"neuron\"\ncores = [0, 1]\n[[device]]\nkind = \"neuron\"\ncores = [1, 2]\n",
       ":5: [[device]]: core 1 is one of device '0' already"},
      {"[[device]]\nkind = \"neuron\"\ncores = [1, 1]\n", "'cores' names one of them twice"},
      {"[[device]]\nkind = \"nvidia\"\nid = \"3\"\n", "without a uuid it is number 0 of its kind"},
      {"\nlog_level = \"loud\"\n", ":3: 'log_level' 'loud' is not one of debug, info, warning, error"},
      {"[queue]\nlimit_runs = 5\nlimit_runs_per_uid = 6\n",
       ":4: [queue]: 'limit_runs_per_uid' is more than 'limit_runs' (5)"},
      {"[queue]\nlimit_runs_per_uid = 10001\n", ":3: [queue]: 'limit_runs_per_uid' is more than 'limit_runs' (10000)"},
      {"[queue]\nlimit_runs_per_uid = 0\n", ":3: [queue]: 'limit_runs_per_uid' is not a whole number from 1"},
      {"[sessions]\nlimit_per_uid = 8\nlimit = 7\n", ":3: [sessions]: 'limit_per_uid' is more than 'limit' (7)"},
      {"this is no toml\n", ":2"},
      {"[queue]\nlimit_runs = 1e40\n", ":3: [queue]: 'limit_runs' is not a whole number"},
      {"[[device]]\nkind = \"neuron\"\ncores = [0, 1.0]\n", ":4: [[device]]: 'cores' holds what is no core number"},
      {"[[device]]\nkind = \"neuron\"\ncores = [0, 655e36]\n", "'cores' holds what is no core number"},
      {"[[device]]\nkind = \"neuron\"\ncores = [true]\n", "'cores' holds what is no core number"},
      // What toml++ 3.3 is not sure of itself about.
      {"[[$device]]\n", ":2"},
      {"socket = \u03e3\n", ":2"},
      {"\u00e9 = 5\n", ":2"},
      {"state_dir = \"/a\\u0000b\"\n", ":2: 'state_dir' holds a control character"},
      {"socket = \"\"\"\n/a\nb\"\"\"\n", ":2: 'socket' holds a control character"},
      {"[[device]]\nkind = \"nvidia\"\nuuid = \"GPU-1\\u0000\"\n", ":4: [[device]]: 'uuid' holds a control character"},
      {"[[device]]\nkind = \"nvidia\"\nid = \"a\\rb\"\n", "'id' holds a control character"},
      {"[[device]]\nkind = \"nvidia\"\nid = \"a\\u009b2J\"\n", "'id' holds a control character"},
      {"socket = \"/a\\u202eb\"\n", ":2: 'socket' holds a control character"},
      {"log_level = \"\\u00e9\"\n", "'\u00e9' is not one of"},
      {"\"a\\u009b2J\\u202eb\" = 1\n", ":2: there is no setting 'a\\x9b2J\\u{202e}b' here"},
      {"\"a\\nb\" = 1\n", ":2: there is no setting 'a\\nb' here"},
  };
  for (const Case& c : cases) {
    Result<Config> config = Load(c.text);
    ASSERT_FALSE(config.ok()) << c.text;
    EXPECT_EQ(config.status().code(), ErrorCode::kUsage) << c.text;
    EXPECT_THAT(config.status().ToString(), HasSubstr(c.says));
  }
}

TEST_F(ConfigTest, TakesTheNeuronPlacesOfTheFileThenInUserModeOfTheEnvironment) {
  setenv("KPROF_NEURON_BIN", "/env/bin", 1);
  setenv("KPROF_NEURON_SYSFS", "/env/sysfs", 1);
  const std::string file = "[devices]\nneuron_tools = \"/opt/tools\"\n";
  EXPECT_EQ(Load(file)->devices.neuron_tools, "/opt/tools");
  EXPECT_EQ(Load(file)->devices.neuron_sysfs, "/env/sysfs");
  EXPECT_EQ(Load("")->devices.neuron_tools, "/env/bin");
  EXPECT_EQ(Load(file, {.user = false})->devices.neuron_tools, "/opt/tools");
  EXPECT_EQ(Load(file, {.user = false})->devices.neuron_sysfs, "");
  unsetenv("KPROF_NEURON_BIN");
  unsetenv("KPROF_NEURON_SYSFS");
  EXPECT_THAT(Load("[devices]\nneuron_sysfs = \"sys\"\n").status().ToString(), HasSubstr("neuron_sysfs"));
  EXPECT_EQ(Load("[devices]\nneuron_chip = \"trn2.48xlarge\"\n")->devices.neuron_chip, "trn2.48xlarge");
  EXPECT_THAT(Load("[devices]\nneuron_chip = \"trn9\"\n").status().ToString(), HasSubstr("neuron_chip"));
}

// Whoever mends a file does not want to hear of one thing after the other.
TEST_F(ConfigTest, TellsOfAllThatIsWrongInTheOrderOfTheFile) {
  const std::string file = folder_ / "kprofd.toml";
  std::ofstream(file) << R"(log_level = "loud"
sockt = "/x"
launcher = "/nowhere/kprof-launch"
[sessions]
limit = 0
max_ttl_minutes = "long"
[queue]
limit_runs = 0
more = 1
[[device]]
kind = "abacus"
id = "cpu"
[limits]
max_run_minutes = -1
[[certificate]]
fingerprint = "abcd"
[[device]]
kind = "neuron"
id = "n0"
cores = [-1, 0, "b"]
)";
  std::vector<std::string> said;
  for (const Status& complaint : LoadConfig({.user = true, .file = file, .listen = "everywhere"}).complaints) {
    said.push_back(complaint.ToString());
  }
  auto line = [&](const char* text) { return StartsWith(file + text); };
  EXPECT_THAT(
      said, ElementsAre(line(":1: 'log_level' 'loud' is not"), line(":2: there is no setting 'sockt'"),
                        line(":5: [sessions]: 'limit'"), line(":6: [sessions]: 'max_ttl_minutes'"),
                        line(":8: [queue]: 'limit_runs'"), line(":9: [queue]: there is no setting 'more'"),
                        line(":10: [[device]]: 'kind'"), line(":10: [[device]]: the id 'cpu' is reserved"),
                        line(":14: [limits]: 'max_run_minutes'"), line(":15: [[certificate]]: 'role'"),
                        line(":16: [[certificate]]: 'fingerprint'"), line(":20: [[device]]: 'cores'"),
                        line(":20: [[device]]: 'cores'"), HasSubstr("everywhere"), HasSubstr("/nowhere/kprof-launch")));
}

TEST_F(ConfigTest, KnowsWhetherTheFilesOfRemoteClientsAreWorthALook) {
  auto knows = [&](const std::string& text) {
    const std::string file = folder_ / "kprofd.toml";
    std::ofstream(file) << text;
    return LoadConfig({.user = true, .file = file}).knows_remote_clients;
  };
  EXPECT_TRUE(knows("[queue]\nlimit_runs = 0\n"));
  EXPECT_FALSE(knows("[listen]\nkey = \"here\"\n"));
  EXPECT_FALSE(knows("[[certificate]]\nname = \"a\"\n"));
  EXPECT_FALSE(knows("not toml")) << "nobody knows what it says";
}

TEST_F(ConfigTest, NamesAFileOrSupervisorThatIsNotThere) {
  const LoadedConfig loaded = LoadConfig({.user = true, .file = "/nowhere/kprofd.toml"});
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.complaints[0].ToString(), HasSubstr("/nowhere/kprofd.toml"));
  EXPECT_THAT(Load("").status().ok(), true);
  std::filesystem::remove(folder_ / "launch");
  EXPECT_THAT(Load("").status().ToString(), HasSubstr("kprof-launch"));
}

// A bind mount of a file that is not there makes a folder.
TEST_F(ConfigTest, AFolderIsNoFile) {
  const LoadedConfig loaded = LoadConfig({.user = true, .file = folder_ / "run"});
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.complaints[0].ToString(), HasSubstr("it is a folder"));
  EXPECT_FALSE(loaded.knows_remote_clients);
}

TEST_F(ConfigTest, NeitherIsWhatCannotBeReadToItsEnd) {
  for (const char* file : {"/dev/zero", "/proc/self/mem"}) EXPECT_FALSE(LoadConfig({.user = true, .file = file}).ok());
  std::ofstream(folder_ / "long.toml") << std::string(5 << 20, '\n');
  EXPECT_THAT(LoadConfig({.user = true, .file = folder_ / "long.toml"}).complaints[0].ToString(),
              HasSubstr("it has more than"));
}

TEST_F(ConfigTest, ASocketsPathFitsASocket) {
  const std::string fits = "/" + std::string(106, 's');
  EXPECT_TRUE(Load("", {.user = true, .socket_path = fits}).ok());
  EXPECT_THAT(Load("", {.user = true, .socket_path = fits + "s"}).status().ToString(),
              HasSubstr("a socket's path has at most 107 bytes here, and this one has 108"));
  // There with ".fd" behind it.
  EXPECT_THAT(Load("socket = \"" + fits + "\"\n", {.user = false}).status().ToString(), HasSubstr("at most 104 bytes"));
  EXPECT_TRUE(Load("socket = \"" + fits.substr(0, 104) + "\"\n", {.user = false}).ok());
}

class SystemConfigTest : public ConfigTest {
 protected:
  Result<Config> LoadSystem(const std::string& text) { return Load(text, {.user = false}); }
};

TEST_F(SystemConfigTest, HasPlacesOfItsOwn) {
  Result<Config> config = LoadSystem("");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->mode, Mode::kSystem);
  EXPECT_EQ(config->state_folder, "/var/lib/kprofd");
  EXPECT_EQ(config->socket_path, "/run/kprofd/kprofd.sock");
}

TEST_F(SystemConfigTest, HasNoWorkingFolder) {
  for (const char* key : {"state_dir", "socket", "helper_socket"}) {
    EXPECT_THAT(LoadSystem(std::string(key) + " = \"here\"\n").status().ToString(),
                HasSubstr("kprofd.toml:2: '" + std::string(key) + "' is not an absolute path"));
  }
  EXPECT_TRUE(Load("state_dir = \"here\"\n").ok()) << "who starts kprofd --user does it in a folder";
}

TEST_F(ConfigTest, ChecksTheServicesFileWhereThereIsOne) {
  const std::string service_file = folder_ / "service.toml";
  EXPECT_TRUE(FlagsForCheck({}, service_file).user);
  std::ofstream(service_file) << "\n";
  EXPECT_FALSE(FlagsForCheck({}, service_file).user);
  EXPECT_EQ(FlagsForCheck({}, service_file).file, service_file);
  EXPECT_EQ(FlagsForCheck({.user = true}, service_file).file, "");
  EXPECT_EQ(FlagsForCheck({.file = "/other.toml"}, service_file).file, "/other.toml");
}

TEST_F(SystemConfigTest, EveryoneMayMeasureAndRootIsAdminUnlessTheFileSaysOtherwise) {
  UserRoles access = LoadSystem("")->access;
  EXPECT_EQ(access.everyone, Role::kViewer);
  EXPECT_EQ(access.users, (std::map<uid_t, Role>{{0, Role::kAdmin}, {getuid(), Role::kViewer}}));
  access = LoadSystem("[access]\neveryone = \"none\"\nviewers = [\"1000\", \"@0\"]\noperators = [\"1000\"]\n")->access;
  EXPECT_EQ(access.everyone, Role::kNone);
  EXPECT_EQ(access.users.at(1000), Role::kOperator);
  EXPECT_EQ(access.groups, (std::map<gid_t, Role>{{0, Role::kViewer}}));
  access = LoadSystem("[access]\nadmins = [\"1000\"]\n")->access;
  EXPECT_EQ(access.users.at(1000), Role::kAdmin);
}

TEST_F(SystemConfigTest, KnowsUsersAndGroupsByName) {
  const UserRoles access = LoadSystem("[access]\nviewers = [\"root\", \"@root\"]\n")->access;
  EXPECT_EQ(access.users.at(0), Role::kAdmin);  // the higher one
  EXPECT_EQ(access.groups.at(0), Role::kViewer);
}

TEST_F(SystemConfigTest, ComplainsOfRolesWithItsLine) {
  struct Case {
    const char* text;
    const char* complaint;
  };
  const Case cases[] = {
      {"[access]\neveryone = \"boss\"\n", "kprofd.toml:3: [access]: 'everyone' is not one of none, viewer"},
      {"[access]\nadmins = [\n\"root\",\n\"no such user\"]\n",
       "kprofd.toml:5: [access]: 'admins' names 'no such user'"},
      {"[access]\nviewers = [\"@nogroup-\"]\n", "there is no group of that name"},
      {"[access]\nviewers = [\"4294967295\"]\n", "there is no user of that name"},
      {"[access]\nviewers = \"root\"\n", "'viewers' is not a list of strings"},
      {"[access]\nviewers = [7]\n", "holds what is no string"},
      {"[access]\nviewer = [\"root\"]\n", "there is no setting 'viewer' here"},
      {"[limits]\nconnections = 0\n", "kprofd.toml:3: [limits]: 'connections' is not a whole number"},
      {"[limits]\nconnections_per_user = 11\nconnections = 10\n",
       "kprofd.toml:3: [limits]: 'connections_per_user' is more than 'connections' (10)"},
      {"[limits]\nusers = 257\n", "'users' is not a whole number from 1 to 256"},  // memory is shared out among them
  };
  for (const Case& c : cases) {
    Result<Config> config = LoadSystem(c.text);
    ASSERT_FALSE(config.ok()) << c.text;
    EXPECT_EQ(config.status().code(), ErrorCode::kUsage);
    EXPECT_THAT(config.status().ToString(), HasSubstr(c.complaint));
  }
}

TEST_F(SystemConfigTest, ReadsItsLimits) {
  const ConnectionLimits limits = LoadSystem(R"(
[limits]
connections = 10
connections_per_user = 9
users = 8
calls_per_user = 7
calls_per_second_per_user = 6
watches_per_user = 5
)")
                                      ->connections;
  EXPECT_EQ(limits.connections, 10);
  EXPECT_EQ(limits.connections_per_account, 9);
  EXPECT_EQ(limits.callers, 8);
  EXPECT_EQ(limits.calls.in_flight, 7);
  EXPECT_EQ(limits.calls.per_second, 6);
  EXPECT_EQ(limits.calls.watches, 5);
}

TEST_F(SystemConfigTest, ReadsHowMuchAUserMayHaveStored) {
  const StoragePolicy said = LoadSystem("[limits]\nstored_runs_per_user = 0\nstored_bytes_per_user = 1000\n")->storage;
  EXPECT_EQ(said, (StoragePolicy{.runs_per_uid = 0, .bytes_per_uid = 1000}));
  EXPECT_EQ(LoadSystem("")->storage, (StoragePolicy{.runs_per_uid = 1'000'000})) << "a fair part of the disk";
  EXPECT_THAT(LoadSystem("[limits]\nstored_bytes_per_user = -1\n").status().ToString(),
              HasSubstr("kprofd.toml:3: [limits]: 'stored_bytes_per_user' is not a whole number"));
}

TEST_F(SystemConfigTest, ReadsHowLongARunMayLast) {
  EXPECT_EQ(LoadSystem("")->longest_run_ms, 0);
  const Config config = *LoadSystem("[limits]\nmax_run_minutes = 90\n");
  EXPECT_EQ(config.longest_run_ms, 5'400'000);
  EXPECT_EQ(SettingsForNextStart(*LoadSystem(""), config), "") << "a reload takes it over";
  EXPECT_THAT(LoadSystem("[limits]\nmax_run_minutes = 43201\n").status().ToString(),
              HasSubstr("kprofd.toml:3: [limits]: 'max_run_minutes' is not a whole number from 0 to 43200"));
}

TEST_F(ConfigTest, WhatOneHasStoredOfOnesOwnHasNoLimit) {
  EXPECT_EQ(Load("")->storage, (StoragePolicy{.runs_per_uid = 0, .bytes_per_uid = 0}));
}

TEST_F(SystemConfigTest, SaysWhatWaitsForTheNextStart) {
  const Config now = *LoadSystem("");
  EXPECT_EQ(SettingsForNextStart(now, *LoadSystem("log_level = \"error\"\n[access]\neveryone = \"none\"\n")), "");
  EXPECT_EQ(
      SettingsForNextStart(now, *LoadSystem("socket = \"/other\"\n[queue]\nlimit_runs = 5\n[sessions]\nlimit = 5\n")),
      "socket, [queue], [sessions]");
}

TEST_F(SystemConfigTest, RemoteClientsAreTurnedOffByAReloadAndOnByAStart) {
  const Config off = *LoadSystem("");
  Config on = off;
  on.listen.address = "127.0.0.1:7443";
  EXPECT_EQ(SettingsTakenOver(on, off), "[listen] address");
  EXPECT_EQ(SettingsForNextStart(on, off), "");
  EXPECT_EQ(SettingsTakenOver(off, on), "");
  EXPECT_EQ(SettingsForNextStart(off, on), "[listen] address");
}

TEST_F(ConfigTest, ADaemonOfOnesOwnHasNoRolesToGive) {
  EXPECT_THAT(Load("[access]\neveryone = \"viewer\"\n").status().ToString(), HasSubstr("is for system mode"));
  const UserRoles access = Load("")->access;
  EXPECT_EQ(access.everyone, Role::kNone);
  EXPECT_EQ(access.users.at(getuid()), Role::kAdmin);
}

}  // namespace
}  // namespace kprof
