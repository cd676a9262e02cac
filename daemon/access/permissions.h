// Decides who may do what to what: the only place that does, as a table with a row for each RPC. The rows of others
// that lists and SQL show follow from Caller::sees_all.
//
// Functions of their arguments; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/access/caller.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// The services that each caller's server has, by their names on the wire. health_service.h and reflection_service.h
// tell clients of them.
inline constexpr const char* kServedServices[] = {
    "kprof.v1.NodeService",
    "kprof.v1.RunsService",
    "kprof.v1.QueriesService",
    "kprof.v1.AnalysisService",
    "kprof.v1.SessionsService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
};

// The acts that a caller may ask for. Some calls have two acts: WatchRun also asks to hold a run, which decides how
// long it lives; SubmitRun with a session is about that session; Query with runs is about their traces.
enum class Rpc {
  kGetStatus,
  kListDevices,
  kWatchDevices,
  kRecordCeiling,
  kForgetCeilings,
  kDiagnose,
  kBackUpCatalog,
  kListAudit,
  kListTools,
  kSubmitRun,
  kSubmitToSession,
  kUploadSource,
  kSubmitImport,
  kGetRun,
  kListRuns,
  kWatchRun,
  kHoldRun,
  kWaitRun,
  kCancelRun,
  kDeleteRun,
  kPinRun,
  kUnpinRun,
  kReadLog,
  kListArtifacts,
  kDownloadArtifact,
  kUploadArtifact,
  kExportRun,
  kQuery,
  kQueryTrace,
  kListAnalyses,
  kAnalyze,
  kGetReport,
  kOpenSession,
  kCloseSession,
  kGetSession,
  kListSessions,
  kListRounds,
  kCheckHealth,
  kWatchHealth,
  kReflect,
  kReflectAlpha,
};

// The objects that a call may be about, beside the caller's own.
enum class Sharing {
  kNone,    // no object, or no owner's in particular
  kShared,  // those that their owners share
  kOwn,     // no others
};

struct AccessRule {
  Rpc rpc;
  const char* method;  // as on the wire: "kprof.v1.RunsService/GetRun"
  Role least;          // who may call it at all
  bool starts;         // it starts something, so the caller must be a user of this node
  Sharing sharing;
  std::optional<Role> others;  // who may call it about anybody's objects; nothing: nobody
};

// A row for each Rpc, in their order.
std::span<const AccessRule> AccessRules();
const AccessRule& RuleOf(Rpc rpc);

// Fails with kNotPermitted if the caller may not call it at all; the message names the role that may.
Status AuthorizeCall(const Caller& caller, Rpc rpc);

// A priority above 0, which goes before other users' runs and sessions, is for operators. `act` begins the message.
Status AuthorizePriority(const Caller& caller, int64_t priority, const std::string& act);

// An object as the rules see it.
struct OwnedObject {
  uint32_t uid = kNoUid;
  bool shared = false;
  const char* noun = "run";
};
// Fails with kNotFound if the caller may not even see the object: its existence is then nobody's business. Fails with
// kNotPermitted if the caller may see it, but not do this to it. `act` begins the message: "cancel run 01j...".
Status AuthorizeObject(const Caller& caller, Rpc rpc, const OwnedObject& object, const std::string& act);
Status AuthorizeRun(const Caller& caller, Rpc rpc, const RunRow& run, const std::string& act);

}  // namespace kprof
