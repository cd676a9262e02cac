// Who may do what to what: the one place where that is decided, as a table with a row for each RPC. Functions of their
// arguments. What lists and SQL show of others follows from Caller::sees_all.
//
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/access/caller.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// The services that each caller's server has, by their names on the wire: for whoever tells of them (health_service.h,
// reflection_service.h). Which calls they have, and who may make them, is access_rules.h.
inline constexpr const char* kServedServices[] = {
    "kprof.v1.NodeService",
    "kprof.v1.RunsService",
    "kprof.v1.QueriesService",
    "kprof.v1.AnalysisService",
    "kprof.v1.SessionsService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1alpha.ServerReflection",
};

// What a caller may ask for. Holding a run is asked for with WatchRun, but decides how long the run lives; a run for a
// session is asked for with SubmitRun, but is about that session; the trace of a run is asked about with Query.
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
  kOpenSession,
  kCloseSession,
  kGetSession,
  kListSessions,
  kListRounds,
  kCheckHealth,
  kWatchHealth,
  kReflect,
};

// Of which objects a call may be about, beside the caller's own.
enum class Sharing {
  kNone,    // it is about no object, or about nobody's in particular
  kShared,  // those that their owners share
  kOwn,     // no others
};

struct AccessRule {
  Rpc rpc;
  const char* method;  // as on the wire: "kprof.v1.RunsService/GetRun"
  Role least;          // who may call it at all
  bool starts;         // commands, so the caller must be somebody on this node
  Sharing sharing;
  std::optional<Role> others;  // who may call it about anybody's objects; nothing: nobody
};

// A row for each Rpc, in their order.
std::span<const AccessRule> AccessRules();
const AccessRule& RuleOf(Rpc rpc);

// May the caller call it at all? kNotPermitted names the role that may.
Status AuthorizeCall(const Caller& caller, Rpc rpc);

// Runs and sessions that go before those of others are for operators.
Status AuthorizePriority(const Caller& caller, int64_t priority, const std::string& act);

// May the caller do this to that object? One that may not even be seen is kNotFound: its existence is nobody's
// business. One that may be seen, but not handled so, is kNotPermitted. `act` is what the message says: "cancel run
// 01j...".
struct OwnedObject {
  uint32_t uid = kNoUid;
  bool shared = false;
  const char* noun = "run";
};
Status AuthorizeObject(const Caller& caller, Rpc rpc, const OwnedObject& object, const std::string& act);
Status AuthorizeRun(const Caller& caller, Rpc rpc, const RunRow& run, const std::string& act);

}  // namespace kprof
