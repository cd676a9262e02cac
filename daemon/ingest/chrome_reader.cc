#include "daemon/ingest/chrome_reader.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/ingest/chrome_facts.h"
#include "daemon/ingest/chrome_frame.h"
#include "daemon/ingest/chrome_piece.h"
#include "daemon/ingest/json_scan.h"

namespace kprof {
namespace {

// Pieces of a text, read ahead on the pool's threads.
class PiecesAhead {
 public:
  PiecesAhead(TextSource& text, WorkerPool& pool, const ChromeReaderOptions& options)
      : text_(text), pool_(pool), options_(options) {
    for (size_t i = 0; i < options.readers; ++i) {
      free_.push_back(std::make_unique<ChromePieceReader>(text, static_cast<uint32_t>(i + 1), options.piece_bytes,
                                                          options.most_event_bytes));
    }
  }
  ~PiecesAhead() {
    std::unique_lock lock(mu_);
    stopping_ = true;
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }

  // The piece with that number, read from where an event is guessed to begin; the first one from where it does.
  Result<ChromePiece> Take(int64_t number) {
    const int64_t last = number + static_cast<int64_t>(2 * options_.readers);
    for (; next_ <= last; ++next_) Begin(next_);
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return done_.count(number) > 0; });
    Result<ChromePiece> piece = std::move(done_.at(number));
    done_.erase(number);
    return piece;
  }

  void StartAt(int64_t number, int64_t first_bytes) {
    next_ = number;
    first_ = number;
    first_bytes_ = first_bytes;
  }

 private:
  void Begin(int64_t number) {
    {
      const std::scoped_lock lock(mu_);
      ++under_way_;
    }
    auto read = [this, number] {
      std::unique_ptr<ChromePieceReader> reader;
      {
        std::unique_lock lock(mu_);
        changed_.wait(lock, [&] { return !free_.empty() && number == next_to_read_; });
        ++next_to_read_;
        reader = std::move(free_.back());
        free_.pop_back();
        changed_.notify_all();
      }
      const bool is_first = number == first_;
      const int64_t begin = is_first ? first_bytes_ : number * options_.piece_bytes;
      Result<ChromePiece> piece = stopping_ ? Result<ChromePiece>(ChromePiece())
                                            : reader->Read(begin, (number + 1) * options_.piece_bytes, is_first);
      const std::scoped_lock lock(mu_);
      free_.push_back(std::move(reader));
      done_.emplace(number, std::move(piece));
      --under_way_;
      changed_.notify_all();
    };
    if (number == first_) next_to_read_ = first_;
    if (!pool_.Submit(read).ok()) read();
  }

  TextSource& text_;
  WorkerPool& pool_;
  const ChromeReaderOptions options_;
  int64_t next_ = 0;
  int64_t first_ = 0;
  int64_t first_bytes_ = 0;
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<ChromePieceReader>> free_;
  std::map<int64_t, Result<ChromePiece>> done_;
  int64_t next_to_read_ = 0;  // a reader's pieces are in the order of the text
  size_t under_way_ = 0;
  std::atomic<bool> stopping_ = false;
};

class Reading {
 public:
  Reading(TextSource& text, WorkerPool& pool, BatchSink& sink, const ChromeReaderOptions& options)
      : text_(text), sink_(sink), options_(options), facts_(sink), pieces_(text, pool, options) {}

  Status ReadAll() {
    const auto see = [this](std::string_view key, std::string_view value) { return facts_.See(key, value); };
    ASSIGN_OR_RETURN(const ChromeFrame frame, ReadFrameBefore(text_, options_.most_event_bytes, see));
    ASSIGN_OR_RETURN(const ChromePiece last, ReadPieces(frame.events_bytes));
    if (last.end == ChromePiece::End::kBracket && !frame.is_list) {
      ASSIGN_OR_RETURN(const bool is_closed,
                       ReadFrameBehind(text_, last.end_bytes + 1, options_.most_event_bytes, see));
      if (!is_closed)
        sink_.Warn("what stands behind its events, from byte " + std::to_string(last.end_bytes + 1) +
                   " on, is cut off or no JSON: of that, what is whole was read");
    }
    RETURN_IF_ERROR(WarnOfEnd(last, frame));
    if (untimed_ > 0)
      sink_.Warn(std::to_string(untimed_) + " events have no time, or one of more than 73 years: left out");
    return facts_.Finish(first_time_ns_);
  }

 private:
  // All of them up to the end of the list, or of what can be read. The last one.
  Result<ChromePiece> ReadPieces(int64_t events_bytes) {
    const int64_t first = events_bytes / options_.piece_bytes;
    pieces_.StartAt(first, events_bytes);
    int64_t expected = events_bytes;  // where the next event begins
    for (int64_t number = first;; ++number) {
      ASSIGN_OR_RETURN(ChromePiece piece, pieces_.Take(number));
      const int64_t limit = (number + 1) * options_.piece_bytes;
      if (!piece.has_begin || piece.begin_bytes != expected) {
        // What it took for an event was none, or it saw none: it is read again from where one does begin, if that is in
        // it at all.
        RETURN_IF_ERROR(TakeNumbersOf(piece));
        if (expected >= limit) {
          text_.Release(limit - ChromePieceReader::kBackBytes);
          continue;
        }
        ASSIGN_OR_RETURN(piece, ReadAgain(expected, limit));
      }
      expected = piece.end_bytes;
      const ChromePiece::End end = piece.end;
      RETURN_IF_ERROR(Take(piece));
      text_.Release(std::min(expected, limit) - ChromePieceReader::kBackBytes);  // the next ones are read from there
      if (end != ChromePiece::End::kNext) return piece;
    }
  }

  Result<ChromePiece> ReadAgain(int64_t first_bytes, int64_t limit_bytes) {
    if (again_ == nullptr) {
      again_ = std::make_unique<ChromePieceReader>(text_, 0, options_.piece_bytes, options_.most_event_bytes);
    }
    return again_->Read(first_bytes, limit_bytes, true);
  }

  Status Take(ChromePiece& piece) {
    events_ += piece.events;
    untimed_ += piece.untimed;
    if (!first_time_ns_) {
      for (const EventRows& rows : piece.batch.rows) {
        for (const int64_t time : rows.of(EventColumn::kTime)) {
          if (time != 0 && (!first_time_ns_ || time < *first_time_ns_)) first_time_ns_ = time;
        }
      }
    }
    RETURN_IF_ERROR(sink_.Take(std::move(piece.batch)));
    return sink_.Progress(text_.SourceBytesAt(piece.end_bytes), events_);
  }

  // Its rows are forgotten; what its reader knows is not said again.
  Status TakeNumbersOf(ChromePiece& piece) {
    TraceBatch batch = std::move(piece.batch);
    batch.rows = {};
    return sink_.Take(std::move(batch));
  }

  Status WarnOfEnd(const ChromePiece& last, const ChromeFrame& frame) {
    const std::string at = "byte " + std::to_string(last.end_bytes);
    if (const std::optional<Status> cut = text_.WhyCut(); cut && last.end != ChromePiece::End::kBracket) {
      if (events_ == 0) return cut->In("read it");
      sink_.Warn("it cannot be unpacked beyond " + at + " of its text: " + cut->why() +
                 "; what is whole before was kept");
      return OkStatus();
    }
    if (last.end == ChromePiece::End::kBracket) return OkStatus();
    std::string what = "what stands at " + at + " is no event";
    if (last.end == ChromePiece::End::kCut) what = "it ends at " + at + ", in the middle";
    if (last.end == ChromePiece::End::kTooLarge) what = "the event at " + at + " is larger than one may be";
    if (events_ == 0) return Fail(ErrorCode::kBadInput, "read it as a Chrome trace", what);
    // A list without its closing bracket is a whole trace.
    const bool is_whole = frame.is_list && last.end == ChromePiece::End::kCut && IsBlankFrom(last.end_bytes);
    if (!is_whole) sink_.Warn(what + "; the " + std::to_string(events_) + " events before were kept");
    return OkStatus();
  }

  bool IsBlankFrom(int64_t offset_bytes) {
    char next = '\0';
    const Result<size_t> got = text_.ReadAt(offset_bytes, std::span(&next, 1));
    return got.ok() && *got == 0;
  }

  TextSource& text_;
  BatchSink& sink_;
  const ChromeReaderOptions options_;
  ChromeFacts facts_;
  std::unique_ptr<ChromePieceReader> again_;
  std::optional<int64_t> first_time_ns_;
  int64_t events_ = 0;
  int64_t untimed_ = 0;
  PiecesAhead pieces_;
};

}  // namespace

Status ReadChrome(TextSource& text, WorkerPool& pool, BatchSink& sink, const ChromeReaderOptions& options) {
  return Reading(text, pool, sink, options).ReadAll();
}

bool LooksLikeChrome(std::span<const char> first) {
  std::string_view text(first.data(), first.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && (text[at] == '{' || text[at] == '[');
}

}  // namespace kprof
