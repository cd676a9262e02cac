// What tests/bench/many_clients.py measures with: many clients of one daemon in one process, each on a connection of
// its own and in a closed loop of two calls, status and then a page of runs; or, beside it, a bare gRPC server with the
// same two methods and nothing behind them.
//
//   bench_load clients SOCKET CLIENTS SECONDS [UID...]   prints a line of JSON; the clients are these users' in turn
//   bench_load bare SOCKET [KPROFD_SOCKET UID]           answers both with nothing, or with the bytes that kprofd there
//                                                        answers that user, until its standard input ends
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kprof/v1/node.grpc.pb.h"
#include "kprof/v1/runs.grpc.pb.h"

namespace kprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRunsInPage = 20;

[[noreturn]] void GiveUp(const char* what) {
  std::perror(what);
  std::exit(1);
}

// Of this thread alone, which is what the kernel notes of who connects.
void BecomeEffectively(uid_t uid) {
  if (::syscall(SYS_setresuid, -1, uid, -1) != 0) GiveUp("setresuid");
}

int ConnectAs(const std::string& path, uid_t uid) {
  const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const uid_t self = ::geteuid();
  BecomeEffectively(uid);
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) GiveUp("connect");
  BecomeEffectively(self);
  ::fcntl(connection, F_SETFL, O_NONBLOCK);
  return connection;
}

class LoadClient {
 public:
  LoadClient(int connection, Clock::time_point begin, Clock::time_point end, std::latch& done)
      : begin_(begin), end_(end), done_(done) {
    auto channel = grpc::CreateInsecureChannelFromFd("localhost", connection);
    node_ = v1::NodeService::NewStub(channel);
    runs_ = v1::RunsService::NewStub(channel);
    list_.set_page_size(kRunsInPage);
  }

  void Begin() { AskStatus(); }

  const std::vector<int64_t>& latencies_ns() const { return latencies_ns_; }
  int64_t failed() const { return failed_; }
  const std::string& first_failure() const { return first_failure_; }

 private:
  void AskStatus() {
    context_ = std::make_unique<grpc::ClientContext>();
    asked_ = Clock::now();
    node_->async()->GetStatus(context_.get(), &ask_status_, &status_, [this](const grpc::Status& ended) {
      if (Ended(ended)) AskRuns();
    });
  }
  void AskRuns() {
    context_ = std::make_unique<grpc::ClientContext>();
    page_.Clear();
    asked_ = Clock::now();
    runs_->async()->ListRuns(context_.get(), &list_, &page_, [this](const grpc::Status& ended) {
      if (Ended(ended)) AskStatus();
    });
  }
  bool Ended(const grpc::Status& status) {
    const Clock::time_point now = Clock::now();
    if (asked_ >= begin_ && now <= end_) latencies_ns_.push_back((now - asked_).count());
    if (!status.ok() && failed_++ == 0) first_failure_ = status.error_message();
    if (now < end_) return true;
    done_.count_down();
    return false;
  }

  const Clock::time_point begin_;
  const Clock::time_point end_;
  std::latch& done_;
  std::unique_ptr<v1::NodeService::Stub> node_;
  std::unique_ptr<v1::RunsService::Stub> runs_;
  std::unique_ptr<grpc::ClientContext> context_;
  v1::GetStatusRequest ask_status_;
  v1::GetStatusResponse status_;
  v1::ListRunsRequest list_;
  v1::ListRunsResponse page_;
  Clock::time_point asked_;
  std::vector<int64_t> latencies_ns_;
  int64_t failed_ = 0;
  std::string first_failure_;
};

int RunClients(const std::string& socket, int clients, double seconds, const std::vector<uid_t>& users) {
  // The first half second is theirs to connect in.
  const Clock::time_point begin = Clock::now() + std::chrono::milliseconds(500 + clients);
  const Clock::time_point end = begin + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
  std::latch done(clients);
  std::vector<std::unique_ptr<LoadClient>> all;
  for (int i = 0; i < clients; ++i) {
    const int connection = ConnectAs(socket, users[static_cast<size_t>(i) % users.size()]);
    all.push_back(std::make_unique<LoadClient>(connection, begin, end, done));
  }
  for (auto& client : all) client->Begin();
  done.wait();
  std::vector<int64_t> latencies;
  int64_t failed = 0;
  std::string first_failure;
  for (auto& client : all) {
    latencies.insert(latencies.end(), client->latencies_ns().begin(), client->latencies_ns().end());
    failed += client->failed();
    if (first_failure.empty()) first_failure = client->first_failure();
  }
  if (latencies.empty()) {
    std::fprintf(stderr, "no call ended in time: %s\n", first_failure.c_str());
    return 1;
  }
  std::sort(latencies.begin(), latencies.end());
  auto percentile = [&](double percent) {
    return static_cast<double>(
               latencies[static_cast<size_t>(percent / 100 * static_cast<double>(latencies.size() - 1))]) /
           1e6;
  };
  std::printf("{\"calls_per_second\":%.1f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"most_ms\":%.3f,\"failed\":%ld}\n",
              static_cast<double>(latencies.size()) / seconds, percentile(50), percentile(99), percentile(100), failed);
  if (failed > 0) std::fprintf(stderr, "%ld calls failed, the first one: %s\n", failed, first_failure.c_str());
  std::fflush(nullptr);
  ::_exit(0);  // a thousand channels take their time to end
}

// What the bare server answers: made once, before anybody asks.
struct Answers {
  grpc::ByteBuffer status;
  grpc::ByteBuffer runs;
};

grpc::ByteBuffer BytesOf(const google::protobuf::Message& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

// What kprofd answers that user.
Answers AskKprofd(const std::string& socket, uid_t uid) {
  auto channel = grpc::CreateInsecureChannelFromFd("localhost", ConnectAs(socket, uid));
  v1::GetStatusResponse status;
  grpc::ClientContext ask_status;
  v1::ListRunsRequest list;
  list.set_page_size(kRunsInPage);
  v1::ListRunsResponse runs;
  grpc::ClientContext ask_runs;
  const bool answered = v1::NodeService::NewStub(channel)->GetStatus(&ask_status, {}, &status).ok() &&
                        v1::RunsService::NewStub(channel)->ListRuns(&ask_runs, list, &runs).ok();
  if (!answered) {
    std::fprintf(stderr, "kprofd at %s does not answer\n", socket.c_str());
    std::exit(1);
  }
  return {BytesOf(status), BytesOf(runs)};
}

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const grpc::ByteBuffer& answer,
                                 grpc::ByteBuffer* response) {
  *response = answer;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

class BareNode final : public v1::NodeService::WithRawCallbackMethod_GetStatus<v1::NodeService::CallbackService> {
 public:
  explicit BareNode(const Answers& answers) : answers_(answers) {}

 private:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                      grpc::ByteBuffer* response) override {
    return Answer(context, answers_.status, response);
  }
  const Answers& answers_;
};

class BareRuns final : public v1::RunsService::WithRawCallbackMethod_ListRuns<v1::RunsService::CallbackService> {
 public:
  explicit BareRuns(const Answers& answers) : answers_(answers) {}

 private:
  grpc::ServerUnaryReactor* ListRuns(grpc::CallbackServerContext* context, const grpc::ByteBuffer*,
                                     grpc::ByteBuffer* response) override {
    return Answer(context, answers_.runs, response);
  }
  const Answers& answers_;
};

int ServeBare(const std::string& socket, const Answers& answers) {
  BareNode node(answers);
  BareRuns runs(answers);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&node);
  builder.RegisterService(&runs);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::_exit(0);
}

}  // namespace
}  // namespace kprof

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "clients" && argc >= 5) {
    std::vector<uid_t> users;
    for (int i = 5; i < argc; ++i) users.push_back(static_cast<uid_t>(std::atoi(argv[i])));
    if (users.empty()) users.push_back(::getuid());
    return kprof::RunClients(argv[2], std::atoi(argv[3]), std::atof(argv[4]), users);
  }
  if (what == "bare" && argc == 3) {
    return kprof::ServeBare(
        argv[2], {kprof::BytesOf(kprof::v1::GetStatusResponse()), kprof::BytesOf(kprof::v1::ListRunsResponse())});
  }
  if (what == "bare" && argc == 5) {
    return kprof::ServeBare(argv[2], kprof::AskKprofd(argv[3], static_cast<uid_t>(std::atoi(argv[4]))));
  }
  std::fprintf(stderr, "usage: bench_load clients SOCKET CLIENTS SECONDS [UID...] | bare SOCKET [KPROFD_SOCKET UID]\n");
  return 2;
}
