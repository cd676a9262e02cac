#include "daemon/rpc/services/node_service.h"

#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/devices/node_devices.h"
#include "daemon/devices/node_diagnoses.h"
#include "daemon/rpc/messages/device_message.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/services/device_view.h"
#include "daemon/rpc/services/list_pages.h"
#include "daemon/rpc/streams/download_sources.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "daemon/rpc/streams/unary_call.h"
#include "daemon/rpc/streams/watch_devices_stream.h"
#include "daemon/runs/audit/audited_calls.h"
#include "daemon/runs/ceiling_book.h"
#include "daemon/runs/object_lookup.h"
#include "daemon/runs/retention/storage_room.h"
#include "kprof/v1/node.pb.h"
#include "storage/base/readable_text.h"
#include "storage/catalog/retention.h"
#include "storage/catalog/run_list.h"

namespace kprof {
namespace {

// RecordCeiling and ForgetCeilings: what a run has reached on its device becomes a number beside the device's peaks.
//
// Any thread. `parts`, `request` and `response` must outlive the call, which ends when `end` is called: once, later,
// from the io loop.
using EndCall = std::function<void(const Status&)>;

// Fails as NodeService says.
void RecordCeiling(const ServiceContext& context, const Caller& caller, const v1::RecordCeilingRequest& request,
                   v1::RecordCeilingResponse& response, EndCall end);

void ForgetCeilings(const ServiceContext& context, const Caller& caller, const v1::ForgetCeilingsRequest& request,
                    v1::ForgetCeilingsResponse& response, EndCall end);

constexpr int64_t kAnswerLimitNs = 2 * kNanosPerSecond;
// Reasons for distrust that are about what was printed, and not about the device.
constexpr std::string_view kOfLogs = "output_dropped";
constexpr const char* kRunAgain = "run the benchmark by itself: kprofctl capture command --device 0 --exclusive -- CMD";

// The one device that the run had, as it is now.
Result<Device> DeviceOf(const ServiceContext& context, const RunRow& run, const std::string& act) {
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    return Fail(ErrorCode::kUsage, act, why, remedy);
  };
  if (run.state != RunState::kDone) {
    return refuse("it is " + std::string(RunStateName(run.state)) + ", and only what ended well has reached anything",
                  kRunAgain);
  }
  if (run.devices.size() != 1) {
    return refuse("it had " + std::to_string(run.devices.size()) + " devices, and a ceiling is one device's",
                  kRunAgain);
  }
  if (run.ended_ns.value_or(0) < context.node.started_unix_ns) {
    return refuse("it ended before this kprofd was started, and its device may have had another number then",
                  kRunAgain);
  }
  const std::shared_ptr<const DeviceList> list = context.devices.now();
  for (const Device& device : list->all()) {
    if (device.id != run.devices.front()) continue;
    if (device.kind == DeviceKind::kCpu) return refuse("it had the host's processors, which have no peaks", kRunAgain);
    return device;
  }
  return Fail(ErrorCode::kNotFound, act, "this node has no device '" + run.devices.front() + "' any more",
              "see kprofctl devices");
}

// Whole: in MIG mode what ran had a part of it.
Status CheckWhole(const Device& device, const DeviceFacts& facts, int64_t now_ns, const std::string& act) {
  if (device.kind != DeviceKind::kNvidia) return OkStatus();
  const bool has_answered = facts.nvidia_sample && facts.nvidia_sample->mono_ns >= now_ns - 2 * kAnswerLimitNs;
  if (facts.health != DeviceHealth::kOk || !has_answered || !facts.nvidia || !facts.nvidia_state) {
    return Fail(ErrorCode::kUsage, act, "the device does not say who it is, and whether it is in MIG mode",
                "see kprofctl devices for why, and record it when it answers");
  }
  if (!facts.nvidia_state->mig.value_or(false)) return OkStatus();
  return Fail(ErrorCode::kUsage, act, "the device is in MIG mode, and what ran there had a part of it",
              "measure it while MIG is off: parts have their share of the device's peaks");
}

// "power_capped, device_shared"; empty: there is nothing against it.
std::string DoubtsOf(const RunRow& run) {
  std::string doubts;
  for (const TrustReason& reason : run.trust) {
    const bool is_said = doubts.find(reason.code) != std::string::npos;
    if (reason.code != kOfLogs && !is_said) doubts += (doubts.empty() ? "" : ", ") + reason.code;
  }
  return doubts;
}

DeviceFacts FactsOf(const ServiceContext& context, const Device& device) {
  if (context.node_devices == nullptr) return {};
  Result<DeviceFacts> facts = context.node_devices->FactsOf(device.id);
  return facts.ok() ? *std::move(facts) : DeviceFacts();
}

AuditEntry EntryOf(const ServiceContext& context, const Caller& caller, const char* action, const Device& device) {
  AuditEntry entry;
  entry.time_ns = context.clock.unix_ns();
  entry.by = ActorOf(caller);
  entry.action = action;
  entry.devices = {device.id};
  return entry;
}

void RecordOfRun(const ServiceContext& context, const Caller& caller, const RunRow& run,
                 const v1::RecordCeilingRequest& request, v1::RecordCeilingResponse& response, const EndCall& end) {
  const std::string act = "record a ceiling of run " + run.id;
  if (context.ceilings == nullptr || context.peaks == nullptr) {
    return end(Fail(ErrorCode::kUsage, act, "this kprofd knows of no peaks"));
  }
  const Result<Device> device = DeviceOf(context, run, act);
  if (!device.ok()) return end(device.status());
  const DeviceFacts facts = FactsOf(context, *device);
  if (const Status whole = CheckWhole(*device, facts, context.clock.mono_ns(), act); !whole.ok()) return end(whole);
  CeilingRow row{.device = CeilingBook::KeyOf(*device, facts),
                 .quantity = request.quantity(),
                 .dtype = request.dtype(),
                 .accumulate = request.accumulate(),
                 .unit = request.unit(),
                 .value = request.value(),
                 .run_id = run.id,
                 .uid = caller.uid,
                 .time_ns = context.clock.unix_ns(),
                 .clocks = run.clocks,
                 .doubts = DoubtsOf(run),
                 .device_name = facts.nvidia ? facts.nvidia->name : device->name};
  const MeasuredCeiling ceiling = MeasuredCeilingOf(row);
  const DevicePeaks known = PeaksOf(*device, facts, *context.peaks, {});
  const Result<DevicePeaks> with = WithMeasuredCeiling(known, ceiling);
  if (!with.ok()) return end(with.status());
  response.set_device_id(device->id);
  FillPeak(with->peaks.back(), *response.mutable_ceiling());
  if (const Peak* peak = known.Find(row.quantity, row.dtype, row.accumulate)) FillPeak(*peak, *response.mutable_peak());
  AuditEntry entry = EntryOf(context, caller, audit::kCeiling, *device);
  entry.run_id = run.id;
  entry.detail = PeakText(with->peaks.back()) + ": " + PeakNumberText(row.value) + " " + row.unit;
  context.ceilings->Record(std::move(row), std::move(entry), end);
}

void RecordCeiling(const ServiceContext& context, const Caller& caller, const v1::RecordCeilingRequest& request,
                   v1::RecordCeilingResponse& response, EndCall end) {
  LookUpRun(context.lookup(), caller, request.run_id(), Rpc::kRecordCeiling, "record a ceiling of run",
            [&context, caller, &request, &response, end = std::move(end)](const Result<RunRow>& run) {
              if (!run.ok()) return end(run.status());
              // Whether the device is whole, and who it is, is to be of now.
              const auto record = [&context, caller, run = *run, &request, &response, end] {
                RecordOfRun(context, caller, run, request, response, end);
              };
              context.node_devices == nullptr ? record() : context.node_devices->Refresh(kAnswerLimitNs, record);
            });
}

void ForgetCeilings(const ServiceContext& context, const Caller& caller, const v1::ForgetCeilingsRequest& request,
                    v1::ForgetCeilingsResponse& response, EndCall end) {
  context.loop.Post([&context, caller, &request, &response, end = std::move(end)] {
    const std::string act = "forget the ceilings of device '" + ReadableText(request.device_id()) + "'";
    const std::shared_ptr<const DeviceList> list = context.devices.now();
    for (const Device& device : list->all()) {
      if (device.id != request.device_id() && (device.uuid.empty() || device.uuid != request.device_id())) continue;
      const std::string key = CeilingBook::KeyOf(device, FactsOf(context, device));
      const size_t known = context.ceilings == nullptr ? 0 : context.ceilings->Of(key).size();
      if (known == 0) return end(Fail(ErrorCode::kNotFound, act, "none are known", "see kprofctl peaks"));
      response.set_forgotten(static_cast<int32_t>(known));
      return context.ceilings->Forget(key, EntryOf(context, caller, audit::kCeilingForgotten, device), end);
    }
    end(Fail(ErrorCode::kNotFound, act, "this node has no such device", "see kprofctl devices"));
  });
}

constexpr int64_t kDevicesAnswerNs = kNanosPerSecond;

// What of an answer is never the same twice, behind what is: on the wire a message is the sum of its parts.
grpc::ByteBuffer WithTime(const grpc::ByteBuffer& answer, int64_t now_unix_ns) {
  v1::GetStatusResponse time;
  time.set_now_unix_ns(now_unix_ns);
  std::vector<grpc::Slice> slices;
  (void)answer.Dump(&slices);
  slices.emplace_back(time.SerializeAsString());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

Status FillStorage(const ServiceContext& context, uint32_t caller_uid, v1::StorageStatus& out) {
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, context.catalog.readers().Borrow());
  ASSIGN_OR_RETURN(CatalogCounts counts, ReadCounts(*reader));
  const std::string& folder = context.catalog.layout().state_folder;
  ASSIGN_OR_RETURN(int64_t free_bytes, context.files.ReadFreeBytes(folder));
  out.set_state_folder(folder);
  out.set_catalog_bytes(context.catalog.ReadSizeBytes());
  out.set_artifact_bytes(counts.artifact_bytes);
  out.set_free_bytes(free_bytes);
  out.set_runs(counts.runs);
  ASSIGN_OR_RETURN(const OwnedSums owned, ReadOwned(*reader, caller_uid));
  const StorageLimits& limits = context.limits.upload_bytes.limits();
  v1::StoredByUser& own = *out.mutable_own();
  own.set_runs(owned.runs);
  own.set_limit_runs(limits.runs_per_uid());
  own.set_bytes(owned.bytes);
  own.set_limit_bytes(limits.bytes_per_uid());
  return OkStatus();
}

// Tells the catalog's trouble, else that of the room on its disk; "ok" without any.
std::string StorageHealthNow(const ServiceContext& context, const std::string& catalog_health) {
  if (catalog_health != "ok") return catalog_health;
  const Status room = CheckRoom(context.catalog, context.files);
  return room.ok() ? catalog_health : ReadableText(room.ToString());
}

constexpr uint32_t kManyGrants = 9000;  // of 10,000

// `heard`: the helper's state, or what stood in the way.
Diagnosis DiagnoseHelper(const Result<HelperState>& heard) {
  const std::string check = "helper";
  if (!heard.ok()) {
    return {check, DiagnosisLevel::kProblem,
            "kprofd-helper does not answer (" + heard.status().why() +
                "): no capture with --detach starts; one whose turn has come waits for it, preparing, for 5 minutes",
            "systemctl start kprofd-helper.socket; journalctl -u kprofd-helper says why it is not there"};
  }
  const std::string grants = "kprofd-helper answers, and knows " + std::to_string(heard->grants) +
                             " detached runs, of which " + std::to_string(heard->running) + " were started";
  if (heard->grants < kManyGrants) return {check, DiagnosisLevel::kOk, grants, {}};
  return {check, DiagnosisLevel::kWarning, grants + ": at 10,000 captures with --detach are refused",
          "wait for some of them to end, or cancel some"};
}

void AddDiagnosis(const Diagnosis& diagnosis, v1::DiagnoseResponse& out) {
  v1::Diagnosis& message = *out.add_diagnoses();
  message.set_check(diagnosis.check);
  message.set_level(static_cast<v1::Diagnosis::Level>(static_cast<int>(diagnosis.level) + 1));
  message.set_message(ReadableText(diagnosis.message));
  message.set_remedy(ReadableText(diagnosis.remedy));
}

// Nine tenths of it, or more.
bool IsNearlyAll(int64_t part, int64_t limit) {
  return limit > 0 && part >= limit - limit / 10;
}

void DiagnoseOwnStorage(const v1::StoredByUser& own, v1::DiagnoseResponse& out) {
  if (!IsNearlyAll(own.runs(), own.limit_runs()) && !IsNearlyAll(own.bytes(), own.limit_bytes())) return;
  std::string stored = "you have " + std::to_string(own.runs()) + " runs and " + std::to_string(own.bytes() >> 20) +
                       " MiB stored, and may have";
  if (own.limit_runs() > 0) stored += " " + std::to_string(own.limit_runs()) + " runs";
  if (own.limit_runs() > 0 && own.limit_bytes() > 0) stored += " and";
  if (own.limit_bytes() > 0) stored += " " + std::to_string(own.limit_bytes() >> 20) + " MiB";
  AddDiagnosis({"own_storage", DiagnosisLevel::kWarning, stored + ": then captures are refused with storage_full",
                "delete runs (kprofctl delete), or have the limits raised ([limits] in docs/configuration.md)"},
               out);
}

Status DiagnoseStorage(const ServiceContext& context, const std::string& health, uint32_t caller_uid,
                       v1::DiagnoseResponse& out) {
  v1::StorageStatus storage;
  RETURN_IF_ERROR(FillStorage(context, caller_uid, storage));
  DiagnoseOwnStorage(storage.own(), out);
  std::string room = std::to_string(storage.free_bytes() >> 20) + " MiB free at " + storage.state_folder();
  if (const Status left = CheckRoom(context.catalog, context.files); !left.ok()) {
    AddDiagnosis({"free_space", DiagnosisLevel::kProblem, left.what() + ": " + left.why(), left.remedy()}, out);
  } else {
    AddDiagnosis({"free_space", DiagnosisLevel::kOk, room, {}}, out);
  }
  bool healthy = health == "ok" || health == "checking";
  AddDiagnosis({"catalog", healthy ? DiagnosisLevel::kOk : DiagnosisLevel::kProblem, "the catalog: " + health,
                healthy ? "" : "stop kprofd and restore a backup (docs/cli.md)"},
               out);
  const std::string lost = context.catalog.layout().LostFolder();
  Result<std::vector<FolderEntry>> strays = context.files.List(lost);
  if (strays.ok() && !strays->empty()) {
    AddDiagnosis({"lost_files", DiagnosisLevel::kWarning,
                  std::to_string(strays->size()) + " files or folders that belong to no run lie in " + lost,
                  "look whether you miss them, then remove them: kprofd never does"},
                 out);
  }
  return OkStatus();
}

}  // namespace

void NodeServiceImpl::FillStatus(v1::GetStatusResponse& out) const {
  const NodeInfo& node = context_.node;
  out.set_version(node.version);
  out.set_started_unix_ns(node.started_unix_ns);
  out.set_pid(getpid());
  out.set_mode(node.mode);
  out.set_node_name(node.name);
  out.set_caller_uid(caller().uid);
  out.set_socket_path(node.socket_path);
  const Runs& runs = context_.runs;
  v1::QueueStatus& queue = *out.mutable_queue();
  queue.set_queued(static_cast<int32_t>(runs.queued()));
  queue.set_running(static_cast<int32_t>(runs.running()));
  queue.set_limit(static_cast<int32_t>(runs.limits().all));
  queue.set_limit_per_uid(static_cast<int32_t>(runs.limits().per_uid));
  queue.set_sessions_queued(static_cast<int32_t>(runs.sessions().queued()));
  queue.set_sessions_open(static_cast<int32_t>(runs.sessions().open()));
  queue.set_sessions_attached(static_cast<int32_t>(runs.sessions().CountAttached()));
  DeviceView(context_, caller()).Fill(DeviceView::Detail::kLease, *out.mutable_devices());
}

grpc::ServerUnaryReactor* NodeServiceImpl::GetStatus(grpc::CallbackServerContext* /*context*/,
                                                     const grpc::ByteBuffer* /*request*/, grpc::ByteBuffer* response) {
  auto* call = new UnaryCall(admission_, Rpc::kGetStatus, SizeOf(response));
  if (call->refused()) return call;
  const uint64_t stamp = context_.catalog.changes().count();
  // What others do with the disk is no change of ours: that part is a second old at most.
  const std::string key = "status " + std::to_string(caller().uid) + (caller().sees_all() ? " all " : " ") +
                          std::to_string(context_.clock.mono_ns() / (1000 * kNanosPerMilli));
  if (std::optional<grpc::ByteBuffer> known = context_.answers.Find(key, stamp)) {
    *response = WithTime(*known, context_.clock.unix_ns());
    call->End(OkStatus());
    return call;
  }
  auto status = std::make_shared<v1::GetStatusResponse>();  // shared: std::function copies
  context_.loop.Post([this, call, response, status, stamp, key] {
    FillStatus(*status);
    call->EndOnWorker(context_.workers, [this, response, status, stamp, key, health = context_.health.text] {
      Status filled = FillStorage(context_, caller().uid, *status->mutable_storage());
      status->mutable_storage()->set_health(filled.ok() ? StorageHealthNow(context_, health)
                                                        : ReadableText(filled.ToString()));
      const grpc::ByteBuffer answer = BytesOf(*status);
      context_.answers.Put(key, stamp, answer);
      *response = WithTime(answer, context_.clock.unix_ns());
      return OkStatus();
    });
  });
  return call;
}

grpc::ServerUnaryReactor* NodeServiceImpl::ListDevices(grpc::CallbackServerContext* /*context*/,
                                                       const v1::ListDevicesRequest* /*request*/,
                                                       v1::ListDevicesResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListDevices, SizeOf(response));
  if (call->refused()) return call;
  auto answer = [this, call, response] {
    DeviceView(context_, caller()).Fill(DeviceView::Detail::kAll, *response->mutable_devices());
    call->End(OkStatus());
  };
  context_.loop.Post([this, answer] {
    context_.node_devices == nullptr ? answer() : context_.node_devices->Refresh(kDevicesAnswerNs, answer);
  });
  return call;
}

grpc::ServerWriteReactor<v1::WatchDevicesResponse>* NodeServiceImpl::WatchDevices(
    grpc::CallbackServerContext* /*context*/, const v1::WatchDevicesRequest* request) {
  return StartWatchDevices(CallRecord(admission_, Rpc::kWatchDevices), context_, *request);
}

grpc::ServerUnaryReactor* NodeServiceImpl::RecordCeiling(grpc::CallbackServerContext* /*context*/,
                                                         const v1::RecordCeilingRequest* request,
                                                         v1::RecordCeilingResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kRecordCeiling);
  if (call->refused()) return call;
  kprof::RecordCeiling(context_, caller(), *request, *response, [call](const Status& status) { call->End(status); });
  return call;
}

grpc::ServerUnaryReactor* NodeServiceImpl::ForgetCeilings(grpc::CallbackServerContext* /*context*/,
                                                          const v1::ForgetCeilingsRequest* request,
                                                          v1::ForgetCeilingsResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kForgetCeilings);
  if (call->refused()) return call;
  kprof::ForgetCeilings(context_, caller(), *request, *response, [call](const Status& status) { call->End(status); });
  return call;
}

grpc::ServerUnaryReactor* NodeServiceImpl::Diagnose(grpc::CallbackServerContext* /*context*/,
                                                    const v1::DiagnoseRequest* /*request*/,
                                                    v1::DiagnoseResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kDiagnose);
  if (call->refused()) return call;
  auto diagnose_the_rest = [this, call, response] {
    call->EndOnWorker(context_.bulk, [this, response, health = context_.health.text] {
      const std::shared_ptr<const DeviceList> list = context_.devices.now();
      const bool has_neuron = std::any_of(list->all().begin(), list->all().end(),
                                          [](const Device& device) { return device.kind == DeviceKind::kNeuron; });
      for (const Diagnosis& diagnosis : DiagnoseNode(context_.node.tool_path, context_.node.own, "", has_neuron)) {
        AddDiagnosis(diagnosis, *response);
      }
      return DiagnoseStorage(context_, health, caller().uid, *response);
    });
  };
  context_.loop.Post([this, response, diagnose_the_rest] {
    for (const Diagnosis& diagnosis : DiagnoseDevices(context_)) AddDiagnosis(diagnosis, *response);
    if (context_.helper_watch == nullptr) return diagnose_the_rest();
    context_.helper_watch->Find([response, diagnose_the_rest](const Result<HelperState>& heard) {
      AddDiagnosis(DiagnoseHelper(heard), *response);
      diagnose_the_rest();
    });
  });
  return call;
}

grpc::ServerWriteReactor<v1::BackUpCatalogResponse>* NodeServiceImpl::BackUpCatalog(
    grpc::CallbackServerContext* context, const v1::BackUpCatalogRequest* /*request*/) {
  CallRecord record(admission_, Rpc::kBackUpCatalog);
  if (!record.admitted().ok()) return new RefusedStream<v1::BackUpCatalogResponse>(std::move(record));
  // A backup holds the one place there is, and its copy's disk: one that nobody reads is given up.
  return new PullStream<v1::BackUpCatalogResponse>(std::move(record), context_.loop, context_.bulk,
                                                   MakeBackUpSource(context_, caller()), context);
}

grpc::ServerUnaryReactor* NodeServiceImpl::ListAudit(grpc::CallbackServerContext* /*context*/,
                                                     const v1::ListAuditRequest* request,
                                                     v1::ListAuditResponse* response) {
  auto* call = new UnaryCall(admission_, Rpc::kListAudit, SizeOf(response));
  if (call->refused()) return call;
  call->EndOnWorker(context_.workers,
                    [this, request, response] { return ReadAuditPage(context_.catalog, *request, *response); });
  return call;
}

}  // namespace kprof
