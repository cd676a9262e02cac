#include "daemon/ingest/chrome/chrome_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/ingest/chrome/chrome_envelope.h"
#include "daemon/ingest/chrome/chrome_facts.h"
#include "daemon/ingest/chrome/chrome_piece.h"
#include "daemon/ingest/text/json_scan.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {
namespace {

// Those of events that are known and are metadata, at least until their other end is found.
constexpr std::string_view kMetadataPhases = "MBEbenC";
constexpr std::string_view kBlank(" \n\r\t\0", 5);  // zeros are what tapes leave
constexpr size_t kBehindBytes = 4096;               // behind a bracket, that are looked at
constexpr const char* kWriteAgain = "have its tool write it again, or mend it there; a trace is a list of events";
constexpr size_t kRestBytes = 64 << 10;  // behind all, that are looked through at once

// Pieces of a text, read ahead on the pool's threads.
class PiecesAhead {
 public:
  PiecesAhead(TextSource& text, WorkerPool& pool, const ChromeReaderOptions& options)
      : text_(text), pool_(pool), options_(options) {
    for (size_t i = 0; i < options.readers; ++i) {
      free_.push_back(std::make_unique<ChromePieceReader>(text, static_cast<uint32_t>(i + 1), options.piece_bytes,
                                                          options.most_event_bytes, options.sample_text_bytes));
    }
  }
  ~PiecesAhead() { End(); }

  // Reads no further, and waits for those that do.
  void End() {
    std::unique_lock lock(mu_);
    stopping_ = true;
    changed_.wait(lock, [&] { return under_way_ == 0; });
  }

  // The piece with that number, read from where an event is guessed to begin; the first one from where it does.
  Result<ChromePiece> Take(int64_t number) {
    const int64_t last = number + static_cast<int64_t>(2 * options_.readers);
    // One that waits for its source keeps a thread from other work: no more than that one.
    for (; next_ <= last && (next_ == number || text_.HasComeTo((next_ + 1) * options_.piece_bytes)); ++next_) {
      Begin(next_);
    }
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
    ASSIGN_OR_RETURN(const ChromeEnvelope frame, ReadEnvelopeBefore(text_, options_.most_event_bytes, see));
    ASSIGN_OR_RETURN(const ChromePiece last, ReadPieces(frame));
    RETURN_IF_ERROR(WarnOfEnd(last, frame));
    if (last.end == ChromePiece::End::kBracket) RETURN_IF_ERROR(ReadBehind(last.end_bytes + 1, frame, see));
    if (frame.is_list && events_ > 0 && untimed_ == events_) {
      return Fail(ErrorCode::kNotFound, "read it as a Chrome trace",
                  "it is a list of objects that have no time (\"ts\")", "give a list of trace events");
    }
    if (untimed_ > 0)
      sink_.Warn(std::to_string(untimed_) + " events have no time, or one of more than 73 years: kept as metadata");
    if (unknown_ > 0)
      sink_.Warn(std::to_string(unknown_) + " events are of a \"ph\" that is not known: kept as metadata");
    if (rounded_ > 0) {
      sink_.Warn(
          std::to_string(rounded_) +
          " samples of counters are kept as doubles alone: too many different ones have more digits, or are texts");
    }
    if (with_left_out_ > 0) RETURN_IF_ERROR(sink_.SetFact("left_out_of_events", with_left_out_));
    return facts_.Finish(first_time_ns_);
  }

 private:
  // All of them up to the end of the list, or of the text. The last one.
  Result<ChromePiece> ReadPieces(const ChromeEnvelope& frame) {
    const int64_t first = frame.events_bytes / options_.piece_bytes;
    pieces_.StartAt(first, frame.events_bytes);
    int64_t expected = frame.events_bytes;  // where the next event begins
    bool skipping = false;                  // that is not known: with the next one that is found
    for (int64_t number = first;; ++number) {
      ASSIGN_OR_RETURN(ChromePiece piece, pieces_.Take(number));
      const int64_t limit = (number + 1) * options_.piece_bytes;
      if (!skipping && (!piece.has_begin || piece.begin_bytes != expected)) {
        // What it took for an event was none, or it saw none: it is read again from where one does begin, if that is in
        // it at all.
        RETURN_IF_ERROR(TakeNumbersOf(piece));
        if (expected >= limit) {
          text_.Release(limit - ChromePieceReader::kBackBytes);
          continue;
        }
        ASSIGN_OR_RETURN(piece, ReadAgain(expected, limit, true));
      }
      RETURN_IF_ERROR(Take(piece, skipping));
      while (piece.end == ChromePiece::End::kBracket) {
        ASSIGN_OR_RETURN(const Behind behind, LookBehind(piece.end_bytes + 1, frame));
        if (behind.is_end) return piece;
        if (!behind.is_list) {
          skipped_.Add({piece.end_bytes, behind.next_bytes, SkippedPlace::Why::kNoEvent, events_});
        } else if (behind.next_bytes >= limit) {
          piece.end = ChromePiece::End::kNext;
          piece.end_bytes = behind.next_bytes;
          break;
        }
        ASSIGN_OR_RETURN(piece, ReadAgain(behind.next_bytes, limit, behind.is_list));
        RETURN_IF_ERROR(Take(piece, !behind.is_list));
      }
      skipping = piece.end == ChromePiece::End::kSkipping;
      expected = piece.end_bytes;
      text_.Release(std::min(expected, limit) - ChromePieceReader::kBackBytes);  // the next ones are read from there
      if (piece.end == ChromePiece::End::kCut || (skipping && piece.has_text_end)) return piece;
    }
  }

  Result<ChromePiece> ReadAgain(int64_t first_bytes, int64_t limit_bytes, bool is_begin) {
    if (again_ == nullptr) {
      again_ = std::make_unique<ChromePieceReader>(text_, 0, options_.piece_bytes, options_.most_event_bytes,
                                                   options_.sample_text_bytes);
    }
    return again_->Read(first_bytes, limit_bytes, is_begin);
  }

  // `skipping`: what was skipped before it goes on up to where it begins.
  Status Take(ChromePiece& piece, bool skipping) {
    if (skipping) skipped_.GoOnTo(piece.has_begin ? piece.begin_bytes : piece.end_bytes);
    for (SkippedPlace& place : piece.skipped) {
      place.events_before += events_;
      skipped_.Add(place);
    }
    events_ += piece.events;
    untimed_ += piece.untimed;
    with_left_out_ += piece.with_left_out;
    rounded_ += piece.rounded;
    for (const int64_t phase : piece.batch.of(EventKind::kMetadata).of(EventColumn::kPhase)) {
      if (kMetadataPhases.find(static_cast<char>(phase)) == kMetadataPhases.npos) ++unknown_;
    }
    if (first_time_ns_ == 0) first_time_ns_ = piece.first_time_ns;
    CountLaunches(piece);
    RETURN_IF_ERROR(sink_.Take(std::move(piece.batch)));
    return sink_.Progress(text_.SourceBytesAt(piece.end_bytes), events_);
  }

  // Each reader counts its own.
  void CountLaunches(ChromePiece& piece) {
    for (SideRows& rows : piece.batch.side) {
      for (int64_t& launch : rows.columns[static_cast<size_t>(MetricColumn::kLaunch)]) {
        launch += launches_ - piece.first_launch;
      }
    }
    launches_ += piece.counted_launches;
  }

  // Its rows are forgotten; what its reader knows is not said again.
  Status TakeNumbersOf(ChromePiece& piece) {
    TraceBatch batch = std::move(piece.batch);
    batch.rows = {};
    batch.side.clear();
    batch.told_names.clear();
    return sink_.Take(std::move(batch));
  }

  // What stands behind a bracket that may close the list.
  struct Behind {
    bool is_end = true;      // it does
    bool is_list = false;    // else: another list begins there, as where several were put into one file
    int64_t next_bytes = 0;  // where to go on
  };

  // Where something was skipped the bracket may be of a list within an event.
  Result<Behind> LookBehind(int64_t from_bytes, const ChromeEnvelope& frame) {
    std::array<char, kBehindBytes> bytes;
    ASSIGN_OR_RETURN(const size_t size, text_.ReadAt(from_bytes, bytes));
    const std::string_view text(bytes.data(), size);
    const size_t at = text.find_first_not_of(kBlank);
    if (at == text.npos) return Behind{};
    if (frame.is_list && text[at] == '[') return Behind{false, true, from_bytes + static_cast<int64_t>(at) + 1};
    const char* events = frame.is_list ? nullptr : FindNextEvents(text);
    if (events != nullptr) return Behind{false, true, from_bytes + (events - text.data())};
    if (skipped_.empty()) return Behind{};
    const size_t next = text.find_first_not_of(kBlank, at + 1);
    const bool is_end = text[at] == '}' ? next == text.npos : text[at] == ',' && next != text.npos && text[next] == '"';
    if (!frame.is_list && is_end) return Behind{};
    return Behind{false, false, from_bytes};
  }

  // What stands behind the list.
  Status ReadBehind(int64_t from_bytes, const ChromeEnvelope& frame, const SeeMember& see) {
    if (!frame.is_list) {
      ASSIGN_OR_RETURN(const ChromeEnvelopeEnd behind,
                       ReadEnvelopeBehind(text_, from_bytes, options_.most_event_bytes, see));
      if (behind.more_events_bytes) {
        sink_.Warn("another list of events begins behind other members at byte " +
                   std::to_string(*behind.more_events_bytes) + ": it was not read" +
                   (behind.end_bytes ? "" : ", nor what stands behind it"));
        if (!behind.end_bytes) return OkStatus();
      }
      if (!behind.end_bytes) {
        const std::optional<Status> cut = text_.WhyCut();
        sink_.Warn("what stands behind its events, from byte " + std::to_string(from_bytes) +
                   " on, is cut off or no JSON: of that, what is whole was read" + (cut ? "; " + cut->why() : ""));
        return OkStatus();
      }
      from_bytes = *behind.end_bytes;
    }
    pieces_.End();  // they would read what is released here
    std::vector<char> bytes(kRestBytes);
    while (true) {
      ASSIGN_OR_RETURN(const size_t size, text_.ReadAt(from_bytes, bytes));
      const size_t at = std::string_view(bytes.data(), size).find_first_not_of(kBlank);
      if (at != std::string_view::npos) {
        sink_.Warn("its trace ends before byte " + std::to_string(from_bytes + static_cast<int64_t>(at)) +
                   ": what stands from there on was not read");
        return OkStatus();
      }
      from_bytes += static_cast<int64_t>(size);
      if (size < bytes.size()) break;
      text_.Release(from_bytes);
      RETURN_IF_ERROR(sink_.Progress(text_.SourceBytesAt(from_bytes), events_));
    }
    if (const std::optional<Status> cut = text_.WhyCut()) {
      sink_.Warn("all of its trace was read, but it cannot be read to its end: " + cut->why());
    }
    return OkStatus();
  }

  Status WarnOfEnd(const ChromePiece& last, const ChromeEnvelope& frame) {
    const bool is_closed = last.end == ChromePiece::End::kBracket;
    const bool ends_skipping = last.end == ChromePiece::End::kSkipping;
    skipped_.Warn(sink_, !ends_skipping);
    const std::string at = "byte " + std::to_string(last.end_bytes);
    if (const std::optional<Status> cut = is_closed ? std::nullopt : text_.WhyCut()) {
      if (events_ == 0) return cut->In("read it");
      sink_.Warn("it cannot be read beyond " + at + " of its text: " + cut->why() + "; what is whole before was kept");
      if (!ends_skipping) return OkStatus();
    }
    if (events_ == 0 && !skipped_.empty()) {
      // What is said to hold events is a trace, and damaged; a list of other things is none.
      const ErrorCode code = frame.is_list ? ErrorCode::kNotFound : ErrorCode::kBadInput;
      return Fail(code, "read it as a Chrome trace", skipped_.first().Sentence(), kWriteAgain);
    }
    if (is_closed) return OkStatus();
    const std::string what = ends_skipping ? skipped_.last().Sentence() : "it ends at " + at + ", in the middle";
    if (events_ == 0) return Fail(ErrorCode::kBadInput, "read it as a Chrome trace", what, kWriteAgain);
    // A list without its closing bracket is a whole trace.
    const bool is_whole = frame.is_list && !ends_skipping && IsBlankFrom(last.end_bytes);
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
  int64_t first_time_ns_ = 0;  // of the first event that has one
  SkippedText skipped_;
  int64_t events_ = 0;
  int64_t untimed_ = 0;
  int64_t with_left_out_ = 0;
  int64_t rounded_ = 0;
  int64_t launches_ = 0;
  int64_t unknown_ = 0;  // whose phase says nothing here
  PiecesAhead pieces_;
};

}  // namespace

Status ReadChrome(TextSource& text, WorkerPool& pool, BatchSink& sink, const ChromeReaderOptions& options) {
  return Reading(text, pool, sink, options).ReadAll();
}

Status ReadChromeEnd(std::string_view end_of_text, BatchSink& sink) {
  ChromeFacts facts(sink);
  return SeeMembersAtEnd(end_of_text,
                         [&](std::string_view key, std::string_view value) { return facts.See(key, value); });
}

bool LooksLikeChrome(std::span<const char> first) {
  std::string_view text(first.data(), first.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != text.npos && (text[at] == '{' || text[at] == '[');
}

}  // namespace kprof
