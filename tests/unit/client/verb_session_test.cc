#include "tests/unit/client/verbs_fixture.h"

namespace kprof::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

v1::Session SessionIn(v1::SessionState state) {
  v1::Session session;
  session.set_id("01se");
  session.set_state(state);
  session.set_uid(1000);
  session.add_devices("0");
  session.add_devices("1");
  session.set_clocks("lock");
  session.set_opened_unix_ns(1'795'267'369'000'000'000);
  session.set_ttl_ms(3'600'000);
  session.set_idle_timeout_ms(600'000);
  session.set_rounds(2);
  auto* reason = session.add_trust();
  reason->set_code("clocks_not_locked");
  reason->set_message("why");
  return session;
}

v1::OpenSessionResponse Told(const v1::Session& session, int position = 0) {
  v1::OpenSessionResponse response;
  *response.mutable_session() = session;
  response.set_queue_position(position);
  response.set_now_unix_ns(session.opened_unix_ns() + 3'000'000'000);
  return response;
}

class VerbSessionTest : public VerbsFixture {
 protected:
  void AnswerLookUp(const v1::Session& session) {
    daemon_.calls.get_session = [session](const v1::GetSessionRequest&, v1::GetSessionResponse& response) {
      *response.mutable_session() = session;
      return OkStatus();
    };
  }
};

TEST_F(VerbSessionTest, OpenAsksForWhatWasSaidAndPrintsTheId) {
  v1::OpenSessionRequest asked;
  daemon_.calls.open_session = [&](const v1::OpenSessionRequest& request, FakeStream<v1::OpenSessionResponse> stream) {
    asked = request;
    stream.write(Told(SessionIn(v1::SESSION_STATE_QUEUED), 3));
    stream.write(Told(SessionIn(v1::SESSION_STATE_OPEN)));
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "open", "--device", "0,1", "--clocks", "lock", "--ttl", "2h", "--idle-timeout", "5m",
                      "--queue-timeout", "10s", "--label", "loop=7", "--priority", "2"}),
            0);
  EXPECT_EQ(results_, "01se\n");
  EXPECT_THAT(notes_, HasSubstr("session 01se  queued 3s, 2 before it"));
  EXPECT_EQ(asked.ShortDebugString(),
            "device: \"0,1\" clocks: \"lock\" labels { key: \"loop\" value: \"7\" } detached: true ttl_ms: 7200000 "
            "idle_timeout_ms: 300000 queue_timeout_ms: 10000 priority: 2");
}

TEST_F(VerbSessionTest, OpenSaysForWhomItWaitsThatIsNext) {
  daemon_.calls.open_session = [](const v1::OpenSessionRequest&, FakeStream<v1::OpenSessionResponse> stream) {
    stream.write(Told(SessionIn(v1::SESSION_STATE_QUEUED), 1));
    stream.write(Told(SessionIn(v1::SESSION_STATE_OPEN)));
    return OkStatus();
  };
  daemon_.calls.list_devices = [](const v1::ListDevicesRequest&, v1::ListDevicesResponse& response) {
    v1::Device& device = *response.add_devices();
    device.set_id("0");
    device.set_held_since_unix_ns(1);
    device.set_session_id("01other");
    device.set_session_uid(1000);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "open", "--device", "0,1"}), 0);
  EXPECT_EQ(notes_,
            "kprofctl: session 01se  queued 3s, next; it waits for device 0, which your session 01other holds\n");
}

TEST_F(VerbSessionTest, ShowOfAQueuedOneSaysWhereItStands) {
  daemon_.calls.get_session = [](const v1::GetSessionRequest&, v1::GetSessionResponse& response) {
    *response.mutable_session() = SessionIn(v1::SESSION_STATE_QUEUED);
    response.set_queue_position(2);
    return OkStatus();
  };
  daemon_.calls.list_rounds = [](const v1::ListRoundsRequest&, v1::ListRoundsResponse&) { return OkStatus(); };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "show", "01se"}), 0);
  EXPECT_THAT(results_, HasSubstr("queue       1 before it\n"));
  EXPECT_EQ(Kprofctl({"session", "show", "01se", "--json"}), 0);
  EXPECT_THAT(results_, HasSubstr(R"("queue_position":2,"estimated_wait_ms":null)"));
}

TEST_F(VerbSessionTest, OpenFailsAsTheSessionDoes) {
  daemon_.calls.open_session = [](const v1::OpenSessionRequest&, FakeStream<v1::OpenSessionResponse> stream) {
    stream.write(Told(SessionIn(v1::SESSION_STATE_QUEUED), 1));
    return Fail(ErrorCode::kQueueTimeout, "session 01se", "it waited longer than its queue timeout");
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "open"}), 6);
  EXPECT_EQ(results_, "");
}

TEST_F(VerbSessionTest, AnInterruptedOpenClosesWhatItAskedFor) {
  std::atomic<bool> waiting = false;
  std::string closed;
  daemon_.calls.open_session = [&](const v1::OpenSessionRequest&, FakeStream<v1::OpenSessionResponse> stream) {
    stream.write(Told(SessionIn(v1::SESSION_STATE_QUEUED), 2));
    waiting = true;
    WaitUntil(stream.gone);
    return OkStatus();
  };
  daemon_.calls.close_session = [&](const v1::CloseSessionRequest& request, v1::CloseSessionResponse&) {
    std::lock_guard lock(mu_);
    closed = request.id();
    return OkStatus();
  };
  daemon_.Start();
  std::jthread interrupt([&] {
    WaitUntil([&] { return waiting.load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it has read what was written
    ::kill(::getpid(), SIGINT);
  });
  EXPECT_EQ(Kprofctl({"session", "open"}), 8);
  EXPECT_EQ(closed, "01se");
  EXPECT_THAT(notes_, HasSubstr("session 01se is closed"));
}

TEST_F(VerbSessionTest, CloseSaysWhatIsClosed) {
  daemon_.calls.close_session = [](const v1::CloseSessionRequest& request, v1::CloseSessionResponse& response) {
    if (request.id() != "@last") return Fail(ErrorCode::kNotFound, "close session", "there is no such session");
    *response.mutable_session() = SessionIn(v1::SESSION_STATE_CLOSED);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "close", "@last"}), 0);
  EXPECT_EQ(results_, "session 01se is closed\n");
  EXPECT_EQ(Kprofctl({"session", "close", "x"}), 4);
}

TEST_F(VerbSessionTest, CloseSaysHowOneEndedThatHadEndedAlready) {
  v1::Session session = SessionIn(v1::SESSION_STATE_CLOSED);
  daemon_.calls.close_session = [&](const v1::CloseSessionRequest&, v1::CloseSessionResponse& response) {
    *response.mutable_session() = session;
    return OkStatus();
  };
  daemon_.Start();
  session.mutable_error()->set_code("timed_out");
  session.mutable_error()->set_message("session 01se: its TTL of 60 s has passed");
  session.mutable_error()->set_remedy("give it more with --ttl");
  EXPECT_EQ(Kprofctl({"session", "close", "01"}), 0) << "that is what was asked for";
  EXPECT_EQ(results_, "session 01se is closed\n");
  EXPECT_THAT(notes_,
              HasSubstr("it ended with timed_out: session 01se: its TTL of 60 s has passed; give it more with --ttl"));
  session.set_state(v1::SESSION_STATE_LOST);
  EXPECT_EQ(Kprofctl({"session", "close", "01"}), 0);
  EXPECT_THAT(results_, EndsWith("session 01se is lost\n"));
  EXPECT_EQ(Kprofctl({"--json", "session", "close", "01"}), 0);
  EXPECT_THAT(results_, HasSubstr("\"error\":{\"code\":\"timed_out\""));
}

TEST_F(VerbSessionTest, ShowHasTheSessionAndItsRounds) {
  AnswerLookUp(SessionIn(v1::SESSION_STATE_OPEN));
  daemon_.calls.list_rounds = [](const v1::ListRoundsRequest& request, v1::ListRoundsResponse& response) {
    v1::Round& round = *response.add_rounds();
    round.set_number(request.page_token().empty() ? 1 : 2);
    round.set_run_id(request.page_token().empty() ? "01ra" : "01rb");
    round.set_state(v1::RUN_STATE_DONE);
    auto* metric = round.add_metrics();
    metric->set_name("wall_ns");
    metric->set_value(5);
    if (request.page_token().empty()) response.set_next_page_token("1");
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"session", "show", "01"}), 0);
  EXPECT_THAT(results_, StartsWith("session     01se\nstate       open\ndevices     0,1\nclocks      lock\n"));
  EXPECT_THAT(results_, HasSubstr("trust       clocks_not_locked: why\nrounds      2\n"
                                  "round       1  01ra  done\n            2  01rb  done\n"));
  EXPECT_EQ(Kprofctl({"--json", "session", "show", "01"}), 0);
  EXPECT_THAT(results_, HasSubstr("{\"schema\":\"kprof.session.v1\",\"id\":\"01se\",\"state\":\"open\",\"uid\":1000,"
                                  "\"device\":[\"0\",\"1\"],\"clocks\":\"lock\",\"labels\":{},\"attached\":false,"
                                  "\"priority\":0,\"ttl_ms\":3600000,\"idle_timeout_ms\":600000,"
                                  "\"queue_timeout_ms\":null,\"opened_ns\":\"1795267369000000000\","
                                  "\"granted_ns\":null,\"closed_ns\":null,\"expires_ns\":null,\"error\":null,"
                                  "\"trust\":[{\"code\":\"clocks_not_locked\",\"message\":\"why\"}],"
                                  "\"round_count\":2,\"rounds\":[{"
                                  "\"round\":1,\"run\":\"01ra\",\"state\":\"done\","
                                  "\"labels\":{},\"started_ns\":null,\"ended_ns\":null,\"error\":null,"
                                  "\"metrics\":{\"wall_ns\":5}},"));
}

TEST_F(VerbSessionTest, ListAsksPageByPage) {
  daemon_.calls.list_sessions = [](const v1::ListSessionsRequest& request, v1::ListSessionsResponse& response) {
    EXPECT_EQ(request.states_size(), 2);
    EXPECT_EQ(request.labels().at("a"), "b");
    *response.add_sessions() = SessionIn(v1::SESSION_STATE_OPEN);
    if (request.page_token().empty()) response.set_next_page_token("t");
    return OkStatus();
  };
  daemon_.Start();
  const std::vector<std::string> list = {"session", "list", "--state", "open", "--state", "lost", "--label", "a=b"};
  EXPECT_EQ(Kprofctl(list), 0);
  EXPECT_THAT(results_, StartsWith("ID"));
  EXPECT_THAT(results_, HasSubstr("01se"));
  std::vector<std::string> as_json = list;
  as_json.insert(as_json.begin(), "--json");
  EXPECT_EQ(Kprofctl(as_json), 0);
  EXPECT_THAT(results_, HasSubstr("{\"schema\":\"kprof.sessions.v1\",\"sessions\":[{\"schema\":\"kprof.session.v1\""));
  EXPECT_EQ(Kprofctl({"session", "list", "--state", "done"}), 2);
  EXPECT_EQ(Kprofctl({"session"}), 2);
}

TEST_F(VerbSessionTest, CaptureNamesItsSessionAndItsPriority) {
  v1::RunSpec spec;
  daemon_.calls.submit_run = [&](const v1::SubmitRunRequest& request, v1::SubmitRunResponse& response) {
    spec = request.spec();
    *response.mutable_run() = RunIn(v1::RUN_STATE_QUEUED);
    return OkStatus();
  };
  daemon_.Start();
  EXPECT_EQ(Kprofctl({"capture", "command", "--detach", "--session", "@last", "--priority", "3", "--", "true"}), 0);
  EXPECT_EQ(spec.session_id(), "@last");
  EXPECT_EQ(spec.priority(), 3);
  EXPECT_EQ(Kprofctl({"capture", "command", "--priority", "101", "--", "true"}), 2);
}

}  // namespace
}  // namespace kprof::cli
