#include "daemon/ingest/source/text_source.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/ingest/source/source_hash.h"
#include "storage/base/mutex.h"

namespace kprof {

Result<size_t> TextHead::ReadAt(int64_t offset_bytes, std::span<char> out) {
  const auto left = static_cast<size_t>(std::max<int64_t>(size_bytes_ - offset_bytes, 0));
  if (out.size() > left) was_cut_ = true;
  if (left == 0) return size_t{0};
  return text_.ReadAt(offset_bytes, out.first(std::min(out.size(), left)));
}

Result<std::optional<std::string>> ReadTextEnd(TextSource& text, int64_t from_bytes, int64_t until_bytes,
                                               size_t most_bytes) {
  std::string end;
  std::string piece(most_bytes, '\0');
  for (int64_t at = from_bytes; at <= until_bytes; at += static_cast<int64_t>(most_bytes)) {
    ASSIGN_OR_RETURN(const size_t size, text.ReadAt(at, piece));
    end.append(piece, 0, size);
    end.erase(0, end.size() - std::min(end.size(), most_bytes));
    if (size < most_bytes) return std::optional(std::move(end));
    text.Release(at + static_cast<int64_t>(size));
  }
  return std::optional<std::string>();
}

Status NotPackedBehind(std::string_view tool, int64_t source_bytes) {
  const std::string name(tool);
  return Fail(ErrorCode::kBadInput, "unpack " + name,
              "from byte " + std::to_string(source_bytes) +
                  " of the file on, behind what is packed, stands what is no " + name);
}

namespace {

class PlainText : public TextSource {
 public:
  explicit PlainText(const SourceFile& file) : file_(file), end_bytes_(file.size_bytes()) {}

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    const int64_t rest = std::max<int64_t>(0, end_bytes_ - offset_bytes);
    if (rest < static_cast<int64_t>(out.size())) out = out.first(static_cast<size_t>(rest));
    ASSIGN_OR_RETURN(const size_t size, file_.ReadAt(offset_bytes, out));
    if (size < out.size()) EndAt(offset_bytes + static_cast<int64_t>(size));
    HashBlock(offset_bytes, out.first(size));
    return size;
  }

  bool HasComeTo(int64_t offset_bytes) override { return file_.HasComeTo(offset_bytes); }
  void Release(int64_t) override {}
  int64_t SourceBytesAt(int64_t offset_bytes) override { return std::min(offset_bytes, file_.size_bytes()); }
  std::optional<Status> WhyCut() override {
    const int64_t end_bytes = end_bytes_;
    return end_bytes < file_.size_bytes() ? std::optional(file_.WhyShorter(end_bytes)) : std::nullopt;
  }

  Result<std::string> FinishHash(const std::stop_token& stop) override {
    RETURN_IF_ERROR(file_.WaitUntilWhole());
    std::vector<char> block;
    for (size_t i = 0; i < SourceHash::BlocksOf(file_.size_bytes()); ++i) {
      if (hash_.Has(i)) continue;
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "read " + file_.name(), "it was cancelled");
      block.resize(kHashBlockBytes);
      RETURN_IF_ERROR(ReadAt(static_cast<int64_t>(i * kHashBlockBytes), block).status());
    }
    return end_bytes_ < file_.size_bytes() ? std::string() : hash_.Finish(file_.size_bytes());
  }

 private:
  // It became shorter: the text ends there, also if it grows again.
  void EndAt(int64_t offset_bytes) {
    int64_t before = end_bytes_;
    while (offset_bytes < before && !end_bytes_.compare_exchange_weak(before, offset_bytes)) {
    }
  }
  // Whole blocks are hashed as they come by.
  void HashBlock(int64_t offset_bytes, std::span<const char> bytes) {
    if (offset_bytes % static_cast<int64_t>(kHashBlockBytes) != 0) return;
    const auto size = static_cast<size_t>(
        std::clamp<int64_t>(file_.size_bytes() - offset_bytes, 0, static_cast<int64_t>(kHashBlockBytes)));
    if (size == 0 || bytes.size() < size) return;
    hash_.AddBlock(static_cast<size_t>(offset_bytes) / kHashBlockBytes, bytes.first(size));
  }

  const SourceFile& file_;
  SourceHash hash_;
  std::atomic<int64_t> end_bytes_;  // of the text; more than any has while that is not known
};

}  // namespace

std::unique_ptr<TextSource> OpenPlainText(const SourceFile& file) {
  return std::make_unique<PlainText>(file);
}

namespace {

class PackedText : public TextSource {
 public:
  PackedText(const SourceFile& file, std::unique_ptr<Unpacker> unpacker, const PackedTextLimits& limits)
      : file_(file), unpacker_(std::move(unpacker)), limits_(limits) {
    try {
      thread_ = std::thread([this] {
        while (UnpackBlock()) {
        }
      });
    } catch (const std::system_error&) {
    }
  }
  ~PackedText() override {
    Stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<size_t> ReadAt(int64_t offset_bytes, std::span<char> out) override {
    size_t done = 0;
    while (done < out.size()) {
      const int64_t at = offset_bytes + static_cast<int64_t>(done);
      Block block;
      size_t size = 0;
      if (!thread_.joinable()) UnpackUpTo(at);
      {
        std::unique_lock lock(mu_);
        wanted_ = std::max(wanted_, static_cast<size_t>(at / kBlock) + 1);
        has_room_.notify_one();
        has_more_.wait(lock, [&] { return at < text_bytes_ || ended_; });
        if (!failure_.ok()) return failure_;
        if (at >= text_bytes_) break;
        const auto number = static_cast<size_t>(at / kBlock) - first_block_;
        KPROF_CHECK(at >= 0 && number < blocks_.size());
        block = blocks_[number];
        size = static_cast<size_t>(std::min<int64_t>(text_bytes_, (at / kBlock + 1) * kBlock) - at);
      }
      size = std::min(size, out.size() - done);
      std::memcpy(out.data() + done, block->data() + at % kBlock, size);
      done += size;
    }
    return done;
  }

  bool HasComeTo(int64_t offset_bytes) override {
    if (file_.HasComeTo(std::numeric_limits<int64_t>::max())) return true;
    const std::scoped_lock lock(mu_);
    return ended_ || offset_bytes <= text_bytes_;
  }

  void Release(int64_t offset_bytes) override {
    const std::scoped_lock lock(mu_);
    while (!blocks_.empty() && static_cast<int64_t>(first_block_ + 1) * kBlock <= offset_bytes) {
      if (blocks_.front().use_count() == 1 && free_.size() < limits_.blocks_ahead) {
        free_.push_back(std::move(blocks_.front()));
      }
      blocks_.pop_front();
      ends_.pop_front();
      ++first_block_;
    }
    has_room_.notify_one();
  }

  int64_t SourceBytesAt(int64_t offset_bytes) override {
    const std::scoped_lock lock(mu_);
    if (ends_.empty()) return ended_ ? last_end_ : 0;
    const auto block = static_cast<size_t>(offset_bytes / kBlock);
    if (block < first_block_) return ends_.front();
    return ends_[std::min(block - first_block_, ends_.size() - 1)];
  }

  std::optional<Status> WhyCut() override {
    const std::scoped_lock lock(mu_);
    return cut_;
  }

  Result<std::string> FinishHash(const std::stop_token& stop) override {
    Stop();
    while (!source_read_) {
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "read " + file_.name(), "it was cancelled");
      RETURN_IF_ERROR(ReadSource().status());
    }
    if (!shorter_) return hash_.Finish(read_bytes_);
    const std::scoped_lock lock(mu_);
    if (!cut_) cut_ = shorter_;
    return std::string();
  }

 private:
  static constexpr auto kBlock = static_cast<int64_t>(kTextBlockBytes);
  using Block = std::shared_ptr<std::vector<char>>;  // a reader may still copy from one that was released

  void Stop() {
    {
      const std::scoped_lock lock(mu_);
      stopping_ = true;
    }
    has_room_.notify_one();
    if (thread_.joinable()) {
      std::unique_lock lock(mu_);
      has_more_.wait(lock, [&] { return ended_; });
    }
  }

  // The next block of the source, hashed; what there is of it where the source became shorter; none at its end.
  Result<std::span<const char>> ReadSource() {
    source_.resize(kHashBlockBytes);
    if (source_read_) return std::span<const char>();
    const auto most = static_cast<size_t>(std::min<int64_t>(kHashBlockBytes, file_.size_bytes() - read_bytes_));
    ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(read_bytes_, std::span(source_.data(), most)));
    const std::span<const char> block(source_.data(), got);
    if (got > 0) hash_.AddBlock(static_cast<size_t>(read_bytes_) / kHashBlockBytes, block);
    read_bytes_ += static_cast<int64_t>(got);
    source_read_ = got < kHashBlockBytes;  // its size is known then
    if (source_read_ && read_bytes_ < file_.size_bytes()) shorter_ = file_.WhyShorter(read_bytes_);
    return block;
  }

  // Without a thread that does.
  void UnpackUpTo(int64_t at) {
    const std::scoped_lock turn(unpacking_);
    while (true) {
      {
        const std::scoped_lock lock(mu_);
        if (at < text_bytes_ || ended_) return;
        wanted_ = std::max(wanted_, static_cast<size_t>(at / kBlock) + 1);  // so that there is room
      }
      if (!UnpackBlock()) return;
    }
  }

  // The next one. Whether there may be more behind it.
  bool UnpackBlock() {
    Status failure;
    std::optional<Status> cut;
    if (UnpackBlock(failure, cut)) return true;
    const std::scoped_lock lock(mu_);
    failure_ = std::move(failure);
    cut_ = std::move(cut);
    ended_ = true;
    has_more_.notify_all();
    return false;
  }

  bool UnpackBlock(Status& failure, std::optional<Status>& cut) {
    Block block = NextBlock();
    if (block == nullptr) return false;
    size_t filled = 0;
    while (filled < kTextBlockBytes) {
      if (in_.empty() && !source_ended_) {
        Result<std::span<const char>> read = ReadSource();
        if (!read.ok()) {
          failure = read.status();
          return false;
        }
        in_ = *read;
        source_ended_ = in_.empty();
      }
      const std::span<char> out(block->data() + filled, kTextBlockBytes - filled);
      const Result<Unpacker::Step> step = unpacker_->Unpack(in_, out);
      if (!step.ok()) {
        cut = step.status();
        break;
      }
      in_ = in_.subspan(step->taken);
      filled += step->made;
      if (source_ended_ && step->made == 0) break;
      if (step->made == 0 && step->taken == 0 && !in_.empty()) {
        cut = Fail(ErrorCode::kBadInput, "unpack it", "nothing can be made of it", kPackAgain);
        break;
      }
    }
    unpacked_bytes_ += static_cast<int64_t>(filled);
    const auto source = read_bytes_ - static_cast<int64_t>(in_.size());
    if (!cut && filled < kTextBlockBytes && shorter_) cut = shorter_;
    if (!cut && filled < kTextBlockBytes && !unpacker_->AtEnd()) {
      cut = Fail(ErrorCode::kBadInput, "unpack it",
                 "it ends in the middle, at byte " + std::to_string(read_bytes_) + ": it was cut off", kPackAgain);
    }
    if (!cut) cut = WhyTooMuch(unpacked_bytes_, source);
    Publish(std::move(block), unpacked_bytes_, source);
    return !cut && filled == kTextBlockBytes;
  }

  std::optional<Status> WhyTooMuch(int64_t text, int64_t source) const {
    if (text > limits_.text_bytes) {
      return Fail(ErrorCode::kBadInput, "unpack it",
                  "it has more than " + std::to_string(limits_.text_bytes >> 20) + " MiB of text",
                  "unpack it, and import a part of it");
    }
    if (text > limits_.least_bytes_of_ratio && text / std::max<int64_t>(source, 1) > limits_.most_ratio) {
      return Fail(ErrorCode::kBadInput, "unpack it",
                  "its text is more than " + std::to_string(limits_.most_ratio) + " times what it is packed",
                  "unpack it first, if it is what you expect");
    }
    return std::nullopt;
  }

  // Waits for room; null when it is to stop.
  Block NextBlock() {
    std::unique_lock lock(mu_);
    has_room_.wait(lock, [&] {
      const size_t next = first_block_ + blocks_.size();
      return stopping_ || blocks_.size() < limits_.blocks_ahead || next < wanted_;
    });
    if (stopping_) return nullptr;
    if (free_.empty()) return std::make_shared<std::vector<char>>(kTextBlockBytes);
    Block block = std::move(free_.back());
    free_.pop_back();
    return block;
  }

  void Publish(Block block, int64_t text_bytes, int64_t source_bytes) {
    const std::scoped_lock lock(mu_);
    blocks_.push_back(std::move(block));
    ends_.push_back(source_bytes);
    last_end_ = source_bytes;
    text_bytes_ = text_bytes;
    has_more_.notify_all();
  }

  const SourceFile& file_;
  const std::unique_ptr<Unpacker> unpacker_;
  const PackedTextLimits limits_;
  // Of the unpacking thread, and of who finishes when that has ended; without one, of who holds unpacking_.
  SourceHash hash_;
  int64_t read_bytes_ = 0;         // of the source
  bool source_read_ = false;       // to its end
  std::optional<Status> shorter_;  // once it is seen that the source is
  std::vector<char> source_;
  std::span<const char> in_;  // of source_, what is not unpacked yet
  bool source_ended_ = false;
  int64_t unpacked_bytes_ = 0;  // of text

  std::mutex unpacking_;  // before mu_

  std::mutex mu_;
  std::condition_variable has_more_;
  std::condition_variable has_room_;
  std::deque<Block> blocks_;  // from first_block_ on
  std::deque<int64_t> ends_;  // of each, where in the source it ends
  int64_t last_end_ = 0;      // the last of these that there was
  std::vector<Block> free_;
  size_t first_block_ = 0;
  size_t wanted_ = 0;       // blocks that somebody waits for, however far ahead they are
  int64_t text_bytes_ = 0;  // that are unpacked
  bool ended_ = false;
  bool stopping_ = false;
  Status failure_;
  std::optional<Status> cut_;
  std::thread thread_;  // none where it cannot be started; as it is once this is made
};

}  // namespace

std::unique_ptr<TextSource> OpenPackedText(const SourceFile& file, std::unique_ptr<Unpacker> unpacker,
                                           const PackedTextLimits& limits) {
  return std::make_unique<PackedText>(file, std::move(unpacker), limits);
}

}  // namespace kprof
