#include "daemon/runs/imports/import_submission.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include "daemon/ingest/source/source_formats.h"
#include "daemon/ingest/source/source_hash.h"
#include "daemon/ingest/trace_look.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/imports/import_groups.h"
#include "daemon/runs/imports/part_ranks.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"

namespace kprof {
namespace {

constexpr const char* kSubmitImportAct = "submit import";
constexpr int64_t kLookAtAllNs = 60 * kNanosPerSecond;
constexpr int64_t kComparedEndBytes = 64 << 10;

// A hash of the first and last bytes of a source: files of one size that differ do so there, mostly. Empty: it cannot
// be read.
std::string HashEnds(int fd, int64_t size_bytes) {
  std::string bytes(static_cast<size_t>(std::min(size_bytes, 2 * kComparedEndBytes)), '\0');
  const size_t first = bytes.size() / 2;
  const auto read = [&](size_t at, size_t size, int64_t from_bytes) {
    return ::pread(fd, bytes.data() + at, size, from_bytes) == static_cast<ssize_t>(size);
  };
  const auto rest = static_cast<int64_t>(bytes.size() - first);
  if (!read(0, first, 0) || !read(first, bytes.size() - first, size_bytes - rest)) return {};
  SourceHash hash;
  if (!bytes.empty()) hash.AddBlock(0, bytes);
  return hash.Finish(static_cast<int64_t>(bytes.size()));
}

RunRow RowOf(const ImportRequest& request, const std::vector<ImportRequest::Source>& sources, std::string id,
             int64_t now_unix_ns) {
  RunRow row;
  row.id = std::move(id);
  row.uid = request.uid;
  row.tool = kImportTool;
  row.argv = CommandOf(request, sources);
  row.labels = request.labels;
  row.shared = request.shared;
  row.attached = request.attached;
  row.queued_ns = now_unix_ns;
  return row;
}

// Each run of one request has a key of its own. The first has the request's.
std::string KeyOfRun(const std::string& key, size_t number) {
  return number == 0 || key.empty() ? key : key + '\n' + std::to_string(number);
}

// Knows the parts and not who asked: what it posts when that one is gone never runs.
class ImportSubmission : public std::enable_shared_from_this<ImportSubmission> {
 public:
  ImportSubmission(const RunContext& context, ImportRequest request, uint32_t account, std::string id,
                   OneMoreRun one_more, std::stop_token stop,
                   std::function<void(Result<std::vector<SubmittedImport>>)> done)
      : context_(context),
        request_(std::move(request)),
        account_(account),
        id_(std::move(id)),
        one_more_(std::move(one_more)),
        queued_ns_(context_.clock.unix_ns()),
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  // The runs that the same caller submitted with the same key, if any: its tickets are claimed then.
  void Begin() {
    if (request_.idempotency_key.empty()) return ClaimSources();
    OnPool(context_.workers, [](ImportSubmission& self) {
      if (self.AnswerTwin()) return;
      self.OnLoop([](ImportSubmission& self) { self.ClaimSources(); });
    });
  }

 private:
  // One run of the import. `plan` is none for one that is there already.
  struct PlannedRun {
    SubmittedImport stored;
    std::shared_ptr<ImportPlan> plan;
  };

  using Step = void (*)(ImportSubmission&);
  void OnPool(WorkerPool& pool, Step step) {
    const Status submitted = pool.Submit([self = shared_from_this(), step] { step(*self); });
    if (!submitted.ok()) Refuse(submitted);
  }
  void OnLoop(Step step) {
    context_.loop.Post([self = shared_from_this(), step] { step(*self); });
  }

  bool AnswerTwin() {
    Result<ReaderPool::Lease> reader = context_.catalog.readers().Borrow(stop_);
    if (!reader.ok()) return false;
    std::vector<SubmittedImport> twins;
    while (true) {
      const std::string key = KeyOfRun(request_.idempotency_key, twins.size());
      Result<std::optional<RunRow>> twin = ReadRunByKey(**reader, request_.uid, key);
      if (!twin.ok()) return false;
      if (!twin->has_value()) break;
      twins.push_back({**std::move(twin), nullptr, false});
    }
    if (twins.empty()) return false;
    Answer(std::move(twins));
    return true;
  }

  void ClaimSources() {
    for (const ImportRequest::Source& source : request_.sources) {
      Result<HeldSource> held = context_.imports->sources.Claim(request_.uid, source.ticket);
      const std::string name = LastStep(source.name);
      if (!held.ok()) return Refuse(held.status().In("claim '" + name + "'"));
      sources_.push_back({*std::move(held), name, source.rank, source.name, source.may_be_none});
    }
    if (sources_.size() > 1 && request_.grouping == ImportGrouping::kByJob && context_.imports->look) {
      return LookAtAll();
    }
    const bool are_separate = request_.grouping == ImportGrouping::kSeparate;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (i == 0 || are_separate) groups_.emplace_back();
      groups_.back().members.push_back({i, std::nullopt});
    }
    PlanRuns();
  }

  // Io loop. Several at a time, and in turns with the looks of other accounts.
  void LookAtAll() {
    looks_.resize(sources_.size(), SourceLook{});
    looks_left_ = sources_.size();
    look_until_ns_ = context_.clock.mono_ns() + kLookAtAllNs;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Status submitted =
          context_.imports->looking->Submit(account_, [self = shared_from_this(), i] { self->LookAt(i); });
      // Where there are too many looks already.
      if (!submitted.ok()) context_.loop.Post([self = shared_from_this(), i] { self->OnLooked(i, SourceLook{}); });
    }
  }

  void LookAt(size_t i) {
    Result<SourceLook> look = SourceLook{};
    if (stop_.stop_requested()) {
      look = Fail(ErrorCode::kCancelled, "look at it", "its client is gone");
    } else if (!looked_enough_ && context_.clock.mono_ns() < look_until_ns_) {
      const ImportPlan::Source& source = sources_[i];
      look = context_.imports->look({.fd = source.held.fd.get(),
                                     .name = source.name,
                                     .format = request_.format,
                                     .rank = source.rank,
                                     .may_be_none = source.may_be_none},
                                    context_.imports->limits, stop_);
    }
    if (!look.ok()) looked_enough_ = true;
    context_.loop.Post([self = shared_from_this(), i, look = std::move(look)] { self->OnLooked(i, look); });
  }

  // Io loop.
  void OnLooked(size_t i, const Result<SourceLook>& look) {
    looks_[i] = look;
    if (--looks_left_ > 0) return;
    const auto is_cancelled = [](const auto& of) { return of.status().code() == ErrorCode::kCancelled; };
    const auto cancelled = std::find_if(looks_.begin(), looks_.end(), is_cancelled);
    if (cancelled != looks_.end()) return Refuse(cancelled->status());
    const Status submitted =
        context_.imports->looking->Submit(account_, [self = shared_from_this()] { self->GroupAll(); });
    if (!submitted.ok()) Refuse(submitted);
  }

  void GroupAll() {
    std::vector<GroupedSource> looked;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const ImportPlan::Source& source = sources_[i];
      Result<SourceLook>& look = looks_[i];
      // It fails the whole import: one run says so, as it does for what is broken further on.
      if (!look.ok() || (look->no_trace && !source.may_be_none)) break;
      looked.push_back({.name = source.told_name,
                        .rank = source.rank,
                        .no_trace = look->no_trace.has_value(),
                        .facts = std::move(look->facts),
                        .copy_of = std::nullopt});
    }
    if (looked.size() < sources_.size()) {
      groups_.emplace_back();
      for (size_t i = 0; i < sources_.size(); ++i) groups_.back().members.push_back({i, std::nullopt});
    } else {
      const Status compared = FindCopies(looked);
      if (!compared.ok()) return Refuse(compared);
      groups_ = GroupSources(looked);
    }
    OnLoop([](ImportSubmission& self) { self.PlanRuns(); });
  }

  // Two ranks write no equal bytes: of two such sources one is a copy of the other, unless each is said to be another
  // rank. Only what is as large as another one, and begins and ends as it does, is hashed, and as long as there is
  // time: a run that has both refuses them, too.
  Status FindCopies(std::vector<GroupedSource>& looked) const {
    std::map<int64_t, std::vector<size_t>> by_size;
    for (size_t i = 0; i < looked.size(); ++i) {
      if (!looked[i].no_trace) by_size[sources_[i].held.size_bytes].push_back(i);
    }
    std::map<std::pair<int64_t, std::string>, std::vector<size_t>> by_ends;
    for (const auto& [size_bytes, alike] : by_size) {
      if (alike.size() < 2) continue;
      for (const size_t i : alike) by_ends[{size_bytes, HashEnds(sources_[i].held.fd.get(), size_bytes)}].push_back(i);
    }
    std::vector<std::string_view> names;
    names.reserve(looked.size());
    for (const GroupedSource& source : looked) names.push_back(source.name);
    const std::vector<std::optional<int64_t>> in_names = RanksInNames(names);
    const auto rank_of = [&](size_t i) {
      if (looked[i].rank) return looked[i].rank;
      return looked[i].facts.rank ? looked[i].facts.rank : in_names[i];
    };
    for (const auto& [size_and_ends, alike] : by_ends) {
      if (alike.size() < 2 || size_and_ends.second.empty()) continue;
      std::map<std::string, std::vector<size_t>> by_hash;
      for (const size_t i : alike) {
        if (context_.clock.mono_ns() >= look_until_ns_) return OkStatus();
        ASSIGN_OR_RETURN(const std::string hash, HashSource(sources_[i].held.fd.get(), stop_));
        if (hash.empty()) continue;  // it becomes shorter meanwhile
        for (const size_t earlier : by_hash[hash]) {
          const bool are_ranks = rank_of(i) && rank_of(earlier) && rank_of(i) != rank_of(earlier);
          if (!are_ranks && !looked[i].copy_of) looked[i].copy_of = earlier;
        }
        if (!looked[i].copy_of) by_hash[hash].push_back(i);
      }
    }
    return OkStatus();
  }

  void PlanRuns() {
    for (const SourceGroup& group : groups_) {
      Result<std::string> id = runs_.empty() ? Result<std::string>(id_) : one_more_();
      if (!id.ok()) return Refuse(id.status());
      PlannedRun& run = runs_.emplace_back();
      run.plan = std::make_shared<ImportPlan>();
      run.plan->format = request_.format;
      run.plan->keep_sources = request_.keep_sources;
      std::vector<ImportRequest::Source> sources;
      for (const SourceGroup::Member& member : group.members) {
        sources.push_back(request_.sources[member.source]);
        run.plan->sources.push_back(std::move(sources_[member.source]));
        run.plan->sources.back().joined_as = member.joined_as;
      }
      run.stored.row = RowOf(request_, sources, *std::move(id), queued_ns_);
    }
    if (request_.again) return OnPool(context_.workers, [](ImportSubmission& self) { self.Store(); });
    OnPool(context_.workers, [](ImportSubmission& self) { self.LookForSizes(); });
  }

  // Hashing a source takes as long as reading it; only what has the size of an earlier one may be the same.
  void LookForSizes() {
    const Result<bool> known = [&]() -> Result<bool> {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop_));
      for (const PlannedRun& run : runs_) {
        std::vector<int64_t> sizes_bytes;
        for (const ImportPlan::Source& source : run.plan->sources) sizes_bytes.push_back(source.held.size_bytes);
        ASSIGN_OR_RETURN(const bool has_sizes, HasSourcesOfSizes(*reader, request_.uid, sizes_bytes));
        if (has_sizes) return true;
      }
      return false;
    }();
    if (!known.ok()) return Refuse(known.status());
    if (!*known) return Store();
    OnPool(context_.imports->hashing, [](ImportSubmission& self) { self.LookForSame(); });
  }

  void LookForSame() {
    for (PlannedRun& run : runs_) {
      Result<std::optional<RunRow>> same = FindSame(*run.plan);
      if (!same.ok()) return Refuse(same.status());
      if (!same->has_value()) continue;
      run.plan = nullptr;
      run.stored = {**std::move(same), nullptr, true};
    }
    OnPool(context_.workers, [](ImportSubmission& self) { self.Store(); });
  }

  Result<std::optional<RunRow>> FindSame(const ImportPlan& plan) const {
    std::vector<WantedSource> wanted;
    std::vector<int64_t> sizes_bytes;
    for (const ImportPlan::Source& source : plan.sources) sizes_bytes.push_back(source.held.size_bytes);
    {
      ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop_));
      ASSIGN_OR_RETURN(const bool has_sizes, HasSourcesOfSizes(*reader, request_.uid, sizes_bytes));
      if (!has_sizes) return std::optional<RunRow>();
    }
    for (const ImportPlan::Source& source : plan.sources) {
      ASSIGN_OR_RETURN(std::string hash, HashSource(source.held.fd.get(), stop_));
      if (hash.empty()) return std::optional<RunRow>();  // it becomes shorter as we look: it is no other file's like
      wanted.push_back({std::move(hash), FormatsReadAs(plan.format), source.rank});
    }
    ASSIGN_OR_RETURN(ReaderPool::Lease reader, context_.catalog.readers().Borrow(stop_));
    return FindImport(*reader, request_.uid, std::move(wanted), plan.keep_sources);
  }

  void Store() {
    if (stop_.stop_requested()) return Refuse(Fail(ErrorCode::kCancelled, kSubmitImportAct, "its client is gone"));
    std::vector<std::pair<RunRow, AuditEntry>> rows;
    int64_t kept_bytes = 0;
    for (PlannedRun& run : runs_) {
      if (!run.plan) continue;
      RunRow& row = run.stored.row;
      row.idempotency_key = KeyOfRun(request_.idempotency_key, rows.size());
      AuditEntry entry = AuditEntryOf({row.uid, request_.caller}, audit::kSubmit, row, row.queued_ns);
      entry.detail = DetailWithCertificate(entry.detail, request_.certificate_id);
      if (run.plan->keep_sources) kept_bytes += run.plan->total_bytes();
      rows.emplace_back(row, std::move(entry));
    }
    // The client means by @last the run that it is told last.
    const std::string answer = runs_.back().stored.existing ? runs_.back().stored.row.id : "";
    auto insert = [storage = context_.storage, uid = request_.uid, rows, kept_bytes, answer](Db& db) -> Status {
      for (const auto& [row, entry] : rows) {
        if (storage != nullptr) RETURN_IF_ERROR(storage->CheckRun(db, uid, "store it"));
        RETURN_IF_ERROR(InsertRun(db, row));
        RETURN_IF_ERROR(AppendAudit(db, entry));
      }
      if (!answer.empty()) RETURN_IF_ERROR(NoteAnswer(db, uid, answer));
      if (storage == nullptr || kept_bytes == 0) return OkStatus();
      return storage->CheckBytes(db, uid, kept_bytes, "keep its sources");
    };
    context_.catalog.writer().Submit(std::move(insert), [self = shared_from_this()](const Status& inserted) {
      if (inserted.ok()) return self->AnswerStored();
      self->why_ = inserted;
      // Two requests with one key can pass each other; the later one finds the first. The writer has others waiting.
      self->OnPool(self->context_.workers, [](ImportSubmission& self) {
        if (self.request_.idempotency_key.empty() || !self.AnswerTwin()) self.Refuse(self.why_);
      });
    });
  }

  void AnswerStored() {
    std::vector<SubmittedImport> stored;
    for (PlannedRun& run : runs_) {
      stored.push_back(std::move(run.stored));
      stored.back().plan = std::move(run.plan);
    }
    Answer(std::move(stored));
  }

  void Refuse(const Status& why) { Answer(why.In(kSubmitImportAct)); }

  void Answer(Result<std::vector<SubmittedImport>> stored) {
    context_.loop.Post([done = std::move(done_), stored = std::move(stored)] { done(stored); });
  }

  const RunContext context_;
  const ImportRequest request_;
  const uint32_t account_;
  const std::string id_;
  const OneMoreRun one_more_;
  const int64_t queued_ns_;
  const std::stop_token stop_;
  std::vector<ImportPlan::Source> sources_;  // until their runs are planned
  std::vector<Result<SourceLook>> looks_;    // of the sources; those that were not looked at say nothing
  size_t looks_left_ = 0;                    // io loop
  int64_t look_until_ns_ = 0;                // mono
  std::atomic<bool> looked_enough_ = false;  // how the sources become runs is known
  std::vector<SourceGroup> groups_;
  std::vector<PlannedRun> runs_;
  Status why_;
  std::function<void(Result<std::vector<SubmittedImport>>)> done_;
};

}  // namespace

void StoreSubmittedImport(const RunContext& context, ImportRequest request, uint32_t account, std::string id,
                          OneMoreRun one_more, std::stop_token stop,
                          std::function<void(Result<std::vector<SubmittedImport>>)> done) {
  KPROF_ON_IO_LOOP(context.loop);
  std::make_shared<ImportSubmission>(context, std::move(request), account, std::move(id), std::move(one_more),
                                     std::move(stop), std::move(done))
      ->Begin();
}

}  // namespace kprof
