#include "daemon/revoked_access.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "daemon/base/account.h"
#include "daemon/base/log.h"

namespace kprof {
namespace {

constexpr int64_t kGraceMs = 5000;
constexpr std::string_view kCertificatePrefix = "certificate:";

// A rule by fingerprint says no name: any of that user's counts.
bool HasRule(const std::vector<CertificateRule>& rules, std::string_view certificate, uint32_t uid) {
  return std::any_of(rules.begin(), rules.end(), [&](const CertificateRule& rule) {
    return rule.uid == uid && (rule.name == certificate || !rule.fingerprint.empty());
  });
}

bool IsCertificate(const Actor& who) {
  return who.caller.starts_with(kCertificatePrefix);
}

}  // namespace

std::string WhyRevoked(const StartRights& rights, const Actor& who, const std::vector<gid_t>& groups) {
  if (!IsCertificate(who)) {
    if (CallerOf(rights.access, who.uid, groups).may_start) return "";
    return "uid " + std::to_string(who.uid) + " no longer has a role on this node";
  }
  const std::string certificate = who.caller.substr(kCertificatePrefix.size());
  if (!HasRule(rights.certificates, certificate, who.uid)) {
    return "certificate " + certificate + ", with which it came, may no longer start anything on this node";
  }
  if (who.certificate_id.empty() || !rights.is_revoked || !rights.is_revoked(who.certificate_id)) return "";
  return "certificate " + certificate + ", with which it came (" + who.certificate_id + "), is revoked";
}

Result<std::vector<gid_t>> RevokedAccess::GroupsOfAccount(uid_t uid, const std::vector<gid_t>& asked) {
  Result<Account> account = FindAccount(uid);
  if (account.status().code() == ErrorCode::kNotFound) return std::vector<gid_t>{uid};
  if (!account.ok()) return account.status();
  std::vector<gid_t> groups = FindGroups(*account);
  for (const gid_t group : asked) {
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) RETURN_IF_ERROR(CheckGroup(group));
  }
  return groups;
}

RevokedAccess::Waiting RevokedAccess::FindWaiting() const {
  Waiting waiting;
  for (const auto& [id, uid] : runs_.NotBegun()) waiting[id].uid = uid;
  for (const auto& [id, uid] : runs_.sessions().Living()) waiting[id].uid = uid;
  return waiting;
}

void RevokedAccess::Enforce(StartRights rights, std::function<void()> known) {
  KPROF_ON_IO_LOOP(loop_);
  rights_ = std::move(rights);
  ends_.clear();  // by rights that are others now
  judging_ = true;
  if (known) known_.push_back(std::move(known));
  Waiting waiting = FindWaiting();
  if (waiting.empty()) {
    judging_ = false;
    undecided_.clear();
    return Settle();
  }
  if (!limit_.pending()) limit_ = loop_.After(kLimitNs, [this] { OnLate(); });
  auto read = [this, waiting = std::move(waiting), &loop = loop_, &catalog = catalog_]() mutable {
    Result<ReaderPool::Lease> reader = catalog.readers().Borrow();
    Status found = reader.ok() ? ReadSubmitters(**reader, waiting) : reader.status();
    loop.Post([this, waiting = std::move(waiting), found] {
      if (found.ok()) return Judge(waiting);
      LogError("who asked for what waits is not known; it is read again", {{"error", found.ToString()}});
      again_ = loop_.After(kReadAgainNs, [this] { Enforce(rights_); });
    });
  };
  Status submitted = workers_.Submit(std::move(read));
  if (!submitted.ok()) again_ = loop_.After(kReadAgainNs, [this] { Enforce(rights_); });
}

bool RevokedAccess::GroupsCanHelp(const Actor& who) const {
  const std::vector<uid_t>& nobodies = rights_.access.nobodies;
  return !IsCertificate(who) && !rights_.access.groups.empty() &&
         std::find(nobodies.begin(), nobodies.end(), who.uid) == nobodies.end();
}

void RevokedAccess::Judge(const Waiting& waiting) {
  judging_ = false;
  undecided_.clear();
  for (const auto& [id, who] : waiting) {
    std::string why = WhyRevoked(rights_, who, {});
    if (why.empty()) continue;
    if (GroupsCanHelp(who)) {
      undecided_[id] = who;
    } else {
      ends_[id] = {who, std::move(why)};
    }
  }
  if (undecided_.empty()) return Settle();
  if (known_.empty()) Conclude();
  AskDirectory();
}

void RevokedAccess::AskDirectory() {
  ask_again_ = asking_;
  if (asking_) return;
  std::vector<gid_t> asked;
  for (const auto& [group, role] : rights_.access.groups) asked.push_back(group);
  std::set<uid_t> uids;
  for (const auto& [id, who] : undecided_) uids.insert(who.uid);
  asking_ = true;
  Status begun = directory_.Run([this, asked, uids, groups_of = groups_of_]() -> std::function<void()> {
    Groups groups;
    for (const uid_t uid : uids) groups.emplace(uid, groups_of(uid, asked));
    return [this, groups = std::move(groups)] {
      asking_ = false;
      ask_again_ ? AskDirectory() : OnGroups(groups);
    };
  });
  if (begun.ok()) return;
  asking_ = false;
  OnGroups({}, begun);
}

// `failed`: why nothing could be asked.
void RevokedAccess::OnGroups(const Groups& groups, Status failed) {
  if (judging_) return;  // by other rights; it is asked again, about whom they leave undecided
  for (const auto& [id, who] : std::exchange(undecided_, {})) {
    auto of = groups.find(who.uid);
    if (of == groups.end()) continue;
    if (!of->second.ok()) {
      failed = of->second.status();
      continue;
    }
    std::string why = WhyRevoked(rights_, who, *of->second);
    if (!why.empty()) ends_[id] = {who, std::move(why)};
  }
  Settle();
  if (failed.ok()) return;
  LogError("who may no longer start what waits is not known; it is asked again", {{"error", failed.ToString()}});
  again_ = loop_.After(kAskAgainNs, [this] { Enforce(rights_); });
}

void RevokedAccess::OnLate() {
  LogError("who may no longer start what waits is not all known in time",
           {{"why", judging_ ? "the catalog does not answer" : "the directory of users does not answer"}});
  Conclude();
}

void RevokedAccess::Settle() {
  limit_.Cancel();
  again_.Cancel();
  Conclude();
}

void RevokedAccess::Conclude() {
  for (const auto& known : std::exchange(known_, {})) known();
  for (const auto& [id, found] : std::exchange(ends_, {})) End(id, found.who, found.why);
}

// It may have begun, or ended, meanwhile.
void RevokedAccess::End(const std::string& id, const Actor& of, const std::string& why) {
  auto reason = [&](const std::string& what) {
    return Fail(ErrorCode::kNotPermitted, what, why, "ask an admin of this node");
  };
  if (runs_.sessions().FindOpenRow(id) != nullptr) {
    LogWarning("a session ends: its user's right is withdrawn", {{"session", id}, {"why", why}});
    runs_.sessions().Close(id, DaemonFor(of.uid), reason("session " + id), kGraceMs, [](const Result<SessionRow>&) {});
    return;
  }
  const RunRow* run = runs_.FindOpenRow(id);
  if (run == nullptr || runs_.HasBegun(id)) return;
  runs_.Stop(id, reason("run " + id), 0, [&audit = audit_, of, why](const Result<RunRow>& stopped) {
    if (!stopped.ok()) return;  // it is ending
    LogWarning("a run ends before it began: its user's right is withdrawn", {{"run", stopped->id}, {"why", why}});
    AuditEntry entry = AuditEntryOf(DaemonFor(of.uid), audit::kCancel, *stopped, 0);
    entry.detail += ": " + why;
    audit.Record(std::move(entry));
  });
}

}  // namespace kprof
