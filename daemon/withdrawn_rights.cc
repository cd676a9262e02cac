#include "daemon/withdrawn_rights.h"

#include <algorithm>
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

std::string WhyWithdrawn(const StartRights& rights, const Actor& who, const std::vector<gid_t>& groups) {
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

Result<std::vector<gid_t>> WithdrawnRights::GroupsOfAccount(uid_t uid, const std::vector<gid_t>& asked) {
  Result<Account> account = FindAccount(uid);
  if (account.status().code() == ErrorCode::kNotFound) return std::vector<gid_t>{uid};
  if (!account.ok()) return account.status();
  std::vector<gid_t> groups = FindGroups(*account);
  for (const gid_t group : asked) {
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) RETURN_IF_ERROR(CheckGroup(group));
  }
  return groups;
}

WithdrawnRights::Waiting WithdrawnRights::FindWaiting() const {
  Waiting waiting;
  for (const auto& [id, uid] : runs_.NotBegun()) waiting[id].uid = uid;
  for (const auto& [id, uid] : runs_.sessions().Living()) waiting[id].uid = uid;
  return waiting;
}

void WithdrawnRights::Enforce(StartRights rights, std::function<void()> known) {
  KPROF_ON_IO_LOOP(loop_);
  rights_ = std::move(rights);
  if (known) known_.push_back(std::move(known));
  if (looking_) {
    rights_changed_ = true;
    return;
  }
  limit_ = loop_.After(kLimitNs, [this] {
    LogError("the directory of users does not answer: who may no longer start what waits is not known");
    TellKnown();
  });
  LookUp();
}

void WithdrawnRights::LookUp() {
  rights_changed_ = false;
  Waiting waiting = FindWaiting();
  if (waiting.empty()) return OnFound({}, {});
  looking_ = true;
  auto read = [this, waiting, &loop = loop_, &catalog = catalog_]() mutable {
    Result<ReaderPool::Lease> reader = catalog.readers().Borrow();
    Status found = reader.ok() ? ReadSubmitters(**reader, waiting) : reader.status();
    loop.Post([this, waiting = std::move(waiting), found] {
      found.ok() ? AskDirectory(waiting) : OnFound(waiting, {{}, found});
    });
  };
  Status submitted = workers_.Submit(std::move(read));
  if (!submitted.ok()) OnFound(waiting, {{}, submitted});
}

void WithdrawnRights::AskDirectory(const Waiting& waiting) {
  auto ask = [this, waiting, rights = rights_, groups_of = groups_of_, &loop = loop_] {
    loop.Post([this, waiting, found = FindEnds(waiting, rights, groups_of)] { OnFound(waiting, found); });
  };
  Status submitted = lookups_.Submit(std::move(ask));
  if (!submitted.ok()) OnFound(waiting, {{}, submitted});
}

WithdrawnRights::Found WithdrawnRights::FindEnds(const Waiting& waiting, const StartRights& rights,
                                                 const GroupsOf& groups_of) {
  std::vector<gid_t> asked;
  for (const auto& [group, role] : rights.access.groups) asked.push_back(group);
  std::map<uid_t, Result<std::vector<gid_t>>> groups;
  Found found;
  for (const auto& [id, who] : waiting) {
    std::string why = WhyWithdrawn(rights, who, {});
    if (!why.empty() && !IsCertificate(who)) {  // most need no groups
      auto at = groups.find(who.uid);
      if (at == groups.end()) at = groups.emplace(who.uid, groups_of(who.uid, asked)).first;
      if (!at->second.ok()) {
        found.failed = at->second.status();
        continue;
      }
      why = WhyWithdrawn(rights, who, *at->second);
    }
    if (!why.empty()) found.ends[id] = std::move(why);
  }
  return found;
}

void WithdrawnRights::OnFound(const Waiting& waiting, const Found& found) {
  looking_ = false;
  if (rights_changed_) return LookUp();
  limit_.Cancel();
  TellKnown();
  for (const auto& [id, why] : found.ends) End(id, waiting.at(id), why);
  again_.Cancel();
  if (found.failed.ok()) return;
  LogError("who may no longer start what waits is not known; it is asked again", {{"error", found.failed.ToString()}});
  again_ = loop_.After(kAskAgainNs, [this] { Enforce(rights_); });
}

void WithdrawnRights::TellKnown() {
  for (const auto& known : std::exchange(known_, {})) known();
}

// It may have begun, or ended, meanwhile.
void WithdrawnRights::End(const std::string& id, const Actor& of, const std::string& why) {
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
  LogWarning("a run ends before it began: its user's right is withdrawn", {{"run", id}, {"why", why}});
  runs_.Stop(id, reason("run " + id), 0, [&audit = audit_, of, why](const Result<RunRow>& stopped) {
    if (!stopped.ok()) return;
    AuditEntry entry = AuditEntryOf(DaemonFor(of.uid), audit::kCancel, *stopped, 0);
    entry.detail += ": " + why;
    audit.Record(std::move(entry));
  });
}

}  // namespace kprof
