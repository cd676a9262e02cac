#include "daemon/ingest/nsys/nsys_processes.h"

namespace kprof {
namespace {

constexpr size_t kMostProcessNames = 1 << 20;
constexpr int64_t kNvtxThreadName = 39;

std::string Selected(const NsysTable& table, std::initializer_list<const char*> columns) {
  std::string sql = "SELECT ";
  for (const char* column : columns) {
    if (sql.size() > 7) sql += ", ";
    sql += table.Has(column) ? QuotedName(column) : "NULL";
  }
  return sql + " FROM " + QuotedName(table.name) + " NOT INDEXED";
}

}  // namespace

NsysProcesses::NsysProcesses(NsysDatabase& database, NsysStrings& strings) : database_(database), strings_(strings) {
  if (const NsysTable* capture = database.Find("META_DATA_CAPTURE")) {
    NsysQuery rows = database.Query(Selected(*capture, {"name", "value"}));
    while (rows.Next()) {
      all_profiled_ |= rows.Text(0) == "LINUX_PERF_OPTIONS:COLLECTION_MODE" && rows.Text(1) == "ProcessTree";
    }
  }
  ReadProcesses();
  ReadThreadNames();
  ReadNvtxNames();
}

void NsysProcesses::ReadProcesses() {
  const NsysTable* table = database_.Find("PROCESSES");
  if (table == nullptr) return;
  std::unordered_map<int64_t, int> machines;
  NsysQuery rows = database_.Query(Selected(*table, {"globalPid", "name"}));
  while (process_names_.size() < kMostProcessNames && rows.Next()) {
    process_names_.emplace(ProcessOf(rows.Integer(0)), rows.Text(1));
    const int64_t machine = rows.Integer(0) >> 48;
    if (++machines[machine] > machines[machine_]) machine_ = machine;
  }
}

void NsysProcesses::ReadThreadNames() {
  const NsysTable* table = database_.Find("ThreadNames");
  if (table == nullptr) return;
  NsysQuery rows = database_.Query(Selected(*table, {"globalTid", "nameId"}));
  while (thread_names_.size() < kMostProcessNames && rows.Next())
    thread_names_.emplace(rows.Integer(0), rows.Integer(1));
}

void NsysProcesses::ReadNvtxNames() {
  const NsysTable* table = database_.Find("NVTX_EVENTS");
  if (table == nullptr) return;
  NsysQuery rows = database_.Query(Selected(*table, {"eventType", "globalTid", "text", "textId"}));
  for (int64_t i = 0; i < database_.most_rows() && rows.Next(); ++i) {
    if (rows.Integer(0) != kNvtxThreadName || nvtx_names_.size() >= kMostProcessNames) continue;
    std::string name(rows.Text(2));
    if (name.empty()) name = strings_.Text(rows.Integer(3)).value_or("");
    if (!name.empty()) nvtx_names_.insert_or_assign(rows.Integer(1), std::move(name));
  }
}

std::optional<std::string> NsysProcesses::ProcessName(int64_t global) const {
  const auto found = process_names_.find(ProcessOf(global));
  if (found == process_names_.end() || !IsProfiled(global)) return std::nullopt;
  return found->second;
}

std::optional<std::string> NsysProcesses::ThreadName(int64_t global_tid) {
  if (!IsProfiled(global_tid)) return std::nullopt;
  if (const auto nvtx = nvtx_names_.find(global_tid); nvtx != nvtx_names_.end()) return nvtx->second;
  const auto found = thread_names_.find(global_tid);
  return found == thread_names_.end() ? std::nullopt : strings_.Text(found->second);
}

std::string NsysProcesses::PidText(int64_t global) const {
  const std::string pid = std::to_string(PidOf(global));
  const int64_t machine = global >> 48;
  return machine == machine_ || machine_ == 0 || machine == 0 ? pid : std::to_string(machine) + ":" + pid;
}

std::optional<int64_t> NsysProcesses::Correlation(int64_t global, int64_t correlation_id) {
  constexpr int64_t kMostProcesses = 1 << 20;
  if (correlation_id < 0 || correlation_id > int64_t{UINT32_MAX}) return std::nullopt;
  const auto [found, is_new] = numbers_.try_emplace(ProcessOf(global), static_cast<int64_t>(numbers_.size()));
  if (found->second >= kMostProcesses) return std::nullopt;
  return found->second << 32 | correlation_id;
}

int64_t NsysProcesses::GlobalOfPid(int64_t pid) const {
  return machine_ << 48 | (pid & 0xffffff) << 24;
}

}  // namespace kprof
