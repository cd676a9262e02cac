#include "daemon/access/user_roles.h"

#include <algorithm>
#include <charconv>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string_view TakeUntil(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

}  // namespace

SubordinateUids ParseSubordinateUids(std::string_view text,
                                     const std::function<std::optional<uid_t>(const std::string&)>& uid_of) {
  SubordinateUids result;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = TakeUntil(text, '\n');
    if (line.empty() || line[0] == '#') continue;
    auto complain = [&](const std::string& why) {
      result.complaints.push_back("line " + std::to_string(number) + ": " + why);
    };
    const std::string name(TakeUntil(line, ':'));
    const std::optional<uint32_t> first = ParseNumber(TakeUntil(line, ':'));
    const std::optional<uint32_t> count = ParseNumber(line);
    // The last uid stands for none.
    if (name.empty() || !first || !count || *count == 0 || *count > UINT32_MAX - *first) {
      complain("it is not owner:first:count");
      continue;
    }
    std::optional<uid_t> owner = ParseNumber(name);
    if (!owner) owner = uid_of(name);
    if (!owner) {
      complain("there is no user '" + ClippedText(name, 64) + "'");
      continue;
    }
    if (*owner != 0) result.ranges.push_back({*first, *count, *owner});
  }
  return result;
}

std::vector<uid_t> ParseAccountUids(std::string_view text) {
  std::vector<uid_t> uids;
  while (!text.empty()) {
    std::string_view line = TakeUntil(text, '\n');
    TakeUntil(line, ':');  // the name
    TakeUntil(line, ':');  // the password
    if (const std::optional<uint32_t> uid = ParseNumber(TakeUntil(line, ':'))) uids.push_back(*uid);
  }
  return uids;
}

std::vector<uid_t> SetApart(const std::vector<uid_t>& accounts, std::vector<SubordinateRange>& ranges) {
  std::vector<uid_t> apart;
  for (uid_t uid : accounts) {
    const std::optional<uid_t> owner = OwnerOf(ranges, uid);
    if (!owner || *owner == uid) continue;
    ranges.insert(ranges.begin(), {uid, 1, uid});
    apart.push_back(uid);
  }
  return apart;
}

std::optional<uid_t> OwnerOf(const std::vector<SubordinateRange>& ranges, uid_t uid) {
  for (const SubordinateRange& range : ranges) {
    if (uid >= range.first && uid - range.first < range.count) return range.owner;
  }
  return std::nullopt;
}

uid_t AccountOf(const UserRoles& policy, uid_t uid) {
  if (policy.users.contains(uid)) return uid;
  return OwnerOf(policy.subordinates, uid).value_or(uid);
}

Caller CallerOf(const UserRoles& policy, uid_t uid, const std::vector<gid_t>& groups) {
  const bool is_nobody = std::find(policy.nobodies.begin(), policy.nobodies.end(), uid) != policy.nobodies.end();
  Caller caller;
  caller.uid = uid;
  caller.groups.assign(groups.begin(), groups.end());
  if (const uid_t account = AccountOf(policy, uid); account != uid) caller.counts_as = account;
  caller.role = policy.everyone;
  if (auto user = policy.users.find(uid); user != policy.users.end()) caller.role = std::max(caller.role, user->second);
  for (gid_t gid : groups) {
    if (auto group = policy.groups.find(gid); group != policy.groups.end()) {
      caller.role = std::max(caller.role, group->second);
    }
  }
  caller.may_start = caller.role != Role::kNone && !is_nobody;
  // Root could be anybody here.
  if (uid == 0) caller.role = std::max(caller.role, Role::kViewer);
  return caller;
}

}  // namespace kprof
