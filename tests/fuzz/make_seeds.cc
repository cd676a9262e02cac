// make_fuzz_seeds FOLDER: writes the seeds that are bytes, made by our own encoders and writers, into
// FOLDER/launch_protocol_fuzz, FOLDER/launch_spool_fuzz, FOLDER/output_log_fuzz, FOLDER/helper_protocol_fuzz,
// FOLDER/trace_part_fuzz, FOLDER/hostile_part_fuzz, FOLDER/chrome_reader_fuzz, FOLDER/ingest_protocol_fuzz and
// FOLDER/unpacker_fuzz. The same bytes each time:
//
//   build/release/bin/make_fuzz_seeds tests/fuzz/seeds
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "daemon/helper/grant_store.h"
#include "daemon/ingest/channel/ingest_protocol.h"
#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/output_log.h"
#include "daemon/process/helper_client/helper_protocol.h"
#include "storage/base/descriptors.h"
#include "storage/crypto/sha256.h"
#include "tests/fakes/ingest/chrome_samples.h"
#include "tests/fakes/ingest/packed.h"
#include "tests/programs/flood_pattern.h"

namespace kprof {
namespace {

class SeedFolder {
 public:
  SeedFolder(const std::string& folder, const std::string& name) : path_(folder + "/" + name) {
    std::filesystem::create_directories(path_);
  }
  void Add(const std::string& name, const std::string& bytes) const {
    std::ofstream file(path_ + "/" + name, std::ios::binary);
    file << bytes;
    KPROF_CHECK(file.flush().good());
  }

 private:
  const std::string path_;
};

std::string Number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

LaunchRequest SmallRequest() {
  LaunchRequest request;
  request.argv = {"true"};
  request.cwd = "/";
  return request;
}

LaunchRequest FullRequest() {
  LaunchRequest request;
  request.argv = {"/bin/sh", "-c", "echo \"$GREETING\"", std::string("\xff\x01", 2), ""};
  request.environment = {"PATH=/usr/bin:/bin", "GREETING=hello", "EMPTY="};
  request.cwd = "/tmp/a folder";
  request.umask = 077;
  request.limits = {{.resource = 7, .soft = 1024, .hard = 4096}, {.resource = 4, .soft = 0, .hard = UINT64_MAX}};
  request.output_head_bytes = 100;
  request.output_tail_bytes = 4096;
  request.leftover_grace_ms = 50;
  return request;
}

CommandEnded FullEnded() {
  CommandEnded ended;
  ended.signal = 9;
  ended.stopped = ended.killed = true;
  ended.ended_unix_ns = 1'800'000'000'000'000'000;
  ended.wall_ns = 5'000'000;
  ended.user_cpu_ns = 3;
  ended.max_rss_bytes = 1 << 20;
  ended.leftover_processes = 2;
  ended.unkillable_processes = 1;
  ended.host_cpus = 2;
  ended.host_wall_ns = 5'500'000;
  ended.others_cpu_ns = 1'000'000;
  ended.stdout_bytes = 10'000;
  ended.stdout_dropped_bytes = 5'804;
  ended.output_error = 28;
  return ended;
}

void MakeProtocolSeeds(const SeedFolder& folder) {
  CommandEnded exited;
  exited.exit_code = 3;
  const std::string small = EncodeLaunchRequest(SmallRequest());
  const std::string full = EncodeLaunchRequest(FullRequest());
  const std::string ended = EncodeCommandEnded(FullEnded());
  const std::string failed = EncodeLaunchFailure({.step = "interpreter", .error = 2});
  const std::string started = EncodeCommandStarted({.pid = 4711, .unix_ns = 1'800'000'000'000'000'000, .mono_ns = 5});
  // The first byte: so many bytes, less one, come at a time.
  folder.Add("request_small", '\x00' + small);
  folder.Add("request_full", '\x1f' + full);
  folder.Add("failure", '\x00' + failed);
  folder.Add("started", '\x00' + started);
  folder.Add("ended_exit", '\x00' + EncodeCommandEnded(exited));
  folder.Add("ended_signal", '\x00' + ended);
  folder.Add("stop", '\x00' + EncodeStop(2000));
  folder.Add("lease", '\x00' + EncodeLease({"CUDA_VISIBLE_DEVICES=GPU-1", "A="}));
  folder.Add("output", '\x00' + EncodeOutputFound({"out/trace.json", 1}));
  folder.Add("left_out", '\x00' + EncodeOutputsLeftOut({{"'a': it is a pipe"}, 3}));
  folder.Add("process_stat", '\x00' + std::string("4711 (a) b) S 1 4711 4711 0 -1 4194560 105 0 0 0 0 0 0 0 20 0 1 0 "
                                                  "123456 2895872 224 18446744073709551615 1 1 0 0\n"));
  const std::string to_supervisor = HelloFrame() + FrameOf(LaunchMessage::kPrepare, full) +
                                    FrameOf(LaunchMessage::kGo) + FrameOf(LaunchMessage::kStop, EncodeStop(0));
  const std::string to_daemon = HelloFrame() + FrameOf(LaunchMessage::kPrepared) +
                                FrameOf(LaunchMessage::kStarted, started) + FrameOf(LaunchMessage::kEnded, ended);
  folder.Add("frames_to_supervisor", '\xff' + to_supervisor);
  folder.Add("frames_to_supervisor_slowly", '\x00' + to_supervisor);
  folder.Add("frames_to_daemon", '\x06' + to_daemon);
  folder.Add("frame_of_failure", '\x7f' + HelloFrame() + FrameOf(LaunchMessage::kLaunchFailed, failed));
  folder.Add("frames_without_hello", '\x7f' + FrameOf(LaunchMessage::kPrepared));
  folder.Add("frames_of_another_version", '\x7f' + HelloFrame(0) + FrameOf(LaunchMessage::kPrepared));
  folder.Add("frames_cut", '\x10' + to_daemon.substr(0, to_daemon.size() - 3));
}

void MakeSpoolSeeds(const SeedFolder& folder) {
  const std::string small = EncodeLaunchRequest(SmallRequest());
  const std::string full = EncodeLaunchRequest(FullRequest());
  LaunchRequest no_program = FullRequest();
  no_program.argv.clear();
  const auto file_of = [](const std::string& payload) { return "kprofspool2\n" + Sha256Of(payload) + "\n" + payload; };
  folder.Add("file_small", 'f' + file_of(small));
  folder.Add("file_full", 'f' + file_of(full));
  folder.Add("file_empty_payload", 'f' + file_of(""));
  folder.Add("file_cut", 'f' + file_of(full).substr(0, 100));
  folder.Add("payload_small", 'p' + small);
  folder.Add("payload_full", 'p' + full);
  folder.Add("payload_without_program", 'p' + EncodeLaunchRequest(no_program));
  folder.Add("payload_cut", 'p' + full.substr(0, full.size() - 1));
  folder.Add("payload_with_more", 'p' + full + "x");
  folder.Add("damaged_magic", 'd' + Number(10, 4) + '\x03' + full);
  folder.Add("damaged_sum", 'd' + Number(20, 4) + '\x20' + small);
  folder.Add("damaged_newline", 'd' + Number(76, 4) + '\x01' + small);
  folder.Add("damaged_payload", 'd' + Number(90, 4) + '\x80' + small);
}

// What the real writer leaves of so many bytes of each stream.
struct Written {
  std::string progress;
  std::string log;
};

std::string Content(int fd) {
  std::string bytes(1 << 12, '\0');
  const ssize_t size = ::pread(fd, bytes.data(), bytes.size(), 0);
  KPROF_CHECK(size >= 0);
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

Written Write(OutputLimits limits, OutputStream stream, int64_t count) {
  UniqueFd log(::memfd_create("log", MFD_CLOEXEC));
  UniqueFd progress(::memfd_create("progress", MFD_CLOEXEC));
  OutputLogWriter writer(log.get(), progress.get(), stream, limits);
  for (int64_t at = 0; at < count;) {
    std::string piece;
    for (int64_t end = std::min(count, at + 7); at < end; ++at) piece += FloodByte(at);
    writer.Write(piece);
  }
  std::string bytes = Content(progress.get());
  bytes.resize(2 * kOutputProgressBytes);  // of the other stream nothing was noted
  return {bytes, Content(log.get())};
}

std::string ProgressOf(const OutputProgress& progress) {
  const auto bytes = EncodeOutputProgress(progress);
  return std::string(bytes.begin(), bytes.end()) + std::string(kOutputProgressBytes, '\0');
}

// An input of output_log_fuzz.cc.
struct LogCase {
  uint8_t head = 10;
  uint8_t tail = 10;
  uint8_t flags = 0;
  uint8_t cut_at = 3;
  uint8_t read_limit = 200;
  uint8_t changing_read = 3;
  uint64_t offset = 5;
  std::string progress;
  std::string next_progress;
  std::string log;

  std::string Bytes() const {
    std::string bytes;
    for (uint8_t byte : {head, tail, flags, cut_at, read_limit, changing_read}) bytes += static_cast<char>(byte);
    return bytes + Number(offset, 8) + progress + next_progress + log;
  }
};

void MakeLogSeeds(const SeedFolder& folder) {
  const OutputLimits limits{10, 10};
  const auto out = [&](int64_t count) { return Write(limits, OutputStream::kStdout, count); };
  const auto add = [&](const std::string& name, LogCase c, const Written& written, const std::string& next) {
    c.progress = written.progress;
    c.next_progress = next;
    c.log = written.log;
    folder.Add(name, c.Bytes());
  };
  add("nothing_printed", {}, out(0), out(3).progress);
  add("in_the_head", {}, out(7), out(14).progress);
  add("in_the_ring", {}, out(17), out(22).progress);
  add("gone_round", {.cut_at = 4}, out(50), out(57).progress);
  add("gone_round_often", {.read_limit = 3, .offset = 40}, out(200), out(207).progress);
  add("overtaken", {.offset = 40}, out(50), out(57).progress);
  add("overtaken_by_all", {.offset = 40}, out(50), out(80).progress);
  add("stderr", {.flags = 1}, Write(limits, OutputStream::kStderr, 50),
      Write(limits, OutputStream::kStderr, 60).progress);
  add("no_progress_file", {.flags = 2}, out(50), out(50).progress);
  add("progress_cut", {.flags = 4, .cut_at = kOutputProgressBytes + 1}, out(50), out(50).progress);
  add("no_log", {.flags = 8}, out(50), out(50).progress);
  add("old_partial", {.flags = 16, .cut_at = 1}, out(50), out(50).progress);
  add("no_tail_kept", {.tail = 0}, Write({10, 0}, OutputStream::kStdout, 30), out(50).progress);
  add("no_head_kept", {.head = 0}, Write({0, 10}, OutputStream::kStdout, 30), out(50).progress);
  Written lost_end = out(50);
  lost_end.log.resize(12);
  add("lost_its_end", {}, lost_end, out(50).progress);
  // Finished, it has the size that it has now.
  Written same_size = Write({10, 60}, OutputStream::kStdout, 100);
  same_size.log.resize(42);
  add("same_size_finished", {.tail = 60, .cut_at = 6}, same_size, same_size.progress);
  // Two lines, for what was claimed and for what no disk took, would make it that size too.
  Written same_size_full_disk = Write({10, 60}, OutputStream::kStdout, 100);
  same_size_full_disk.log.resize(81, 'x');
  same_size_full_disk.progress =
      ProgressOf({.limits = {10, 60}, .claimed_bytes = 1000, .written_bytes = 42, .printed_bytes = 700'000'000});
  add("same_size_finished_disk_full", {.tail = 60, .cut_at = 6}, same_size_full_disk, same_size_full_disk.progress);
  Written unnoted = out(7);
  unnoted.log = out(14).log;
  add("not_yet_noted", {}, unnoted, out(14).progress);
  Written claimed = out(25);
  claimed.progress = ProgressOf({.limits = limits, .claimed_bytes = 29, .written_bytes = 25, .printed_bytes = 25});
  add("claimed_only", {}, claimed, out(29).progress);
  Written full_disk = out(13);
  full_disk.progress = ProgressOf({.limits = limits, .claimed_bytes = 13, .written_bytes = 13, .printed_bytes = 40});
  add("disk_full", {}, full_disk, full_disk.progress);
  Written nonsense = out(50);
  nonsense.progress =
      ProgressOf({.limits = limits, .claimed_bytes = 1, .written_bytes = UINT64_MAX, .printed_bytes = 3});
  add("nonsense", {}, nonsense, out(50).progress);
  Written finished = out(50);
  finished.progress = ProgressOf({.limits = limits,
                                  .claimed_bytes = 50,
                                  .written_bytes = 50,
                                  .printed_bytes = 50,
                                  .finished_size_bytes = finished.log.size(),
                                  .finished_dropped_bytes = 30});
  add("finished", {}, finished, ProgressOf({.limits = limits}));
  Written dropped_more = finished;
  dropped_more.progress = ProgressOf({.limits = limits,
                                      .claimed_bytes = 51,
                                      .written_bytes = 50,
                                      .printed_bytes = 50,
                                      .finished_size_bytes = dropped_more.log.size(),
                                      .finished_dropped_bytes = 0x6000});
  add("dropped_more_than_printed", {}, dropped_more, ProgressOf({.limits = limits}));
  // The first write of a log without a head, longer than its ring.
  Written claimed_first = out(7);
  claimed_first.progress = ProgressOf({.limits = {0, 10}, .claimed_bytes = 25});
  add("claimed_before_anything", {.head = 0}, claimed_first, out(7).progress);
  // From here on the records' own limits count.
  const uint8_t own = 32;
  add("progress_lost_while_reading", {.flags = own}, out(7), std::string(2 * kOutputProgressBytes, '\0'));
  add("own_limits", {.flags = own}, out(50), out(57).progress);
  add("limits_change", {.flags = own, .offset = 40}, out(50), Write({3, 9}, OutputStream::kStdout, 57).progress);
  add("limits_change_to_most", {.flags = own, .offset = 40}, out(50),
      ProgressOf({.limits = {kMostOutputLimitBytes, kMostOutputLimitBytes},
                  .claimed_bytes = 57,
                  .written_bytes = 57,
                  .printed_bytes = 57}));
  const auto with_limits = [&](OutputLimits own_limits) {
    Written written = out(50);
    written.progress =
        ProgressOf({.limits = own_limits, .claimed_bytes = 50, .written_bytes = 50, .printed_bytes = 50});
    return written;
  };
  add("limits_negative", {.flags = own}, with_limits({-1, 10}), out(50).progress);
  add("limits_over_the_most", {.flags = own}, with_limits({10, kMostOutputLimitBytes + 1}), out(50).progress);
  add("limits_at_the_most", {.flags = own}, with_limits({kMostOutputLimitBytes, 10}), out(50).progress);
  Written other_version = out(50);
  other_version.progress[7] = '2';
  add("other_version", {.flags = own}, other_version, out(50).progress);
}

void MakeHelperSeeds(const SeedFolder& folder) {
  const std::string id = "01hx3m5qrstvwxyz";
  const std::string digest(64, 'a');
  auto add = [&](const std::string& name, const HelperMessage& message) {
    folder.Add(name, EncodeHelperPacket({7, message}));
  };
  add("hello", HelperHello{});
  add("register", HelperRegister{id, digest});
  add("register_remote", HelperRegisterRemote{id, 1000, digest});
  add("start", HelperStart{id});
  add("start_of_a_path", HelperStart{"../../etc/passwd"});
  add("sweep", HelperSweep{id});
  add("forget", HelperForget{id});
  add("open_file", HelperOpenFile{"/data/trace.json"});
  add("open_file_relative", HelperOpenFile{"data"});
  add("get_state", HelperGetState{});
  add("list_grants", HelperListGrants{id});
  add("where_is", HelperWhereIs{});
  add("hold_clocks", HelperHoldClocks{"GPU-0a1b2c3d-0000-0000-0000-000000000001"});
  add("hold_clocks_of_a_path", HelperHoldClocks{"../clocks/GPU-1"});
  add("list_held", HelperListHeld{});
  add("held_list", HelperHeldList{{"GPU-1", "GPU-2"}});
  add("done", HelperDone{});
  add("refused", HelperRefused{ErrorCode::kNotPermitted, "not yours", "ask"});
  add("started", HelperStarted{true});
  add("swept", HelperSwept{3, 1});
  add("opened", HelperOpened{});
  add("state", HelperState{true, 2, 1});
  add("grant_list", HelperGrantList{{id, id}, {id}});
  add("place", HelperPlace{CallerPlace::kElsewhere});
  add("place_unknown", HelperPlace{CallerPlace::kUnknown});
  const std::string grant = EncodeGrant({id, {1000, 1000, {4, 27}}, digest, 5, "boot", true, true});
  folder.Add("grant", grant);
  folder.Add("grant_payload", grant.substr(grant.find('\n', grant.find('\n') + 1) + 1));
  folder.Add("grant_cut", grant.substr(0, grant.size() - 3));
}

// Inputs of trace_part_fuzz.cc.
void MakePartSeeds(const SeedFolder& folder) {
  const auto over_byte = [](uint64_t place, uint64_t byte) { return Number(place, 2) + Number(byte, 1); };
  // Which value, by its number there; of which row; what to put in its place.
  const auto over_value = [](uint64_t value, uint64_t row, uint64_t what, uint64_t number) {
    return Number(value, 1) + Number(row, 1) + Number(what, 1) + Number(number, 8);
  };
  folder.Add("good", "\x01");
  folder.Add("empty", std::string(1, '\0'));
  folder.Add("no_database", '\0' + std::string(4000, 'x'));
  folder.Add("database_cut", '\0' + std::string("SQLite format 3\0\x20\0\x01\x01\0\x40\x20\x20", 24));
  folder.Add("page_size", '\x01' + over_byte(16, 2));
  folder.Add("as_wal", '\x01' + over_byte(18, 2) + over_byte(19, 2));
  folder.Add("user_version", '\x01' + over_byte(63, 2));
  folder.Add("first_page_of_another_kind", '\x01' + over_byte(100, 2));
  folder.Add("second_page_of_another_kind", '\x01' + over_byte(8192, 13));
  folder.Add("cells_beyond_their_page", '\x01' + over_byte(8195, 255) + over_byte(8200, 255));
  folder.Add("not_complete", '\x02' + over_value(0, 2, 4, 7));
  folder.Add("strings_not_dense", '\x02' + over_value(2, 4, 0, 100));
  folder.Add("string_of_no_text", '\x02' + over_value(3, 1, 9, 5));
  folder.Add("tracks_not_dense", '\x02' + over_value(4, 2, 0, 9));
  folder.Add("shape_without_key", '\x02' + over_value(15, 0, 0, 9));
  folder.Add("segment_of_the_future", '\x02' + over_value(19, 1, 0, 7));
  folder.Add("segment_of_few_rows", '\x02' + over_value(20, 0, 0, 3));
  folder.Add("segment_of_all_times", '\x02' + over_value(22, 0, 0, uint64_t{3} << 62) + over_value(23, 0, 6, 61));
  folder.Add("column_elsewhere", '\x02' + over_value(25, 3, 5, 30));
  folder.Add("column_of_many_rows", '\x02' + over_value(26, 0, 0, 65'536));
  for (uint64_t codec = 0; codec <= 7; ++codec) {
    folder.Add("column_of_codec_" + std::to_string(codec), '\x02' + over_value(27, 0, 0, codec));
  }
  folder.Add("column_cut", '\x02' + over_value(30, 0, 7, 9));
  folder.Add("column_with_more", '\x02' + over_value(30, 3, 8, 1));
  folder.Add("side_table_elsewhere", '\x02' + over_value(36, 1, 0, 5));
  folder.Add("side_table_of_an_odd_name", '\x02' + over_value(37, 0, 8, 1));
  folder.Add("side_table_of_many_rows", '\x02' + over_value(38, 0, 6, 40));
  folder.Add("side_column_of_another_table", '\x02' + over_value(39, 2, 0, 1));
  folder.Add("side_column_of_no_type", '\x02' + over_value(42, 1, 3, 1));
  folder.Add("side_rows_of_an_events_segment", '\x02' + over_value(44, 1, 0, 1));
  folder.Add("side_rows_of_no_table", '\x02' + over_value(45, 1, 0, 9));
  folder.Add("side_rows_of_another_number", '\x02' + over_value(46, 1, 0, 3) + over_value(38, 0, 0, 9));
  folder.Add("columns_of_zeros", '\x02' + over_value(30, 0, 9, 40) + over_value(30, 1, 9, 8) + over_value(30, 7, 9, 0));
}

// Inputs of hostile_part_fuzz.cc: those of trace_part_fuzz.cc, and some changes at once, here and there.
void MakeHostilePartSeeds(const SeedFolder& folder) {
  MakePartSeeds(folder);
  std::mt19937_64 random(4);
  for (int seed = 0; seed < 24; ++seed) {
    std::string changes = "\x02";
    for (int change = 0; change < 4; ++change) {
      const uint64_t number = random() % 3 == 0 ? random() : random() % 64;
      changes += Number(random() % 47, 1) + Number(random() % 64, 1) + Number(random() % 10, 1) + Number(number, 8);
    }
    folder.Add("changes_" + std::to_string(seed), changes);
  }
}

// The first byte: how large a piece is, less 16.
void MakeReaderSeeds(const SeedFolder& folder) {
  for (const ChromeSample& sample : ChromeSamples()) {
    std::string name = sample.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    folder.Add(name, '\x10' + sample.text);
  }
}

// The first byte: so many bytes, less one, come at a time.
void MakeIngestSeeds(const SeedFolder& folder) {
  const auto frame_of = [](IngestFrame type, const std::string& message) {
    std::string bytes;
    AppendFrame(type, message, bytes);
    return bytes;
  };
  EncodedSegment segment;
  segment.rows = 2;
  segment.columns = {{kNoArgs, 1, 2, EncodeColumn(std::vector<int64_t>{1, 5})},
                     {1, 0, 1, EncodeColumn(std::vector<int64_t>{7})}};
  SideRows rows({"lines", {{"line", SideType::kInteger, ""}, {"share", SideType::kReal, "percent"}}});
  for (const int64_t line : {3, 7}) rows.Add(std::vector<int64_t>{line, kNoReal});
  const TrackRow track{.kind = "gpu_stream", .name = "stream 7", .pid = "0", .tid = "7", .device = 0, .stream = 7};
  const std::string whole =
      frame_of(IngestFrame::kHello, Number(kIngestProtocol, 4)) + frame_of(IngestFrame::kString, EncodeString(0, "")) +
      frame_of(IngestFrame::kShape, EncodeShape(1, {{0, ArgType::kInteger}, {0, ArgType::kNull, true}})) +
      frame_of(IngestFrame::kSegment, EncodeSegment(segment)) + frame_of(IngestFrame::kTrack, EncodeTrack(track)) +
      frame_of(IngestFrame::kSideTable, EncodeSideTable(0, rows.table)) +
      frame_of(IngestFrame::kSideSegment, EncodeSideSegment(EncodeSideRows(0, rows, 0, 2))) +
      frame_of(IngestFrame::kText, EncodeText("clock", "unix")) +
      frame_of(IngestFrame::kInteger, EncodeInteger("rank", 3)) +
      frame_of(IngestFrame::kProgress, EncodeProgress({1, 2})) +
      frame_of(IngestFrame::kDone, EncodeDone({"chrome", "hash", {"a warning"}}));
  folder.Add("whole", '\xff' + whole);
  folder.Add("whole_slowly", '\x00' + whole);
  folder.Add("cut", '\x10' + whole.substr(0, whole.size() - 3));
  folder.Add("request", '\x10' + frame_of(IngestFrame::kRequest, EncodeIngestRequest({.name = "a", .format = "auto"})));
  folder.Add("failed",
             '\x10' + frame_of(IngestFrame::kFailed, EncodeFailure(Fail(ErrorCode::kBadInput, "a", "b", "c"))));
  folder.Add("too_large", '\x10' + std::string("\xff\xff\xff\xff\x03", 5));
}

// The first byte: gzip or zstd; the second one: so many bytes, less one, come at a time.
void MakeUnpackerSeeds(const SeedFolder& folder) {
  const std::string text = "{\"traceEvents\":[" + ManyEvents(20) + "]}";
  const auto add = [&](const std::string& name, char packing, const std::string& packed) {
    const std::string head = {packing, '\x20'};
    folder.Add(name, head + packed);
    folder.Add(name + "_twice", head + packed + packed);
    folder.Add(name + "_cut", head + packed.substr(0, packed.size() / 2));
    folder.Add(name + "_with_zeros", head + packed + std::string(50, '\0'));
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
    folder.Add(name + "_damaged", head + damaged);
  };
  add("gzip", '\0', Gzip(text));
  add("zstd", '\1', Zstd(text));
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_fuzz_seeds FOLDER\n");
    return 2;
  }
  kprof::MakeProtocolSeeds({argv[1], "launch_protocol_fuzz"});
  kprof::MakeSpoolSeeds({argv[1], "launch_spool_fuzz"});
  kprof::MakeLogSeeds({argv[1], "output_log_fuzz"});
  kprof::MakeHelperSeeds({argv[1], "helper_protocol_fuzz"});
  kprof::MakePartSeeds({argv[1], "trace_part_fuzz"});
  kprof::MakeHostilePartSeeds({argv[1], "hostile_part_fuzz"});
  kprof::MakeReaderSeeds({argv[1], "chrome_reader_fuzz"});
  kprof::MakeIngestSeeds({argv[1], "ingest_protocol_fuzz"});
  kprof::MakeUnpackerSeeds({argv[1], "unpacker_fuzz"});
  return 0;
}
