#include "daemon/ingest/nsys/nsys_nvtx_events.h"

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "daemon/ingest/nsys/nsys_cursor.h"

namespace kprof {
namespace {

constexpr size_t kMostRangeNames = 1 << 16;

// Numbers of ENUM_NSYS_EVENT_TYPE; those from 64 to 74 are of texts that were imported (NVTXT).
enum : int64_t {
  kCategory = 33,
  kMark = 34,
  kThreadName = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kTextCategory = 64,
  kTextMark = 65,
  kTextPushPop = 70,
  kTextStartEnd = 71,
  kTextThread = 72,
  kTextProcess = 73,
  kTextFile = 74,
  kDomainCreate = 75,
  kDomainDestroy = 76,
  kNameDevice = 97,
  kNameContext = 98,
  kNameStream = 99,
};

bool IsMetadata(int64_t type) {
  switch (type) {
    case kCategory:
    case kThreadName:
    case kTextCategory:
    case kTextThread:
    case kTextProcess:
    case kTextFile:
    case kDomainCreate:
    case kDomainDestroy:
    case kNameDevice:
    case kNameContext:
    case kNameStream:
      return true;
    default:
      return false;
  }
}

struct NvtxColumns {
  explicit NvtxColumns(NsysCursor& row)
      : start(row.Take("start")),
        end(row.Take("end")),
        text(row.Take("text")),
        text_id(row.Take("textId")),
        category(row.Take("category")),
        type(row.Find("eventType")),
        domain(row.Find("domainId")),
        global_tid(row.Find("globalTid")) {}

  int64_t Process(const NsysCursor& row) const { return row.Integer(global_tid) >> 24; }

  int start;
  int end;
  int text;
  int text_id;
  int category;
  int type;
  int domain;
  int global_tid;
};

// Rows come in any order: names first.
class NvtxNames {
 public:
  Status Read(NsysSource& source, const NsysTable& table) {
    NsysCursor row(source, table);
    const NvtxColumns columns(row);
    const int64_t rows_done = source.rows_done;
    while (row.Next() && domains_.size() + categories_.size() < kMostRangeNames) {
      const int64_t type = row.Integer(columns.type);
      const bool is_category = type == kCategory || type == kTextCategory;
      if (type != kDomainCreate && !is_category) continue;
      std::string name(row.Text(columns.text));
      if (name.empty()) name = row.Resolved(columns.text_id).value_or("");
      const int64_t domain = row.Integer(columns.domain);
      if (is_category) {
        categories_[{columns.Process(row), domain, row.Integer(columns.category)}] = std::move(name);
      } else {
        domains_[{columns.Process(row), domain}] = std::move(name);
      }
    }
    source.rows_done = rows_done;
    return row.status();
  }

  // Empty where it has none.
  std::string_view Domain(int64_t process, int64_t domain) const {
    const auto found = domains_.find({process, domain});
    return found == domains_.end() ? std::string_view() : found->second;
  }
  std::string_view Category(int64_t process, int64_t domain, int64_t category) const {
    const auto found = categories_.find({process, domain, category});
    return found == categories_.end() ? std::string_view() : found->second;
  }

 private:
  std::map<std::pair<int64_t, int64_t>, std::string> domains_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::string> categories_;
};

uint32_t RangesTrack(NsysSource& source, int64_t global_tid, std::string_view domain) {
  std::string what = "NVTX ranges";
  if (!domain.empty()) what += " of " + std::string(domain);
  return source.tracks.OfProcess(global_tid, "async", what);
}

}  // namespace

Status ReadNsysNvtx(NsysSource& source, const NsysTable& table) {
  NvtxNames names;
  RETURN_IF_ERROR(names.Read(source, table));
  NsysCursor row(source, table);
  const NvtxColumns columns(row);
  const uint32_t nvtx = source.batch.Text("nvtx");
  while (row.Next()) {
    const std::optional<int64_t> start_ns = row.Time(columns.start);
    if (!start_ns) {
      row.SkipUntimed();
      continue;
    }
    const int64_t type = row.Integer(columns.type);
    const int64_t thread = row.IntegerOr(columns.global_tid, NsysTracks::kNone);
    const int64_t domain_id = row.Integer(columns.domain);
    const std::string_view domain = names.Domain(columns.Process(row), domain_id);
    if (thread != NsysTracks::kNone) source.processes.MarkProfiled(thread);
    const bool is_range = type == kStartEnd || type == kTextStartEnd;
    const uint32_t track =
        is_range || thread == NsysTracks::kNone ? RangesTrack(source, thread, domain) : source.tracks.Thread(thread);
    std::vector<EventArg>& args = row.Args();
    uint32_t name = 0;
    if (!row.IsNull(columns.text)) {
      name = row.ResolvedNumber(columns.text);
      if (name == 0) row.AddArg(columns.text);
      row.AddArg(columns.text_id);
    } else {
      name = row.ResolvedNumber(columns.text_id);
      if (name == 0) row.AddArg(columns.text_id);
    }
    if (!row.IsNull(columns.category)) {
      const std::string_view category = names.Category(columns.Process(row), domain_id, row.Integer(columns.category));
      if (category.empty() || IsMetadata(type)) {
        row.AddArg(columns.category);
      } else {
        row.AddTextArg("category", category);
      }
    }
    if (!domain.empty()) row.AddTextArg("domain", domain);
    const int64_t duration_ns = row.Duration(*start_ns, columns.end);
    if (duration_ns == kNoValue) row.AddArg(columns.end);
    const BatchBuilder::Event event{*start_ns, track, name, nvtx, args};
    if (IsMetadata(type)) {
      source.batch.AddMetadata(event);
    } else if (type == kPushPop || type == kTextPushPop || is_range || duration_ns != kNoValue) {
      source.batch.AddSlice(event, duration_ns, kNoValue);
    } else {
      source.batch.AddInstant(event);
    }
  }
  return row.Finish();
}

}  // namespace kprof
