#include "daemon/withdrawn_rights.h"

#include <algorithm>
#include <optional>
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

// Empty: it may be.
std::string WhyNot(const StartRights& rights, const Actor& who, const WithdrawnRights::GroupsOf& groups_of) {
  if (who.caller.starts_with(kCertificatePrefix)) {
    const std::string certificate = who.caller.substr(kCertificatePrefix.size());
    if (!HasRule(rights.certificates, certificate, who.uid)) {
      return "certificate " + certificate + ", with which it came, may no longer start anything on this node";
    }
    if (who.certificate_id.empty() || !rights.is_revoked || !rights.is_revoked(who.certificate_id)) return "";
    return "certificate " + certificate + ", with which it came (" + who.certificate_id + "), is revoked";
  }
  const bool may = CallerOf(rights.access, who.uid, {}).may_start ||  // most need no groups
                   CallerOf(rights.access, who.uid, groups_of(who.uid)).may_start;
  if (may) return "";
  return "uid " + std::to_string(who.uid) + " no longer has a role on this node";
}

}  // namespace

std::vector<gid_t> WithdrawnRights::GroupsOfAccount(uid_t uid) {
  const std::optional<Account> account = FindAccount(uid);
  return account ? FindGroups(*account) : std::vector<gid_t>{uid};
}

WithdrawnRights::Waiting WithdrawnRights::FindWaiting() const {
  Waiting waiting;
  for (const auto& [id, uid] : runs_.Queued()) waiting[id].uid = uid;
  for (const auto& [id, uid] : runs_.sessions().Living()) waiting[id].uid = uid;
  return waiting;
}

void WithdrawnRights::Enforce(StartRights rights, std::function<void()> known) {
  KPROF_ON_IO_LOOP(loop_);
  Waiting waiting = FindWaiting();
  if (waiting.empty()) return known();
  auto look_up = [this, waiting, rights = std::move(rights), &loop = loop_, &catalog = catalog_,
                  groups_of = groups_of_]() mutable -> std::map<std::string, std::string> {
    Result<ReaderPool::Lease> reader = catalog.readers().Borrow();
    Status found = reader.ok() ? OkStatus() : reader.status();
    if (found.ok()) found = ReadSubmitters(**reader, waiting);
    if (!found.ok()) LogError("what came with which certificate is not known", {{"error", found.ToString()}});
    std::map<uid_t, std::vector<gid_t>> groups;
    auto groups_once = [&](uid_t uid) {
      auto at = groups.find(uid);
      return at != groups.end() ? at->second : groups.emplace(uid, groups_of(uid)).first->second;
    };
    std::map<std::string, std::string> ends;
    for (const auto& [id, who] : waiting) {
      if (std::string why = WhyNot(rights, who, groups_once); !why.empty()) ends[id] = std::move(why);
    }
    return ends;
  };
  Status submitted = workers_.Submit([this, look_up, waiting, known, &loop = loop_]() mutable {
    auto ends = look_up();
    loop.Post([this, ends = std::move(ends), waiting, known] {
      known();
      for (const auto& [id, why] : ends) End(id, waiting.at(id), why);
    });
  });
  if (!submitted.ok()) {
    LogError("what waits of those who have no role is not ended", {{"error", submitted.ToString()}});
    known();
  }
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
  if (run == nullptr || run->state != RunState::kQueued) return;
  LogWarning("a run ends before it began: its user's right is withdrawn", {{"run", id}, {"why", why}});
  runs_.Stop(id, reason("run " + id), 0, [&audit = audit_, of, why](const Result<RunRow>& stopped) {
    if (!stopped.ok()) return;
    AuditEntry entry = AuditEntryOf(DaemonFor(of.uid), audit::kCancel, *stopped, 0);
    entry.detail += ": " + why;
    audit.Record(std::move(entry));
  });
}

}  // namespace kprof
