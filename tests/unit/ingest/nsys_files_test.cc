// Real exports, read whole, against SQL on the same files.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/ingest/chrome/chrome_events.h"
#include "daemon/ingest/nsys/nsys_reader.h"
#include "daemon/ingest/text/json_scan.h"
#include "storage/base/descriptors.h"
#include "tests/unit/ingest/recorded_batches.h"

#include <sqlite3.h>

namespace kprof {
namespace {

std::string DataPath(const std::string& name) {
  const char* folder = std::getenv("KPROF_TEST_DATA");
  return (folder != nullptr ? std::string(folder) : std::string(KPROF_SOURCE_DIR) + "/../shared/data") + "/nsys/" +
         name;
}

class NsysFiles : public testing::Test {
 protected:
  // False where the file is not there.
  bool Read(const std::string& name) {
    fd_.Reset(::open(DataPath(name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd_.valid()) return false;
    const Result<SourceFile> source = SourceFile::Open(fd_.get(), name);
    EXPECT_TRUE(source.ok());
    const Status status = ReadNsys(*source, batches_);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(batches_.progress_bytes, source->size_bytes());
    EXPECT_EQ(batches_.progress_events, static_cast<int64_t>(batches_.events.size()));
    sqlite3* db = nullptr;
    const std::string uri = "file:" + DataPath(name) + "?immutable=1";
    EXPECT_EQ(sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), SQLITE_OK);
    db_.reset(db);
    return true;
  }

  // The first row's columns.
  std::vector<std::string> Ask(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_.get());
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW) << sql;
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
      row.emplace_back(text == nullptr ? "" : text);
    }
    sqlite3_finalize(statement);
    return row;
  }
  bool HasTable(const std::string& table) {
    return Ask("SELECT count(*) FROM sqlite_master WHERE name = '" + table + "'")[0] == "1";
  }

  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  UniqueFd fd_;
  RecordedBatches batches_;
  std::unique_ptr<sqlite3, Close> db_;
};

#define READ_OR_SKIP(name)                                              \
  do {                                                                  \
    if (!Read(name)) GTEST_SKIP() << DataPath(name) << " is not there"; \
  } while (false)

// Events of these categories are as many as the table has rows, with the same times and the same values in all of its
// columns: each column's count, and the sum of those that are integers and refer to nothing.
struct TableCase {
  std::string table;
  std::vector<std::string> categories;
  std::string start = "start";
  std::string end = "end";  // empty: they have none
};

class NsysRealFile : public NsysFiles, public testing::WithParamInterface<std::string> {};

TEST_P(NsysRealFile, HasAllRowsOfAllTables) {
  READ_OR_SKIP(GetParam());
  const TableCase cases[] = {
      {"CUPTI_ACTIVITY_KIND_KERNEL", {"kernel"}},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", {"gpu_memcpy"}},
      {"CUPTI_ACTIVITY_KIND_MEMSET", {"gpu_memset"}},
      {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"cuda_sync"}},
      {"CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"cuda_event"}, "timestamp", ""},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", {"cuda_runtime", "cuda_driver"}},
      {"NVTX_EVENTS", {"nvtx"}},
      {"OSRT_API", {"os_runtime"}},
      {"OSRT_FILE_ACCESS_EVENTS", {"os_file"}, "startedAt", "endedAt"},
      {"PROFILER_OVERHEAD", {"overhead"}},
      {"COMPOSITE_EVENTS", {"cpu_sample"}, "start", ""},
      {"SCHED_EVENTS", {"sched"}, "start", ""},
      {"DIAGNOSTIC_EVENT", {"diagnostic"}, "timestamp", ""},
  };
  const std::set<std::string> own = {"start", "end",    "timestamp", "startedAt",     "endedAt",
                                     "text",  "textId", "nameId",    "demangledName", "apiCallId"};
  size_t all = 0;
  for (const TableCase& c : cases) {
    SCOPED_TRACE(c.table);
    std::vector<RecordedEvent> events;
    for (const std::string& category : c.categories) {
      for (const RecordedEvent& event : batches_.Of(category)) events.push_back(event);
    }
    all += events.size();
    if (!HasTable(c.table)) {
      EXPECT_TRUE(events.empty());
      continue;
    }
    int64_t starts = 0;
    int64_t durations = 0;
    std::map<std::string, std::pair<int64_t, int64_t>> args;  // count and sum
    for (const RecordedEvent& event : events) {
      starts += event.time_ns;
      if (event.kind == EventKind::kSlice && event.duration_ns != kNoValue) durations += event.duration_ns;
      for (const auto& [key, value] : event.args) {
        ++args[key].first;
        args[key].second += std::atoll(value.c_str());
      }
    }
    const std::vector<std::string> sums =
        Ask("SELECT count(*), coalesce(sum(" + c.start + "), 0), coalesce(sum(" +
            (c.end.empty() ? "0" : c.end + " - " + c.start) + "), 0) FROM " + c.table);
    EXPECT_EQ(std::to_string(events.size()), sums[0]);
    EXPECT_EQ(std::to_string(starts), sums[1]);
    EXPECT_EQ(std::to_string(durations), sums[2]);
    sqlite3_stmt* columns = nullptr;
    sqlite3_prepare_v2(db_.get(), ("PRAGMA table_info(" + c.table + ")").c_str(), -1, &columns, nullptr);
    while (sqlite3_step(columns) == SQLITE_ROW) {
      const std::string column = reinterpret_cast<const char*>(sqlite3_column_text(columns, 1));
      if (own.contains(column)) continue;
      const std::vector<std::string> of =
          Ask("SELECT count(" + column + "), coalesce(sum(" + column + "), 0) FROM " + c.table);
      EXPECT_EQ(std::to_string(args[column].first), of[0]) << column;
      const bool is_plain = args[column].second != 0;  // not a label
      if (is_plain && column != "callchainId") {
        EXPECT_EQ(std::to_string(args[column].second), of[1]) << column;
      }
    }
    sqlite3_finalize(columns);
  }
  EXPECT_EQ(all, batches_.events.size());
  for (const std::string& warning : batches_.warnings) ADD_FAILURE() << warning;
}

TEST_P(NsysRealFile, NamesAreThoseOfStringIds) {
  READ_OR_SKIP(GetParam());
  if (HasTable("CUPTI_ACTIVITY_KIND_KERNEL")) {
    std::multiset<std::string> names;
    for (const RecordedEvent& event : batches_.Of("kernel")) {
      names.insert(event.name + "|" + event.Arg("shortName") + "|" + std::to_string(event.duration_ns) + "|" +
                   event.Arg("gridX"));
    }
    sqlite3_stmt* rows = nullptr;
    sqlite3_prepare_v2(db_.get(),
                       "SELECT d.value || '|' || s.value || '|' || (end - start) || '|' || gridX FROM "
                       "CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds d ON d.id = demangledName "
                       "JOIN StringIds s ON s.id = shortName",
                       -1, &rows, nullptr);
    while (sqlite3_step(rows) == SQLITE_ROW) {
      const auto found = names.find(reinterpret_cast<const char*>(sqlite3_column_text(rows, 0)));
      ASSERT_NE(found, names.end());
      names.erase(found);
    }
    sqlite3_finalize(rows);
    EXPECT_TRUE(names.empty());
  }
}

TEST_P(NsysRealFile, JoinsWorkAndCallsWithinAProcess) {
  READ_OR_SKIP(GetParam());
  if (!HasTable("CUPTI_ACTIVITY_KIND_KERNEL")) GTEST_SKIP() << GetParam() << " has no kernels";
  std::multiset<int64_t> calls;
  for (const char* category : {"cuda_runtime", "cuda_driver"}) {
    for (const RecordedEvent& event : batches_.Of(category)) calls.insert(event.correlation);
  }
  size_t joined = 0;
  for (const RecordedEvent& event : batches_.Of("kernel")) joined += calls.count(event.correlation);
  EXPECT_EQ(std::to_string(joined),
            Ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON "
                "k.correlationId = r.correlationId AND k.globalPid / 0x1000000 = r.globalTid / 0x1000000")[0]);
}

TEST_P(NsysRealFile, TellsNothingOfOtherProcesses) {
  READ_OR_SKIP(GetParam());
  std::set<std::string> profiled;
  for (const TrackRow& track : batches_.tracks) {
    if (track.process) profiled.insert(*track.process);
  }
  EXPECT_LE(profiled.size(), 2U);
  const std::string all = '\n' + batches_.AllText();
  for (const char* never : {"Hostname", "ENVIRONMENT_VARIABLE", "jupyter-noteboo", "USER_NAME", "WORKING_DIR"})
    EXPECT_EQ(all.find(never), all.npos) << never;
}

INSTANTIATE_TEST_SUITE_P(Files, NsysRealFile,
                         testing::Values("t4_power_iteration.sqlite", "2gpu_mfu_before.sqlite", "2gpu_mfu_after.sqlite",
                                         "rtx4060_no_kernels.sqlite"),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

TEST_F(NsysFiles, TwoProcessesCorrelationsDoNotCollide) {
  READ_OR_SKIP("2gpu_mfu_after.sqlite");
  std::set<int64_t> of_kernels;
  std::set<std::string> processes;
  for (const RecordedEvent& event : batches_.Of("kernel")) {
    of_kernels.insert(event.correlation);
    processes.insert(*event.track.pid);
    EXPECT_EQ(event.correlation % (int64_t{1} << 32), std::atoll(event.Arg("correlationId").c_str()));
  }
  EXPECT_EQ(processes.size(), 2U);
  EXPECT_EQ(std::to_string(of_kernels.size()), Ask("SELECT count(*) FROM (SELECT DISTINCT globalPid, correlationId "
                                                   "FROM CUPTI_ACTIVITY_KIND_KERNEL)")[0]);
}

TEST_F(NsysFiles, FactsSayWhenAndWhere) {
  READ_OR_SKIP("t4_power_iteration.sqlite");
  EXPECT_EQ(batches_.facts["base_unix_ns"], "1754324972242076786");
  EXPECT_EQ(batches_.facts["clock"], "unix");
  EXPECT_NE(batches_.facts["source.gpu"].find("\"name\":\"Tesla T4\""), std::string::npos);
  EXPECT_NE(batches_.facts["source.gpu"].find("\"smCount\":40"), std::string::npos);
  EXPECT_NE(batches_.facts["source.export"].find("[\"EXPORT_SCHEMA_VERSION\",\"3.20.2\"]"), std::string::npos);
  EXPECT_NE(batches_.facts["source.export"].find("[\"EXPORT_PRODUCT_VERSION\",\"2025.3.1.90\"]"), std::string::npos);
  EXPECT_NE(batches_.facts["source.analysis"].find("\"duration\":1814863718"), std::string::npos);
  EXPECT_EQ(batches_.facts["source.export"].find("EXPORT_HOST"), std::string::npos);
}

TEST_F(NsysFiles, TracksAreNamed) {
  READ_OR_SKIP("t4_power_iteration.sqlite");
  const RecordedEvent kernel = batches_.Of("kernel")[0];
  EXPECT_EQ(kernel.track.kind, "gpu_stream");
  EXPECT_EQ(kernel.track.name, "GPU 0 stream 7");
  EXPECT_EQ(kernel.track.device, 0);
  EXPECT_EQ(kernel.track.stream, 7);
  EXPECT_EQ(kernel.track.process, "python");
  const RecordedEvent call = batches_.Of("cuda_runtime")[0];
  EXPECT_EQ(call.track.kind, "cpu_thread");
  EXPECT_EQ(call.track.pid, "9946");
  const RecordedEvent sample = batches_.Of("cpu_sample")[0];
  EXPECT_TRUE(sample.Arg("callchain").starts_with("[\""));
}

// In names, begins, durations, threads and streams of all that it has, and in the numbers of calls. It takes the
// kernels' short names and the calls' full ones, and calls what is on a thread or a stream by its table.
TEST_F(NsysFiles, AgreesWithThePublicConversion) {
  READ_OR_SKIP("t4_power_iteration.sqlite");
  const std::string path = DataPath("t4_power_iteration.chrome.json.gz");
  if (::access(path.c_str(), R_OK) != 0) GTEST_SKIP() << path << " is not there";
  std::string json;
  FILE* pipe = ::popen(("gzip -dc '" + path + "'").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::vector<char> piece(1 << 16);
  while (const size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) json.append(piece.data(), got);
  ASSERT_EQ(::pclose(pipe), 0);
  const size_t size = json.size();
  json.append(kScanSlackBytes, '\0');
  ChromeEvents chrome(0);
  const size_t begin = json.find('[') + 1;
  const char* end = json.data() + size;
  ASSERT_EQ(chrome.Add(json.data() + begin, end, end).why, ChromeEvents::Stopped::kAtBracket);
  EventRows slices;
  TraceBatch batch = chrome.TakeBatch();
  slices = batch.of(EventKind::kSlice);
  const auto text = [&](int64_t number) {
    return number == 0 ? std::string() : batch.strings[static_cast<size_t>(number) - 1].substr(1);
  };
  // Category, name, start, duration, pid, tid, correlationId.
  using Row = std::tuple<std::string, std::string, int64_t, int64_t, std::string, std::string, int64_t>;
  constexpr int64_t kNoId = -1;
  std::multiset<Row> theirs;
  std::map<int64_t, size_t> of_shapes;  // that were seen
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t shape = slices.of(EventColumn::kShape)[i];
    const size_t row_of_shape = of_shapes[shape]++;
    int64_t id = kNoId;
    for (size_t slot = 0; shape != kNoArgs && slot < batch.shapes[static_cast<size_t>(shape) - 1].size(); ++slot) {
      if (text(batch.shapes[static_cast<size_t>(shape) - 1][slot].key) == "correlationId")
        id = slices.args[static_cast<size_t>(shape)][slot][row_of_shape];
    }
    const std::string category = text(slices.of(EventColumn::kCategory)[i]);
    if (category == "nvtx-kernel") continue;  // ranges once more, over their kernels
    const TrackKey& track = batch.tracks[static_cast<size_t>(slices.of(EventColumn::kTrack)[i])];
    theirs.emplace(category, text(slices.of(EventColumn::kName)[i]), slices.of(EventColumn::kTime)[i],
                   slices.of(EventColumn::kDuration)[i], text(track.pid), text(track.tid), id);
  }
  std::multiset<Row> ours;
  for (const RecordedEvent& event : batches_.events) {
    if (event.kind != EventKind::kSlice) continue;
    if (event.category == "kernel") {
      ours.emplace("cuda", event.Arg("shortName"), event.time_ns, event.duration_ns,
                   "Device " + std::to_string(event.track.device.value_or(-1)),
                   "CUDA API " + std::to_string(event.track.stream.value_or(-1)), kNoId);
      continue;
    }
    const bool is_call = event.category == "cuda_runtime" || event.category == "cuda_driver";
    if (!is_call && event.category != "nvtx") continue;
    EXPECT_EQ(event.track.pid, "9946");  // the only process: host 0
    const std::string name = is_call && event.Has("nameId") ? event.Arg("nameId") : event.name;
    ours.emplace(is_call ? "cuda_api" : "nvtx", name, event.time_ns, event.duration_ns, "Host 0",
                 (is_call ? "CUDA API " : "NVTX ") + event.track.tid.value_or("none"),
                 is_call ? std::atoll(event.Arg("correlationId").c_str()) : kNoId);
  }
  EXPECT_EQ(theirs.size(), 3689U + 7417U + 786U);
  const auto only = [](const std::multiset<Row>& of, const std::multiset<Row>& others, const char* whose) {
    std::vector<Row> rows;
    std::set_difference(of.begin(), of.end(), others.begin(), others.end(), std::back_inserter(rows));
    for (const auto& [category, row, start_ns, duration_ns, pid, tid, id] : rows) {
      ADD_FAILURE() << "only " << whose << ": " << category << " " << row << " at " << start_ns << " for "
                    << duration_ns << " on " << pid << ", " << tid << ", " << id;
    }
  };
  only(theirs, ours, "theirs");
  only(ours, theirs, "ours");
}

}  // namespace
}  // namespace kprof
