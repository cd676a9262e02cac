// What clients call runs, against a small catalog and a second, plain reading of the rules. The first byte says who
// asks and for what: its bits 0 and 1 the uid (1000 to 1003), 2 an operator, 3 to change the run; the rest is the name.
// No answer, failures included, may hold the id of a run that the caller may not see, unless the caller named it.
#include "daemon/runs/object_lookup.h"

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/readable_text.h"
#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/db/db.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fuzz/fuzz_bytes.h"

namespace kprof {
namespace {

struct KnownRun {
  std::string id;
  uint32_t uid;
  bool shared;
};

// Oldest first. Beginnings that several have in common, some of them of different owners.
const std::vector<KnownRun> kRuns = {
    {"0000000000000000", 1000, false}, {"0000000000000001", 1001, false}, {"01hq3v5n0aaaaaaa", 1000, false},
    {"01hq3v5n0aaaaaab", 1001, true},  {"01hq3v5n0b000000", 1001, false}, {"01hq3v5n1zzzzzzz", 1002, false},
    {"01hq3v5p00000000", 1000, true},  {"01zzzzzzzzzzzzzz", 1001, true},  {"7zzzzzzzzzzzzzzz", 1000, false},
    {"9abcdefghjkmnpqr", 1002, true},  {"9abcdefghjkmnpqs", 1002, false}, {"zzzzzzzzzzzzzzzy", 1001, false},
    {"zzzzzzzzzzzzzzzz", 1000, false},
};

bool Sees(const Caller& caller, const KnownRun& run) {
  return caller.sees_all() || run.shared || run.uid == caller.uid;
}

// N of a name "@last~N" whose N is decimal digits only, however many; beyond the largest number there is, that one.
std::optional<uint64_t> Back(std::string_view name) {
  if (name == "@last") return 0;
  if (!name.starts_with("@last~") || name.size() == 6) return std::nullopt;
  uint64_t back = 0;
  for (char c : name.substr(6)) {
    if (c < '0' || c > '9') return std::nullopt;
    back = std::min<uint64_t>(back * 10 + static_cast<uint64_t>(c - '0'), 1'000'000);
  }
  return back;
}

struct Expected {
  std::string id;
  ErrorCode code = ErrorCode::kNotFound;  // when there is no id
};

Expected Resolve(const Caller& caller, const std::string& name) {
  std::vector<std::string> seen;
  for (const KnownRun& run : kRuns) {
    if (Sees(caller, run)) seen.push_back(run.id);
  }
  if (std::optional<uint64_t> back = Back(name)) {
    return *back < seen.size() ? Expected{seen[seen.size() - 1 - *back]} : Expected{};
  }
  if (name.empty() || name[0] == '@' || name.starts_with("label:")) return {"", ErrorCode::kUsage};
  std::string prefix;
  for (char c : name) prefix += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::vector<std::string> found;
  for (const std::string& id : seen) {
    if (id.starts_with(prefix)) found.push_back(id);
  }
  if (found.size() > 1) return {"", ErrorCode::kUsage};
  return found.empty() ? Expected{} : Expected{found[0]};
}

const KnownRun* Known(const std::string& id) {
  for (const KnownRun& run : kRuns) {
    if (run.id == id) return &run;
  }
  return nullptr;
}

Db& SomeCatalog() {
  static Db catalog = [] {
    const TemporaryFolder folder;  // the connection keeps what is open
    Result<Db> db = Db::Open(folder / "catalog.db", {.mode = Db::Mode::kReadWrite});
    KPROF_CHECK(db.ok() && MakeCatalog(*db).ok());
    for (const KnownRun& known : kRuns) {
      RunRow run;
      run.id = known.id;
      run.uid = known.uid;
      run.shared = known.shared;
      run.tool = "command";
      run.argv = {"true"};
      run.cwd = "/";
      KPROF_CHECK(InsertRun(*db, run).ok());
    }
    return *std::move(db);
  }();
  return catalog;
}

void CheckLookup(FuzzBytes input) {
  const uint8_t flags = input.Byte();
  const Caller caller{1000u + (flags & 3u), (flags & 4) != 0 ? Role::kOperator : Role::kViewer, true, {}};
  const Rpc rpc = (flags & 8) != 0 ? Rpc::kCancelRun : Rpc::kGetRun;
  const std::string name(input.Rest());
  Expected expected = Resolve(caller, name);
  if (const KnownRun* run = Known(expected.id); run != nullptr && rpc == Rpc::kCancelRun) {
    if (!caller.sees_all() && run->uid != caller.uid) expected = {"", ErrorCode::kNotPermitted};
  }

  const Result<RunRow> row = LookUpStoredRun(SomeCatalog(), nullptr, caller, name, rpc, "show run");
  if (row.ok()) {
    KPROF_CHECK(row->id == expected.id);
    return;
  }
  KPROF_CHECK(expected.id.empty() && row.status().code() == expected.code);
  const std::string text = row.status().ToString();
  KPROF_CHECK(IsUtf8(text));
  const std::string shown = ReadableText(name);
  for (const KnownRun& run : kRuns) {
    const bool told = text.find(run.id) != text.npos && shown.find(run.id) == shown.npos;
    KPROF_CHECK(!told || Sees(caller, run));
  }
}

}  // namespace
}  // namespace kprof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kprof::CheckLookup(kprof::FuzzBytes(data, size));
  return 0;
}
