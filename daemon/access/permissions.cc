#include "daemon/access/permissions.h"

#include <string_view>

namespace kprof {
namespace {

constexpr AccessRule kRules[] = {
    // rpc, method, least, starts, sharing, others
    {Rpc::kGetStatus, "kprof.v1.NodeService/GetStatus", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kListDevices, "kprof.v1.NodeService/ListDevices", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kWatchDevices, "kprof.v1.NodeService/WatchDevices", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kRecordCeiling, "kprof.v1.NodeService/RecordCeiling", Role::kOperator, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kForgetCeilings, "kprof.v1.NodeService/ForgetCeilings", Role::kOperator, false, Sharing::kNone,
     Role::kOperator},
    {Rpc::kDiagnose, "kprof.v1.NodeService/Diagnose", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kBackUpCatalog, "kprof.v1.NodeService/BackUpCatalog", Role::kAdmin, false, Sharing::kNone, Role::kAdmin},
    {Rpc::kListAudit, "kprof.v1.NodeService/ListAudit", Role::kAdmin, false, Sharing::kNone, Role::kAdmin},
    {Rpc::kListTools, "kprof.v1.RunsService/ListTools", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kSubmitRun, "kprof.v1.RunsService/SubmitRun", Role::kViewer, true, Sharing::kNone, Role::kViewer},
    {Rpc::kSubmitToSession, "kprof.v1.RunsService/SubmitRun", Role::kViewer, true, Sharing::kOwn, std::nullopt},
    {Rpc::kUploadSource, "kprof.v1.RunsService/UploadSource", Role::kViewer, true, Sharing::kNone, Role::kViewer},
    {Rpc::kSubmitImport, "kprof.v1.RunsService/SubmitImport", Role::kViewer, true, Sharing::kNone, Role::kViewer},
    {Rpc::kGetRun, "kprof.v1.RunsService/GetRun", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kListRuns, "kprof.v1.RunsService/ListRuns", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kWatchRun, "kprof.v1.RunsService/WatchRun", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kHoldRun, "kprof.v1.RunsService/WatchRun", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kWaitRun, "kprof.v1.RunsService/WaitRun", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kCancelRun, "kprof.v1.RunsService/CancelRun", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kDeleteRun, "kprof.v1.RunsService/DeleteRun", Role::kViewer, false, Sharing::kOwn, Role::kAdmin},
    {Rpc::kPinRun, "kprof.v1.RunsService/PinRun", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kUnpinRun, "kprof.v1.RunsService/UnpinRun", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kReadLog, "kprof.v1.RunsService/ReadLog", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kListArtifacts, "kprof.v1.RunsService/ListArtifacts", Role::kViewer, false, Sharing::kShared,
     Role::kOperator},
    {Rpc::kDownloadArtifact, "kprof.v1.RunsService/DownloadArtifact", Role::kViewer, false, Sharing::kShared,
     Role::kOperator},
    {Rpc::kUploadArtifact, "kprof.v1.RunsService/UploadArtifact", Role::kViewer, false, Sharing::kOwn, Role::kAdmin},
    {Rpc::kExportRun, "kprof.v1.RunsService/ExportRun", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kQuery, "kprof.v1.QueriesService/Query", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kQueryTrace, "kprof.v1.QueriesService/Query", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kListAnalyses, "kprof.v1.AnalysisService/ListAnalyses", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kAnalyze, "kprof.v1.AnalysisService/Analyze", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kGetReport, "kprof.v1.AnalysisService/GetReport", Role::kViewer, false, Sharing::kShared, Role::kOperator},
    {Rpc::kOpenSession, "kprof.v1.SessionsService/OpenSession", Role::kViewer, true, Sharing::kNone, Role::kViewer},
    {Rpc::kCloseSession, "kprof.v1.SessionsService/CloseSession", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kGetSession, "kprof.v1.SessionsService/GetSession", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kListSessions, "kprof.v1.SessionsService/ListSessions", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kListRounds, "kprof.v1.SessionsService/ListRounds", Role::kViewer, false, Sharing::kOwn, Role::kOperator},
    {Rpc::kCheckHealth, "grpc.health.v1.Health/Check", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kWatchHealth, "grpc.health.v1.Health/Watch", Role::kViewer, false, Sharing::kNone, Role::kViewer},
    {Rpc::kReflect, "grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Role::kViewer, false, Sharing::kNone,
     Role::kViewer},
    {Rpc::kReflectAlpha, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kViewer, false,
     Sharing::kNone, Role::kViewer},
};

constexpr bool RulesAreInOrder() {
  for (size_t i = 0; i < std::size(kRules); ++i) {
    if (kRules[i].rpc != static_cast<Rpc>(i)) return false;
  }
  return true;
}
static_assert(RulesAreInOrder());

std::string MethodName(const AccessRule& rule) {
  std::string_view method = rule.method;
  return std::string(method.substr(method.find('/') + 1));
}

// Of a caller who has a role.
Status MayNotStart(const Caller& caller, const std::string& act) {
  const std::string who = CallerName(caller);
  if (!caller.certificate.empty()) {
    return Fail(ErrorCode::kNotPermitted, act, who + " is no user of this node, so nothing can run as that user",
                "ask an admin of this node to map it to one ('user' of its [[certificate]] in kprofd.toml)");
  }
  if (caller.uid == 0) {  // it has its role because it is root, and no other (user_roles.h)
    return Fail(ErrorCode::kNotPermitted, act,
                "root may look, but starts nothing unless [access] in kprofd.toml gives it a role",
                "do it as a user who has one, or name root there");
  }
  return Fail(ErrorCode::kNotPermitted, act, who + " is no person on this node, so nothing runs as that user",
              "do it as another user");
}

}  // namespace

std::span<const AccessRule> AccessRules() {
  return kRules;
}

const AccessRule& RuleOf(Rpc rpc) {
  return kRules[static_cast<size_t>(rpc)];
}

Status AuthorizeCall(const Caller& caller, Rpc rpc) {
  const AccessRule& rule = RuleOf(rpc);
  if (caller.role < rule.least) {
    return Fail(ErrorCode::kNotPermitted, MethodName(rule),
                CallerName(caller) + " has the role '" + std::string(RoleName(caller.role)) + "', this is for '" +
                    std::string(RoleName(rule.least)) + "'",
                "ask an admin of this node to do it, or for that role ([access] in kprofd.toml)");
  }
  if (rule.starts && !caller.may_start) return MayNotStart(caller, MethodName(rule));
  return OkStatus();
}

Status AuthorizePriority(const Caller& caller, int64_t priority, const std::string& act) {
  if (priority <= 0 || caller.role >= Role::kOperator) return OkStatus();
  return Fail(ErrorCode::kNotPermitted, act, "a priority above 0 is for operators",
              "leave it out: users take turns, so a long queue of another one does not keep yours waiting");
}

Status AuthorizeObject(const Caller& caller, Rpc rpc, const OwnedObject& object, const std::string& act) {
  const AccessRule& rule = RuleOf(rpc);
  KPROF_CHECK(rule.sharing != Sharing::kNone);
  if (caller.uid == object.uid && caller.uid != kNoUid) return OkStatus();
  if (rule.others && caller.role >= *rule.others) return OkStatus();
  if (object.shared && rule.sharing == Sharing::kShared) return OkStatus();
  const std::string noun = object.noun;
  if (object.shared || caller.sees_all()) {
    return Fail(ErrorCode::kNotPermitted, act, "it belongs to uid " + std::to_string(object.uid),
                rule.others ? "ask its owner, or an " + std::string(RoleName(*rule.others)) + " of this node"
                            : "do it with a " + noun + " of your own");
  }
  return Fail(ErrorCode::kNotFound, act, "there is no such " + noun,
              "list yours with kprofctl " + (noun == "run" ? "runs" : noun + " list"));
}

Status AuthorizeRun(const Caller& caller, Rpc rpc, const RunRow& run, const std::string& act) {
  return AuthorizeObject(caller, rpc, {run.uid, run.shared, "run"}, act);
}

}  // namespace kprof
