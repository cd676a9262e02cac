#include "daemon/clocks/keeper/note_store.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>
#include <utility>

#include "storage/crypto/sha256.h"

namespace kprof {
namespace {

constexpr std::string_view kSum = "sum ";
constexpr size_t kSumLength = 16;
constexpr size_t kTextLimit = 16 << 10;
constexpr size_t kShownLine = 80;

std::string SumOf(std::string_view text) {
  return Sha256Of(text).substr(0, kSumLength);
}

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

template <typename T>
bool ParseNumber(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void NoteText::Add(std::string_view key, const std::string& value) {
  text_.append(key).append(" ").append(OneLine(value)).append("\n");
}

std::string NoteText::Finish() const {
  return text_ + std::string(kSum) + SumOf(text_) + "\n";
}

Status DamagedNote(const NoteKind& kind, const std::string& why) {
  return Fail(ErrorCode::kStorageBroken, kind.what, why, kind.remedy);
}

Status ReadNoteText(std::string_view text, const NoteKind& kind,
                    const std::function<bool(std::string_view key, std::string_view value)>& take) {
  const std::string first_line = std::string(kind.first_line) + "\n";
  if (text.size() > kTextLimit) return DamagedNote(kind, "the file is too long to be one of kprof's");
  if (!text.starts_with(first_line)) {
    return DamagedNote(kind, "its first line is not '" + std::string(kind.first_line) + "'");
  }
  const size_t sum = text.rfind(kSum);
  if (sum == std::string_view::npos || sum == 0 || text[sum - 1] != '\n') {
    return DamagedNote(kind, "its last line is missing");
  }
  if (text.substr(sum) != std::string(kSum) + SumOf(text.substr(0, sum)) + "\n") {
    return DamagedNote(kind, "its sum is not that of its lines");
  }
  std::string_view rest = text.substr(first_line.size(), sum - first_line.size());
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || !take(line.substr(0, space), line.substr(space + 1))) {
      return DamagedNote(kind, "it holds the line '" + std::string(line.substr(0, kShownLine)) + "'");
    }
  }
  return OkStatus();
}

bool ParseNoteNumber(std::string_view text, int64_t& number) {
  return ParseNumber(text, number);
}

bool ParseNoteNumber(std::string_view text, std::optional<uint32_t>& number) {
  return ParseNumber(text, number.emplace());
}

bool ParseNoteFlag(std::string_view text, bool& flag) {
  flag = text == "1";
  return text == "1" || text == "0";
}

namespace {

constexpr const char* kHeld = ".held";
constexpr const char* kLock = ".lock";
constexpr const char* kUnfinished = ".new";
constexpr const char* kDamaged = ".damaged";
constexpr int64_t kHoldLimitBytes = 64 << 10;
constexpr size_t kMostName = 96;
constexpr auto kLookAgain = std::chrono::milliseconds(10);

}  // namespace

bool IsNoteName(const std::string& name) {
  return !name.empty() && name.size() <= kMostName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string NoteStore::PathOf(const std::string& name) const {
  return folder_ + "/" + name + kHeld;
}

Status NoteStore::Write(const std::string& name, const std::string& text) {
  RETURN_IF_ERROR(Rewrite(name, text));
  return files_.SyncFolder(folder_);
}

Status NoteStore::Rewrite(const std::string& name, const std::string& text) {
  const std::string path = PathOf(name);
  const std::string unfinished = path + kUnfinished;
  auto write = [&]() -> Status {
    RETURN_IF_ERROR(CreateFolders(files_, folder_));
    RETURN_IF_ERROR(files_.Remove(unfinished));
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.Create(unfinished));
    RETURN_IF_ERROR(file->Append(text));
    RETURN_IF_ERROR(file->Sync());
    return files_.Rename(unfinished, path);
  };
  Status written = write();
  if (!written.ok()) (void)files_.Remove(unfinished);
  return written;
}

Result<std::optional<std::string>> NoteStore::Read(const std::string& name) {
  Result<std::string> text = ReadWholeFile(files_, PathOf(name), kHoldLimitBytes);
  if (!text.ok() && text.status().code() == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!text.ok()) return text.status();
  return std::optional<std::string>(*std::move(text));
}

Status NoteStore::Remove(const std::string& name) {
  RETURN_IF_ERROR(files_.Remove(PathOf(name)));
  return files_.SyncFolder(folder_);
}

Status NoteStore::SetAside(const std::string& name) {
  RETURN_IF_ERROR(files_.Rename(PathOf(name), PathOf(name) + kDamaged));
  return files_.SyncFolder(folder_);
}

Result<std::vector<std::string>> NoteStore::List() {
  Result<std::vector<FolderEntry>> entries = files_.List(folder_);
  if (!entries.ok() && entries.status().code() == ErrorCode::kNotFound) return std::vector<std::string>();
  if (!entries.ok()) return entries.status();
  std::vector<std::string> names;
  for (const FolderEntry& entry : *entries) {
    if (entry.is_folder || !entry.name.ends_with(kHeld)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - std::string_view(kHeld).size());
    if (IsNoteName(name)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::unique_ptr<File>> NoteStore::Lock(const std::string& name, const std::string& whose, int64_t wait_ms) {
  const std::string path = folder_ + "/" + name + kLock;
  RETURN_IF_ERROR(CreateFolders(files_, folder_));
  Result<std::unique_ptr<File>> file = files_.OpenForWrite(path);
  if (!file.ok()) file = files_.Create(path);
  if (!file.ok()) file = files_.OpenForWrite(path);  // another has made it meanwhile
  if (!file.ok()) return file.status();
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (::flock((*file)->fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return FailErrno(errno, "lock " + path);
    if (std::chrono::steady_clock::now() >= until) {
      return Fail(ErrorCode::kTimedOut, "lock " + path,
                  "another process of kprof's is at work on " + whose + ", or hangs in a call",
                  "see dmesg for what the driver says; a driver that hangs wants a reboot");
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return file;
}

}  // namespace kprof
