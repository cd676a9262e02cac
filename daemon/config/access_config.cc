#include "daemon/config/access_config.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/access/call_admission.h"
#include "daemon/base/log.h"
#include "daemon/runs/command/run_request.h"
#include "storage/base/files.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr int64_t kMillisPerMinute = 60'000;
constexpr uid_t kRootUid = 0;
constexpr uid_t kOverflowUid = 65534;  // of users without a number in our user namespace

// "1000"; the largest stands for no number at all.
std::optional<uint32_t> ParseId(std::string_view text) {
  uint32_t id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id == UINT32_MAX) return std::nullopt;
  return id;
}

std::optional<uid_t> UserByName(const std::string& name) {
  if (std::optional<uint32_t> id = ParseId(name)) return id;
  const passwd* user = ::getpwnam(name.c_str());
  return user == nullptr ? std::nullopt : std::optional(user->pw_uid);
}

std::optional<gid_t> GroupByName(const std::string& name) {
  if (std::optional<uint32_t> id = ParseId(name)) return id;
  const group* found = ::getgrnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

template <typename Id>
void Raise(std::map<Id, Role>& roles, Id id, Role role) {
  Role& now = roles[id];
  now = std::max(now, role);
}

void ReadMembers(TableReader& reader, std::string_view key, Role role, UserRoles& policy) {
  for (const TableReader::Line& member : reader.Texts(key)) {
    const bool is_group = member.text[0] == '@';
    const std::string name = member.text.substr(is_group ? 1 : 0);
    if (is_group) {
      if (std::optional<gid_t> gid = GroupByName(name)) {
        Raise(policy.groups, *gid, role);
        continue;
      }
    } else if (std::optional<uid_t> uid = UserByName(name)) {
      Raise(policy.users, *uid, role);
      continue;
    }
    reader.ComplainAt(member.line, "'" + std::string(key) + "' names '" + TerminalText(member.text) +
                                       "', but there is no " + (is_group ? "group" : "user") + " of that name here");
  }
}

}  // namespace

void ReadAccess(const toml::table& table, ConfigErrors& complaints, UserRoles& policy) {
  TableReader reader(table, complaints, "[access]: ");
  std::string everyone;
  reader.Text("everyone", everyone);
  if (everyone == "none") {
    policy.everyone = Role::kNone;
  } else if (std::optional<Role> role = RoleByName(everyone)) {
    policy.everyone = *role;
  } else if (!everyone.empty()) {
    reader.ComplainAt(table.get("everyone")->source().begin.line,
                      "'everyone' is not one of none, viewer, operator, admin");
  }
  if (table.contains("admins")) policy.users.erase(kRootUid);  // whoever names admins may leave out root
  ReadMembers(reader, "viewers", Role::kViewer, policy);
  ReadMembers(reader, "operators", Role::kOperator, policy);
  ReadMembers(reader, "admins", Role::kAdmin, policy);
  reader.Finish();
}

void ReadLimits(const toml::table& table, ConfigErrors& complaints, ConnectionLimits& limits, StoragePolicy& storage,
                int64_t& longest_run_ms) {
  TableReader reader(table, complaints, "[limits]: ");
  reader.Integer("connections", 1, 1'000'000, limits.connections);
  reader.Part("connections_per_user", "connections", limits.connections, limits.connections_per_account);
  reader.Integer("users", 1, ConnectionLimits::kMostCallers, limits.callers);
  reader.Integer("calls_per_user", 1, 1'000'000, limits.calls.in_flight);
  reader.Integer("calls_per_second_per_user", 1, 10'000'000, limits.calls.per_second);
  reader.Integer("watches_per_user", 1, CallTotals::kWatches, limits.calls.watches);
  reader.Integer("stored_runs_per_user", 0, INT64_MAX, storage.runs_per_uid);
  int64_t stored_bytes = storage.bytes_per_uid.value_or(-1);
  reader.Integer("stored_bytes_per_user", 0, INT64_MAX, stored_bytes);
  if (stored_bytes >= 0) storage.bytes_per_uid = stored_bytes;
  int64_t longest_minutes = longest_run_ms / kMillisPerMinute;
  reader.Integer("max_run_minutes", 0, kTimeoutLimitMs / kMillisPerMinute, longest_minutes);
  longest_run_ms = longest_minutes * kMillisPerMinute;
  reader.Finish();
}

void ReadSubordinates(UserRoles& policy, const std::string& path, const std::string& passwd) {
  constexpr size_t kLimitBytes = 4 << 20;
  constexpr size_t kMostComplaints = 5;
  Result<std::string> text = ReadWholeFile(*MakePosixFiles(), path, kLimitBytes);
  if (!text.ok()) {
    if (text.status().code() != ErrorCode::kNotFound) {
      LogWarning("subordinate uids are not known", {{"error", text.status().ToString()}});
    }
    return;
  }
  SubordinateUids read = ParseSubordinateUids(*text, UserByName);
  policy.subordinates = std::move(read.ranges);
  Result<std::string> accounts = ReadWholeFile(*MakePosixFiles(), passwd, kLimitBytes);
  if (accounts.ok()) {
    const std::vector<uid_t> apart = SetApart(ParseAccountUids(*accounts), policy.subordinates);
    if (!apart.empty()) {
      LogWarning(
          "accounts lie within others' subordinate uids, and count as themselves",
          {{"file", path}, {"accounts", std::to_string(apart.size())}, {"first", "uid " + std::to_string(apart[0])}});
    }
  }
  for (size_t i = 0; i < std::min(read.complaints.size(), kMostComplaints); ++i) {
    LogWarning("a line about subordinate uids is not used", {{"file", path}, {"error", read.complaints[i]}});
  }
  if (read.complaints.size() > kMostComplaints) {
    LogWarning("lines about subordinate uids are not used",
               {{"file", path}, {"lines", std::to_string(read.complaints.size())}});
  }
}

UserRoles DefaultSystemAccess(uid_t own_uid) {
  UserRoles policy;
  policy.everyone = Role::kViewer;
  policy.users = {{kRootUid, Role::kAdmin}, {own_uid, Role::kViewer}};
  policy.nobodies = {own_uid, kOverflowUid};
  return policy;
}

UserRoles UserAccess(uid_t own_uid) {
  UserRoles policy;
  policy.users = {{kRootUid, Role::kAdmin}, {own_uid, Role::kAdmin}};
  return policy;
}

}  // namespace kprof
