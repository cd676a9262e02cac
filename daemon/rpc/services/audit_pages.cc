#include "daemon/rpc/services/audit_pages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/readable_text.h"
#include "storage/catalog/audit_table.h"

namespace kprof {
namespace {

constexpr int32_t kDefaultAuditPageSize = 50;
constexpr int32_t kMaxAuditPageSize = 1000;

// The id of a page's last entry.
std::optional<int64_t> IdOf(const std::string& token) {
  int64_t id = 0;
  const char* end = token.data() + token.size();
  const std::from_chars_result read = std::from_chars(token.data(), end, id);
  if (read.ec != std::errc() || read.ptr != end || id < 1) return std::nullopt;
  return id;
}

Result<AuditFilter> FilterOf(const v1::ListAuditRequest& request) {
  AuditFilter filter;
  if (request.page_size() < 0) return Fail(ErrorCode::kUsage, "list the audit", "the page size is negative");
  filter.limit = request.page_size() == 0 ? kDefaultAuditPageSize : std::min(request.page_size(), kMaxAuditPageSize);
  if (request.has_uid()) filter.uid = request.uid();
  filter.since_ns = request.since_unix_ns();
  if (request.page_token().empty()) return filter;
  filter.before_id = IdOf(request.page_token());
  if (!filter.before_id) {
    return Fail(ErrorCode::kUsage, "list the audit", "the page token is not one of this daemon's",
                "begin again without a token");
  }
  return filter;
}

void FillAuditEntry(const AuditEntry& entry, v1::AuditEntry& out) {
  out.set_id(entry.id);
  out.set_time_unix_ns(entry.time_ns);
  out.set_uid(entry.by.uid);
  out.set_caller(ReadableText(entry.by.caller));
  out.set_action(entry.action);
  out.set_run_id(entry.run_id);
  out.set_session_id(entry.session_id);
  for (const std::string& device : entry.devices) out.add_devices(ReadableText(device));
  out.set_outcome(entry.outcome);
  out.set_detail(ReadableText(entry.detail));
}

}  // namespace

Status ReadAuditPage(Catalog& catalog, const v1::ListAuditRequest& request, v1::ListAuditResponse& page) {
  ASSIGN_OR_RETURN(AuditFilter filter, FilterOf(request));
  ASSIGN_OR_RETURN(ReaderPool::Lease reader, catalog.readers().Borrow());
  ASSIGN_OR_RETURN(std::vector<AuditEntry> entries, ReadAudit(*reader, filter));
  for (const AuditEntry& entry : entries) FillAuditEntry(entry, *page.add_entries());
  if (static_cast<int64_t>(entries.size()) == filter.limit) page.set_next_page_token(std::to_string(entries.back().id));
  return OkStatus();
}

}  // namespace kprof
