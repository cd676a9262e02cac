#include "daemon/runs/command/run_outputs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "daemon/ingest/source/source_formats.h"
#include "daemon/runs/command/run_folder.h"
#include "daemon/runs/imports/import_request.h"
#include "daemon/runs/imports/import_work.h"
#include "storage/base/readable_text.h"
#include "storage/crypto/sha256.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

namespace kprof {
namespace {

constexpr size_t kShownPathBytes = 300;
constexpr size_t kMostReasons = 16;
constexpr int64_t kBlockBytes = 1 << 20;
constexpr size_t kCopyBytes = 16 << 20;  // between two looks at the stop
constexpr char kUnfinished[] = ".partial";

std::string Quoted(const std::string& path) {
  return "'" + ClippedText(path, kShownPathBytes) + "'";
}

// Each is named, as far as there is room.
class Reasons {
 public:
  Reasons(const char* code, std::vector<TrustReason>& trust) : code_(code), trust_(trust) {}
  void Add(const std::string& path, const std::string& why) {
    if (++count_ <= kMostReasons) {
      trust_.push_back({code_, Quoted(path) + ": " + why});
    } else {
      ++more_;
    }
  }
  void Finish() {
    if (more_ > 0) trust_.push_back({code_, std::to_string(more_) + " more files"});
  }

 private:
  const char* const code_;
  std::vector<TrustReason>& trust_;
  size_t count_ = 0;
  size_t more_ = 0;
};

// Why it is not taken; empty: it is.
std::string WhyNotTaken(int fd, bool is_callers, struct stat& about) {
  if (::fstat(fd, &about) != 0) return "it cannot be looked at";
  if (!S_ISREG(about.st_mode)) return "it is no regular file";
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY || (flags & O_PATH) != 0) return "it is not open for reading alone";
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0) return "it cannot be told where it lies";
  if (is_callers && where.f_type == FUSE_SUPER_MAGIC) {
    return "it lies on a file system in user space; have it written elsewhere, or import it with kprofctl import";
  }
  return "";
}

bool IsAsItWas(const struct stat& before, const struct stat& now) {
  return before.st_size == now.st_size && before.st_mtim.tv_sec == now.st_mtim.tv_sec &&
         before.st_mtim.tv_nsec == now.st_mtim.tv_nsec;
}

// One file's bytes into another; holes stay holes.
class Copy {
 public:
  Copy(int from, File& to, int64_t size_bytes, std::string act, const std::stop_token& stop)
      : from_(from), to_(to), size_bytes_(size_bytes), act_(std::move(act)), stop_(stop) {}

  // How many bytes it has: fewer where the source became shorter.
  Result<int64_t> Run() {
    int64_t at = 0;
    while (at < size_bytes_) {
      const auto [data, hole] = NextData(at);
      if (data >= size_bytes_) break;
      ASSIGN_OR_RETURN(at, CopyRange(data, std::min(hole, size_bytes_)));
      if (at < std::min(hole, size_bytes_)) {
        size_bytes_ = at;  // it ends here by now
        break;
      }
    }
    struct stat now {};
    if (::fstat(from_, &now) == 0) size_bytes_ = std::min<int64_t>(size_bytes_, now.st_size);
    RETURN_IF_ERROR(to_.Truncate(size_bytes_));
    return size_bytes_;
  }

  // That Run failed: it could not be read, which is no fault of this node's.
  bool is_sources_fault() const { return is_sources_fault_; }

  Result<std::string> Sum() {
    Sha256 sum;
    std::vector<char> block(kBlockBytes);
    for (int64_t at = 0; at < size_bytes_;) {
      if (stop_.stop_requested()) return Stopped();
      const std::span<char> room(block.data(), static_cast<size_t>(std::min(kBlockBytes, size_bytes_ - at)));
      ASSIGN_OR_RETURN(const size_t got, to_.ReadAt(at, room));
      if (got == 0) return Fail(ErrorCode::kStorageBroken, act_, "the copy is shorter than what was written");
      sum.Add(std::span<const char>(block.data(), got));
      at += static_cast<int64_t>(got);
    }
    return sum.Finish();
  }

 private:
  Status Stopped() const { return Fail(ErrorCode::kCancelled, act_, "it was stopped"); }

  // Where the next bytes begin, and where they end; all of it where the file system does not tell.
  std::pair<int64_t, int64_t> NextData(int64_t at) const {
    const off_t data = ::lseek(from_, at, SEEK_DATA);
    if (data < 0) return errno == ENXIO ? std::pair(size_bytes_, size_bytes_) : std::pair(at, size_bytes_);
    const off_t hole = ::lseek(from_, data, SEEK_HOLE);
    return {data, hole > data ? hole : size_bytes_};
  }

  // Up to where it went: less than `end` where the source ends before.
  Result<int64_t> CopyRange(int64_t at, int64_t end) {
    while (at < end) {
      if (stop_.stop_requested()) return Stopped();
      const size_t wanted = std::min<size_t>(kCopyBytes, static_cast<size_t>(end - at));
      ASSIGN_OR_RETURN(const int64_t got, in_kernel_ ? CopyInKernel(at, wanted) : CopyHere(at, wanted));
      if (got == 0 && !std::exchange(fell_back_, false)) break;
      at += got;
    }
    return at;
  }

  // As a reflink, where the file system has those.
  Result<int64_t> CopyInKernel(int64_t at, size_t wanted) {
    off_t in = at;
    off_t out = at;
    const ssize_t got = ::copy_file_range(from_, &in, to_.fd(), &out, wanted, 0);
    if (got >= 0) return got;
    if (errno == EINTR) {
      fell_back_ = true;
      return 0;
    }
    if (errno == ENOSPC || errno == EDQUOT) return FailErrno(errno, act_);
    in_kernel_ = false;
    fell_back_ = true;
    return 0;
  }

  Result<int64_t> CopyHere(int64_t at, size_t wanted) {
    block_.resize(kBlockBytes);
    const ssize_t got = ::pread(from_, block_.data(), std::min(wanted, block_.size()), at);
    if (got < 0 && errno == EINTR) {
      fell_back_ = true;
      return 0;
    }
    if (got < 0) {
      is_sources_fault_ = true;
      return FailErrno(errno, act_);
    }
    RETURN_IF_ERROR(to_.WriteAt(at, std::span<const char>(block_.data(), static_cast<size_t>(got))));
    return got;
  }

  const int from_;
  File& to_;
  int64_t size_bytes_;
  const std::string act_;
  const std::stop_token stop_;
  bool is_sources_fault_ = false;
  bool in_kernel_ = true;
  bool fell_back_ = false;  // nothing was copied, and that is not the end
  std::vector<char> block_;
};

// What KeepOutputs has made, while it may still fail.
class UnfinishedCopies {
 public:
  UnfinishedCopies(Files& files, const Layout& layout, const std::string& run_id)
      : files_(files), layout_(layout), run_id_(run_id) {}
  ~UnfinishedCopies() {
    for (const std::string& path : paths_) (void)files_.Remove(path);
  }
  UnfinishedCopies(const UnfinishedCopies&) = delete;
  UnfinishedCopies& operator=(const UnfinishedCopies&) = delete;

  const std::string& Add(const std::string& name) {
    names_.push_back(name);
    return paths_.emplace_back(layout_.ArtifactPath(run_id_, name + kUnfinished));
  }
  void DropLast() {
    (void)files_.Remove(paths_.back());
    paths_.pop_back();
    names_.pop_back();
  }
  // They are all there.
  Status Finish() {
    for (size_t i = 0; i < names_.size(); ++i) {
      const std::string to = layout_.ArtifactPath(run_id_, names_[i]);
      RETURN_IF_ERROR(files_.Rename(paths_[i], to));
      paths_[i] = to;
    }
    RETURN_IF_ERROR(files_.SyncFolder(layout_.RunFolder(run_id_)));
    RETURN_IF_ERROR(files_.SyncFolder(layout_.RunsFolder()));
    paths_.clear();
    return OkStatus();
  }

 private:
  Files& files_;
  const Layout& layout_;
  const std::string& run_id_;
  std::vector<std::string> paths_;
  std::vector<std::string> names_;
};

std::string_view ReaderOf(const Tool& tool, const OutputFound& found) {
  if (found.tool_output < 0) return kAnyFormat;
  const size_t i = static_cast<size_t>(found.tool_output);
  return i < tool.outputs.size() ? tool.outputs[i].reader : std::string_view();
}

bool IsToBeRead(const KeptOutput& output, const Tool& tool) {
  const std::string_view reader = ReaderOf(tool, output.found);
  return output.artifact.size_bytes > 0 && (reader == kAnyFormat ? output.looks_like_trace : !reader.empty());
}

// Empty steps and `.` say nothing.
std::vector<std::string_view> StepsOf(std::string_view path) {
  std::vector<std::string_view> steps;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('/'));
    if (!step.empty() && step != ".") steps.push_back(step);
    path.remove_prefix(std::min(path.size(), step.size() + 1));
  }
  return steps;
}

bool LooksLikeATrace(File& file) {
  std::vector<char> first(kSniffBytes);
  const Result<size_t> got = file.ReadAt(0, first);
  return got.ok() && *got > 0 && KindOf(std::span<const char>(first.data(), *got)) != SourceKind::kUnknown;
}

}  // namespace

std::string PathInFolder(const OutputFound& found, const std::string& cwd) {
  if (found.tool_output >= 0) return "";
  std::vector<std::string_view> steps = StepsOf(found.path);
  if (found.path.starts_with('/')) {
    const std::vector<std::string_view> above = StepsOf(cwd);
    if (steps.size() < above.size() || !std::equal(above.begin(), above.end(), steps.begin())) return "";
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(above.size()));
  }
  std::string path;
  for (const std::string_view step : steps) {
    if (step == "..") return "";
    path += (path.empty() ? "" : "/") + std::string(step);
  }
  return path.size() <= kMostKeptPathBytes && TerminalText(path) == path ? path : "";
}

ChosenOutputs ChooseOutputs(std::vector<HeldOutput> outputs, const OutputsPolicy& policy, bool is_callers) {
  ChosenOutputs chosen;
  Reasons left_out(kOutputLeftOut, chosen.trust);
  for (HeldOutput& output : outputs) {
    struct stat about {};
    const std::string& path = output.file->found.path;
    std::string why = WhyNotTaken(output.file->fd.get(), is_callers, about);
    if (why.empty() && static_cast<int64_t>(chosen.outputs.size()) >= policy.files) {
      why = "a run keeps " + std::to_string(policy.files) + " files at most";
    }
    if (why.empty() && about.st_size > policy.bytes - chosen.bytes) {
      why = "it has " + std::to_string(about.st_size) + " bytes; a run keeps files of " + std::to_string(policy.bytes) +
            " bytes together at most";
    }
    if (!why.empty()) {
      left_out.Add(path, why);
      continue;
    }
    output.size_bytes = about.st_size;
    chosen.bytes += about.st_size;
    chosen.outputs.push_back(std::move(output));
  }
  left_out.Finish();
  return chosen;
}

Result<KeptOutputs> KeepOutputs(const std::vector<HeldOutput>& outputs, Files& files, const Layout& layout,
                                const RunRow& run, const OutputsPolicy& policy, const std::stop_token& stop) {
  RETURN_IF_ERROR(files.CreateFolder(layout.RunFolder(run.id)));  // one that printed nothing has none by now
  UnfinishedCopies copies(files, layout, run.id);
  KeptOutputs kept;
  Reasons left_out(kOutputLeftOut, kept.trust);
  Reasons incomplete(kOutputIncomplete, kept.trust);
  std::vector<ArtifactRow> names = run.artifacts;
  std::set<std::string> paths;
  for (const HeldOutput& output : outputs) {
    const std::string& path = output.file->found.path;
    const std::string act = "keep " + Quoted(path);
    struct stat before {};
    if (::fstat(output.file->fd.get(), &before) != 0) {
      left_out.Add(path, std::strerror(errno));
      continue;
    }
    const int64_t size_bytes = std::min<int64_t>(before.st_size, output.size_bytes);
    ASSIGN_OR_RETURN(const int64_t free_bytes, files.ReadFreeBytes(layout.RunFolder(run.id)));
    const int64_t taken_bytes = std::min<int64_t>(size_bytes, before.st_blocks * 512);  // of a sparse one less
    if (taken_bytes > free_bytes - policy.kept_free_bytes && taken_bytes > kBlockBytes) {
      return Fail(ErrorCode::kStorageFull, act,
                  "it takes " + std::to_string(taken_bytes) + " bytes, and of " + std::to_string(free_bytes) +
                      " free ones " + std::to_string(policy.kept_free_bytes) + " stay free",
                  "delete runs, or make room on the disk of the state folder");
    }
    const std::string name = ArtifactNameFor(LastStep(path), names);
    const std::string& copy_path = copies.Add(name);
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.Create(copy_path));
    Copy copy(output.file->fd.get(), *file, size_bytes, act, stop);
    Result<int64_t> copied = copy.Run();
    if (!copied.ok() && copy.is_sources_fault()) {  // a disk of its owner's
      left_out.Add(path, copied.status().why());
      copies.DropLast();
      continue;
    }
    if (!copied.ok()) return copied.status();
    ASSIGN_OR_RETURN(std::string sum, copy.Sum());
    RETURN_IF_ERROR(file->Sync());
    struct stat after {};
    if (::fstat(output.file->fd.get(), &after) != 0 || !IsAsItWas(before, after) || *copied != output.size_bytes) {
      incomplete.Add(path, "it was still being written; its first " + std::to_string(*copied) + " bytes are kept");
    }
    std::string told = PathInFolder(output.file->found, run.cwd);
    if (!paths.insert(told).second) told.clear();
    kept.kept.push_back({{name, *copied, std::move(sum), told}, output.file->found, LooksLikeATrace(*file)});
    names.push_back(kept.kept.back().artifact);
  }
  RETURN_IF_ERROR(copies.Finish());
  left_out.Finish();
  incomplete.Finish();
  return kept;
}

bool HaveTraces(const std::vector<KeptOutput>& kept, const Tool& tool) {
  return std::any_of(kept.begin(), kept.end(), [&](const KeptOutput& output) { return IsToBeRead(output, tool); });
}

Result<std::shared_ptr<ImportPlan>> PlanToImport(const std::vector<KeptOutput>& kept, const Tool& tool, Files& files,
                                                 const Layout& layout, const std::string& run_id) {
  auto plan = std::make_shared<ImportPlan>();
  plan->format = kAnyFormat;
  plan->are_outputs = true;
  for (const KeptOutput& output : kept) {
    if (!IsToBeRead(output, tool)) continue;
    const std::string_view reader = ReaderOf(tool, output.found);
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForRead(layout.ArtifactPath(run_id, output.artifact.name)));
    ImportPlan::Source& source = plan->sources.emplace_back();
    source.held.fd = UniqueFd(::fcntl(file->fd(), F_DUPFD_CLOEXEC, 0));
    if (!source.held.fd.valid()) return FailErrno(errno, "open artifact " + output.artifact.name);
    source.held.size_bytes = output.artifact.size_bytes;
    source.name = LastStep(output.found.path);
    source.told_name = output.found.path;
    source.artifact = output.artifact.name;
    source.may_be_none = reader == kAnyFormat;
    if (reader != kAnyFormat) source.format = reader;
  }
  return plan;
}

std::optional<Status> WhyToolFailed(const Tool& tool, const std::string& run_id, const std::vector<KeptOutput>& kept,
                                    const std::vector<TracePartRow>& parts, const std::vector<TrustReason>& why) {
  const std::string act = "run " + run_id;
  for (size_t i = 0; i < tool.outputs.size(); ++i) {
    const ToolOutput& wanted = tool.outputs[i];
    if (!wanted.required) continue;
    bool is_there = false;
    for (const KeptOutput& output : kept) {
      if (output.found.tool_output != static_cast<int32_t>(i)) continue;
      is_there = true;
      if (wanted.reader.empty()) continue;
      const bool is_part = std::any_of(parts.begin(), parts.end(), [&](const TracePartRow& part) {
        return part.source_artifact == output.artifact.name;
      });
      if (is_part) continue;
      std::string reason = Quoted(output.found.path) + " of " + std::string(tool.name) + " cannot be read";
      for (const TrustReason& known : why) {
        if (known.message.starts_with(Quoted(output.found.path))) reason = known.message;
      }
      return Fail(ErrorCode::kToolFailed, act, reason, "see its artifacts, and kprofctl logs " + run_id);
    }
    if (!is_there) {
      return Fail(ErrorCode::kToolFailed, act,
                  std::string(tool.name) + " left no file that matches '" + std::string(wanted.glob) + "'",
                  "see kprofctl logs " + run_id + " and its --stderr for what it said");
    }
  }
  return std::nullopt;
}

}  // namespace kprof
