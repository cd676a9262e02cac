#include "client/cli/verbs/verb_logs.h"

#include <chrono>
#include <utility>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/json_writer.h"
#include "client/cli/verbs/verbs.h"
#include "client/cli/waiting/follow_run.h"
#include "storage/base/readable_text.h"

namespace kprof::cli {
namespace {

// One object per piece, cut between characters.
class JsonPieces {
 public:
  JsonPieces(std::string run_id, bool from_stderr, Output& output)
      : run_id_(std::move(run_id)), from_stderr_(from_stderr), output_(output) {}

  void Add(const v1::ReadLogResponse& piece) {
    // What was cut off before a gap stays cut off.
    if (piece.dropped_bytes() > 0) Finish();
    pending_ += piece.data();
    size_t whole = WholeUtf8Size(pending_);
    if (whole > 0 || piece.dropped_bytes() > 0) Write(pending_.substr(0, whole), piece.dropped_bytes());
    pending_.erase(0, whole);
  }

  void Finish() {
    if (!pending_.empty()) Write(pending_, 0);
    pending_.clear();
  }

 private:
  void Write(std::string_view data, int64_t dropped_bytes) {
    output_.Write(JsonLine("kprof.log.v1", [&](JsonWriter& json) {
      json.Key("run").String(run_id_).Key("stream").String(from_stderr_ ? "stderr" : "stdout");
      json.Key("dropped_bytes").Int(dropped_bytes).Key("data").String(data);
    }));
  }

  const std::string run_id_;
  const bool from_stderr_;
  Output& output_;
  std::string pending_;
};

}  // namespace

Status RunVerb(const LogsArgs& args, const VerbContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<KprofClient> client, context.connect());
  Output& output = context.output;
  v1::ReadLogRequest request;
  request.set_id(args.run);
  if (context.global.json) {
    ASSIGN_OR_RETURN(v1::Run run, FindRun(*client, args.run, "read log of run"));
    request.set_id(run.id());
  }
  request.set_stream(args.from_stderr ? v1::OUTPUT_STREAM_STDERR : v1::OUTPUT_STREAM_STDOUT);
  request.set_follow(args.follow);
  JsonPieces pieces(request.id(), args.from_stderr, output);
  LogGapNotes gaps;
  Status status = client->ReadLog(request, [&](const v1::ReadLogResponse& piece) {
    if (context.global.json) {
      pieces.Add(piece);
    } else {
      if (auto note = gaps.OnPiece(piece.dropped_bytes(), std::chrono::steady_clock::now())) {
        (void)output.Flush();
        output.Note(*note);
      }
      output.Write(piece.data());
    }
    // A follower wants each piece when it comes.
    if (args.follow) (void)output.Flush();
    return output.CheckTakesMore();
  });
  if (context.global.json) pieces.Finish();
  if (output.broken()) return OkStatus();  // Flush tells whether that is a failure
  if (auto note = gaps.AtEnd()) {
    (void)output.Flush();
    output.Note(*note);
  }
  return status;
}

namespace {

constexpr std::chrono::seconds kBetweenNotes(1);

}  // namespace

std::optional<std::string> LogGapNotes::OnPiece(int64_t dropped_bytes, TimePoint now) {
  total_bytes_ += dropped_bytes;
  unsaid_bytes_ += dropped_bytes;
  if (unsaid_bytes_ == 0 || (notes_ > 0 && now - last_note_ < kBetweenNotes)) return std::nullopt;
  ++notes_;
  last_note_ = now;
  return FormatBytes(std::exchange(unsaid_bytes_, 0)) + " in between were not kept";
}

std::optional<std::string> LogGapNotes::AtEnd() const {
  if (notes_ == 0 || (notes_ == 1 && unsaid_bytes_ == 0)) return std::nullopt;
  return FormatBytes(total_bytes_) + " in all were not kept";
}

}  // namespace kprof::cli
