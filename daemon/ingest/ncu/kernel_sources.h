// The machine code and the texts that a report holds of its kernels: sources, which its results name by their numbers.
//
// One thread. Memory: the sources, up to the limit, and the tables of lines of those that launches name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/ingest/ncu/report_rows.h"
#include "storage/base/status.h"

namespace kprof {

// An instruction as a result itself describes it; newer versions of ncu leave that to the cubin.
struct ToldInstruction {
  int64_t address = 0;
  std::string_view sass;
  std::string_view ptx;
  std::string_view file;
  std::optional<int64_t> line;
};

class KernelSources {
 public:
  explicit KernelSources(int64_t most_bytes);
  ~KernelSources();

  // Takes a source: its number (1), its text (2), its PTX (3), its cubin (4), its SM (6, the major version in the upper
  // half), its functions (9: {1: {1 mangled name, 2 address}}). One with a number that was there adds to that.
  void Add(std::string_view message);

  // Adds the instructions of a launch's kernel. One whose source has not come waits for it: call AddWaiting at the end.
  Status AddInstructions(ReportRows& rows, int64_t launch, uint64_t source, std::string_view mangled,
                         const std::vector<ToldInstruction>& told);
  Status AddWaiting(ReportRows& rows);
  // Adds the texts of the sources, line by line.
  Status AddTexts(ReportRows& rows) const;

  // Says in sentences for people what was left out.
  void WarnOf(BatchSink& sink) const;

 private:
  struct Source;
  struct Waiting {
    int64_t launch = 0;
    uint64_t source = 0;
    std::string mangled;
  };
  // The bases of a function in memory, and the size of an instruction there.
  Status AddOfCubin(ReportRows& rows, int64_t launch, Source& source, std::string_view mangled);
  Status AddTold(ReportRows& rows, int64_t launch, Source* source, std::string_view mangled,
                 const std::vector<ToldInstruction>& told);
  bool HasRoom();

  const int64_t most_bytes_;
  int64_t bytes_ = 0;
  std::map<uint64_t, std::unique_ptr<Source>> sources_;
  std::vector<Waiting> waiting_;
  int64_t instructions_ = 0;
  int64_t too_large_ = 0;
  int64_t launches_without_ = 0;  // whose instructions are too many
};

}  // namespace kprof
