#include "daemon/runs/command/run_submission.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "daemon/capture/tools.h"
#include "daemon/launch/launch_request.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/launch_spool.h"
#include "daemon/runs/command/stored_environment.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"

namespace kprof {
namespace {

// The devices of a session that a selector names: all of them, unless it says otherwise.
Result<std::vector<std::string>> SelectWithin(const SessionRow& session, const DeviceList& devices,
                                              const std::string& selector) {
  if (selector.empty() || selector == "all") return session.devices;
  ASSIGN_OR_RETURN(std::vector<std::string> selected, devices.Select(selector, {}));
  if (selected.empty()) {
    return Fail(ErrorCode::kUsage, "submit run", "a run without a device needs no session",
                "leave out --session, or --device none");
  }
  for (const std::string& device : selected) {
    if (std::find(session.devices.begin(), session.devices.end(), device) != session.devices.end()) continue;
    return Fail(ErrorCode::kUsage, "submit run", "device " + device + " is not among those of session " + session.id,
                "see kprofctl session show " + session.id);
  }
  return selected;
}

// Those of the kind that the tool needs; none where the node has none, or nothing runs on a device.
Result<std::vector<std::string>> DevicesForTool(const RunRequest& request, const Tool& tool,
                                                const DeviceList& devices) {
  std::vector<std::string> chosen;
  ASSIGN_OR_RETURN(const ToolOptions options, ReadToolOptions(tool, request.options));
  if (tool.uses_device != nullptr && !tool.uses_device(options)) return chosen;
  ASSIGN_OR_RETURN(const std::vector<std::string> usual, devices.Select("", request.environment));
  std::string first;
  for (const Device& device : devices.all()) {
    if (DeviceKindName(device.kind) != tool.needs.device_kind) continue;
    if (first.empty()) first = device.id;
    if (std::find(usual.begin(), usual.end(), device.id) != usual.end()) chosen.push_back(device.id);
  }
  if (chosen.empty() && !first.empty()) chosen.push_back(first);
  return chosen;
}

// A Neuron device has no clock that anybody could lock, so a run on such devices alone has none.
std::string ClocksOf(std::string_view policy, const std::vector<std::string>& chosen, const DeviceList& devices) {
  const auto has_no_clock = [&](const std::string& id) {
    return std::any_of(devices.all().begin(), devices.all().end(),
                       [&](const Device& device) { return device.id == id && device.kind == DeviceKind::kNeuron; });
  };
  const bool has_none = !chosen.empty() && std::all_of(chosen.begin(), chosen.end(), has_no_clock);
  return has_none ? "none" : std::string(policy);
}

}  // namespace

Result<RunPlace> PlaceByItself(const RunRequest& request, const Tool& tool, const DeviceList& devices) {
  RunPlace place;
  place.clocks = request.clocks.empty() ? tool.needs.clocks : request.clocks;
  if (!request.device.empty() || tool.needs.device_kind.empty()) {
    ASSIGN_OR_RETURN(place.devices, devices.Select(request.device, request.environment));
    place.clocks = ClocksOf(place.clocks, place.devices, devices);
    // Nobody locks the clocks of processors; who asks for it is told so.
    if (request.clocks.empty() && place.devices == std::vector<std::string>{"cpu"}) place.clocks = "none";
    return place;
  }
  ASSIGN_OR_RETURN(place.devices, DevicesForTool(request, tool, devices));
  place.clocks = ClocksOf(place.clocks, place.devices, devices);
  if (place.devices.empty() && request.clocks.empty()) place.clocks = "none";
  return place;
}

Result<RunPlace> PlaceInSession(const RunRequest& request, const SessionRow* session, const DeviceList& devices) {
  if (session == nullptr) {
    return Fail(ErrorCode::kLeaseLost, "submit run to session " + request.session_id, "the session has ended",
                "open another with kprofctl session open");
  }
  KPROF_CHECK(session->uid == request.uid);
  if (!request.clocks.empty() && request.clocks != session->clocks) {
    return Fail(ErrorCode::kUsage, "submit run",
                "clocks '" + request.clocks + "' are asked for, and session " + session->id + " has '" +
                    session->clocks + "' for all of its runs",
                "leave out --clocks, or --session");
  }
  RunPlace place;
  ASSIGN_OR_RETURN(place.devices, SelectWithin(*session, devices, request.device));
  place.clocks = ClocksOf(session->clocks, place.devices, devices);
  place.trust = session->trust;
  return place;
}

namespace {

RunRow RowOf(const RunRequest& request, RunPlace place, int64_t now_unix_ns) {
  RunRow row;
  row.id = std::move(place.id);
  row.uid = request.uid;
  row.tool = request.tool;
  row.argv = request.argv;
  if (const Tool* tool = FindTool(request.tool); tool != nullptr && row.argv.empty()) {
    row.argv = WordsOf(*tool, request.options);
  }
  row.cwd = request.cwd;
  row.environment = StoredEnvironment(request.environment);
  row.labels = request.labels;
  row.devices = std::move(place.devices);
  row.trust = std::move(place.trust);
  row.shared = request.shared;
  row.attached = request.attached;
  row.idempotency_key = request.idempotency_key;
  row.timeout_ms = request.timeout_ms;
  row.queue_timeout_ms = request.queue_timeout_ms;
  row.session_id = request.session_id;
  row.priority = request.priority;
  row.clocks = std::move(place.clocks);
  row.cool_down_ms = request.cool_down_ms;
  row.exclusive = request.exclusive;
  row.queued_ns = now_unix_ns;
  return row;
}

// A client on another node can follow its run, and start nothing here.
RunStarter StarterOf(const RunContext& context, const RunRequest& request) {
  if (context.grants == nullptr) return RunStarter::kDaemon;
  return request.attached && !request.is_remote ? RunStarter::kClient : RunStarter::kHelper;
}

// Of clients on other nodes the helper has a list, of local ones it sees where they are. Foreground captures stay
// there.
Status CheckPlace(RunStarter starter, const RunRequest& request) {
  if (starter != RunStarter::kHelper || request.is_remote) return OkStatus();
  return CheckIsHere(request.place, "start a run that nobody follows");
}

// The run that the same caller submitted with the same key, if any.
std::optional<RunRow> FindTwin(Catalog& catalog, const RunRow& row) {
  if (row.idempotency_key.empty()) return std::nullopt;
  Result<ReaderPool::Lease> reader = catalog.readers().Borrow();
  if (!reader.ok()) return std::nullopt;
  Result<std::optional<RunRow>> twin = ReadRunByKey(**reader, row.uid, row.idempotency_key);
  return twin.ok() ? *twin : std::nullopt;
}

LaunchRequest LaunchRequestOf(RunRequest request) {
  LaunchRequest launch;
  launch.tool = std::move(request.tool);
  launch.options = std::move(request.options);
  launch.collect = std::move(request.collect);
  launch.prepare = std::move(request.prepare);
  launch.check = std::move(request.check);
  launch.argv = std::move(request.argv);
  launch.environment = std::move(request.environment);
  launch.cwd = std::move(request.cwd);
  launch.umask = request.umask;
  launch.limits = std::move(request.limits);
  return launch;
}

// Knows the parts and not who asked: what it posts when that one is gone never runs.
class Submission : public std::enable_shared_from_this<Submission> {
 public:
  Submission(const RunContext& context, RunRequest request, uint32_t account,
             std::function<void(Result<SubmittedRun>)> done)
      : context_(context),
        asker_{request.uid, account, request.is_remote, request.groups},
        request_(std::move(request)),
        done_(std::move(done)) {}

  void Begin(RunPlace place) {
    OnWorker([self = shared_from_this(), place = std::move(place)] {
      self->row_ = RowOf(self->request_, place, self->context_.clock.unix_ns());
      self->row_.starter = StarterOf(self->context_, self->request_);
      self->Store();
    });
  }

 private:
  void OnWorker(std::function<void()> work) {
    Status submitted = context_.workers.Submit(std::move(work));
    if (!submitted.ok()) Refuse(submitted);
  }

  void Store() {
    if (std::optional<RunRow> twin = FindTwin(context_.catalog, row_))
      return Answer(SubmittedRun{*std::move(twin), false});
    const Status place = CheckPlace(row_.starter, request_);
    if (!place.ok()) return Refuse(place);
    audit_ = AuditEntryOf({row_.uid, request_.caller}, audit::kSubmit, row_, row_.queued_ns);
    audit_.detail = DetailWithCertificate(audit_.detail, request_.certificate_id);
    const LaunchRequest launch = LaunchRequestOf(std::move(request_));
    Status spooled = WriteSpool(context_.files, context_.catalog.layout(), row_.id, launch);
    if (!spooled.ok()) return Refuse(spooled);
    row_.starter == RunStarter::kHelper ? AskForGrant(launch) : StoreRow();
  }

  // Its caller is there now, and need not be when its turn comes.
  void AskForGrant(const LaunchRequest& launch) {
    context_.loop.Post([self = shared_from_this(), digest = LaunchDigest(launch)] {
      self->context_.grants->Register(self->row_.id, self->asker_, digest, [self](const Status& granted) {
        self->OnWorker([self, granted] { granted.ok() ? self->StoreRow() : self->TakeBack(granted); });
      });
    });
  }

  void StoreRow() {
    context_.catalog.writer().Submit([self = shared_from_this()](Db& db) { return self->Insert(db); },
                                     [self = shared_from_this()](const Status& inserted) {
                                       if (inserted.ok()) return self->Answer(SubmittedRun{self->row_});
                                       // The writer has others waiting.
                                       self->OnWorker([self, inserted] { self->TakeBack(inserted); });
                                     });
  }

  // On the writer's thread, maybe twice.
  Status Insert(Db& db) {
    if (context_.storage != nullptr) RETURN_IF_ERROR(context_.storage->CheckRun(db, row_.uid, "store it"));
    if (!row_.session_id.empty()) {
      ASSIGN_OR_RETURN(row_.round, TakeRound(db, row_.session_id));
    }
    RETURN_IF_ERROR(InsertRun(db, row_));
    return AppendAudit(db, audit_);
  }

  void TakeBack(const Status& why) {
    (void)RemoveSpool(context_.files, context_.catalog.layout(), row_.id);
    if (row_.starter == RunStarter::kHelper) {
      context_.loop.Post([grants = context_.grants, id = row_.id] { grants->Forget(id); });
    }
    // Two requests with one key can pass each other; the later one finds the first.
    if (std::optional<RunRow> twin = FindTwin(context_.catalog, row_))
      return Answer(SubmittedRun{*std::move(twin), false});
    Refuse(why);
  }

  void Refuse(const Status& why) { Answer(why.In("submit run")); }

  void Answer(Result<SubmittedRun> stored) {
    context_.loop.Post([done = std::move(done_), stored = std::move(stored)] { done(stored); });
  }

  const RunContext context_;
  const Asker asker_;
  RunRequest request_;
  RunRow row_;
  AuditEntry audit_;
  std::function<void(Result<SubmittedRun>)> done_;
};

}  // namespace

void StoreSubmittedRun(const RunContext& context, RunRequest request, uint32_t account, RunPlace place,
                       std::function<void(Result<SubmittedRun>)> done) {
  KPROF_ON_IO_LOOP(context.loop);
  std::make_shared<Submission>(context, std::move(request), account, std::move(done))->Begin(std::move(place));
}

}  // namespace kprof
