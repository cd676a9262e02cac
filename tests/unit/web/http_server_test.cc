#include "daemon/web/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// A client that reads what there is, while the test turns the server's loop.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }

  void Send(std::string_view bytes) {
    EXPECT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  void Finish() { ::shutdown(socket_.get(), SHUT_WR); }

  // What has come by now.
  const std::string& Received() {
    pollfd ready{socket_.get(), POLLIN, 0};
    char block[4096];
    while (!ended_ && ::poll(&ready, 1, 0) > 0) {
      const ssize_t size = ::recv(socket_.get(), block, sizeof block, 0);
      if (size <= 0) ended_ = true;
      if (size > 0) received_.append(block, static_cast<size_t>(size));
    }
    return received_;
  }
  bool ended() {
    (void)Received();
    return ended_;
  }

 private:
  UniqueFd socket_;
  std::string received_;
  bool ended_ = false;
};

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    limits_.most_connections = 3;
    limits_.header_bytes = 1024;
  }

  void Listen() {
    HttpRoutes routes;
    routes["/hello"] = [](const HttpRequest& request, const HttpRespond& respond) {
      HttpResponse response;
      response.body = "hello " + request.query;
      respond(std::move(response));
    };
    routes["/later"] = [this](const HttpRequest& /*request*/, HttpRespond respond) {
      waiting_.push_back(std::move(respond));
    };
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::Listen(loop_, {"127.0.0.1", 0}, std::move(routes), http_metrics_, limits_);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }

  Client Connect() {
    Client client(server_->address().port);
    Turn();
    return client;
  }

  // Loopback delivers at once: what was sent before is there.
  void Turn() {
    for (int i = 0; i < 5; ++i) loop_.RunUntilIdle();
  }
  void Pass(int64_t ms) {
    clock_.Advance(ms * kNanosPerMilli);
    Turn();
  }

  std::string Ask(std::string_view request) {
    Client client = Connect();
    client.Send(request);
    Turn();
    return client.Received();
  }

  FakeClock clock_;
  IoLoop loop_{clock_};
  Metrics metrics_;
  ConnectionMetrics connections_{metrics_};
  HttpMetrics http_metrics_{metrics_, connections_};
  HttpLimits limits_;
  std::vector<HttpRespond> waiting_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAGet) {
  Listen();
  const std::string answer = Ask("GET /hello?a=1 HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 9\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nDate: "));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nhello a=1"));
}

TEST_F(HttpServerTest, AnswersAHeadWithoutTheBody) {
  Listen();
  const std::string answer = Ask("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 6\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, KeepsTheConnection) {
  Listen();
  Client client = Connect();
  for (int i = 0; i < 3; ++i) {
    client.Send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Turn();
  }
  EXPECT_FALSE(client.ended());
  EXPECT_EQ(http_metrics_.responses.With({"200"}).value(), 3);
  EXPECT_EQ(http_metrics_.accepted.value(), 1);
}

TEST_F(HttpServerTest, AnswersRequestsThatCameTogetherInTheirOrder) {
  Listen();
  const std::string answer =
      Ask("GET /hello?1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
          "GET /hello?2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const size_t first = answer.find("hello 1");
  ASSERT_NE(first, answer.npos);
  EXPECT_NE(answer.find("hello 2", first), answer.npos);
}

TEST_F(HttpServerTest, ClosesWhenAskedTo) {
  Listen();
  Client client = Connect();
  client.Send("GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  Turn();
  EXPECT_TRUE(client.ended());
  EXPECT_THAT(client.Received(), EndsWith("hello "));
}

TEST_F(HttpServerTest, AnswersHttp10) {
  Listen();
  Client client = Connect();
  client.Send("GET /hello HTTP/1.0\r\n\r\n");
  Turn();
  EXPECT_THAT(client.Received(), StartsWith("HTTP/1.0 200 OK\r\n"));
  EXPECT_TRUE(client.ended());
}

struct Refused {
  const char* name;
  const char* request;
  const char* status;
};

class HttpRefusals : public HttpServerTest, public testing::WithParamInterface<Refused> {};

TEST_P(HttpRefusals, SayWhy) {
  Listen();
  EXPECT_THAT(Ask(GetParam().request), StartsWith(std::string("HTTP/1.1 ") + GetParam().status));
}

INSTANTIATE_TEST_SUITE_P(
    All, HttpRefusals,
    testing::Values(
        Refused{"UnknownPath", "GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
        Refused{"PathIsNotDecoded", "GET /%68ello HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"},
        Refused{"OtherMethod", "DELETE /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"},
        Refused{"MadeUpMethod", "BREW /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"},
        Refused{"Body", "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello", "413"},
        Refused{"ChunkedBody", "GET /hello HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "413"},
        Refused{"HugeBody", "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n",
                "413"},
        Refused{"NoHost", "GET /hello HTTP/1.1\r\n\r\n", "400"},
        Refused{"TwoHosts", "GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "400"},
        Refused{"ForeignHost", "GET /hello HTTP/1.1\r\nHost: evil.example:7977\r\n\r\n", "421"},
        Refused{"EmptyHost", "GET /hello HTTP/1.1\r\nHost:\r\n\r\n", "421"},
        Refused{"ProxyRequest", "GET http://localhost/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"},
        Refused{"NoHttp", "\x16\x03\x01\x02\r\n\r\n", "400"},
        Refused{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"},
        Refused{"TwoLengths",
                "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 7\r\n\r\n", "400"}),
    [](const testing::TestParamInfo<Refused>& info) { return info.param.name; });

TEST_F(HttpServerTest, NamesTheMethodsThatThereAre) {
  Listen();
  EXPECT_THAT(Ask("PUT /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
}

TEST_F(HttpServerTest, RefusesAHeaderWithoutEnd) {
  Listen();
  Client client = Connect();
  client.Send("GET /hello HTTP/1.1\r\nX: " + std::string(10'000, 'x'));
  Turn();
  EXPECT_THAT(client.Received(), StartsWith("HTTP/1.1 431 "));
  client.Finish();
  Turn();
  EXPECT_TRUE(client.ended());
}

TEST_F(HttpServerTest, GivesUpOnARequestThatDoesNotEnd) {
  Listen();
  Client client = Connect();
  client.Send("GET /hello HT");
  Pass(limits_.first_request_ms - 1);
  EXPECT_FALSE(client.ended());
  Pass(1);
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(client.Received(), "");
  EXPECT_EQ(http_metrics_.open.value(), 0);
}

TEST_F(HttpServerTest, WaitsLongerForTheNextRequestThanForTheFirst) {
  Listen();
  Client client = Connect();
  client.Send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  Pass(limits_.next_request_ms - 1);
  EXPECT_FALSE(client.ended());
  Pass(1);
  EXPECT_TRUE(client.ended());
}

TEST_F(HttpServerTest, AnswersLater) {
  Listen();
  Client client = Connect();
  client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  ASSERT_EQ(waiting_.size(), 1u);
  EXPECT_EQ(client.Received(), "");
  waiting_[0]({.body = "at last"});
  Turn();
  EXPECT_THAT(client.Received(), EndsWith("at last"));
}

TEST_F(HttpServerTest, SaysThatAnAnswerTookTooLong) {
  Listen();
  Client client = Connect();
  client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  Pass(limits_.answer_ms);
  EXPECT_THAT(client.Received(), StartsWith("HTTP/1.1 503 "));
  waiting_[0]({.body = "at last"});
  client.Send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  EXPECT_THAT(client.Received(), Not(HasSubstr("at last"))) << "a late answer is for nobody";
  EXPECT_THAT(client.Received(), EndsWith("hello "));
}

TEST_F(HttpServerTest, TakesNoHarmWhenTheClientGoesBeforeTheAnswer) {
  Listen();
  {
    Client client = Connect();
    client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Turn();
  }
  ASSERT_EQ(waiting_.size(), 1u);
  waiting_[0]({.body = std::string(1 << 20, 'x')});
  Turn();
  Pass(limits_.write_ms);
  EXPECT_EQ(http_metrics_.open.value(), 0);
}

TEST_F(HttpServerTest, TakesNoHarmWhenItEndsBeforeTheAnswer) {
  Listen();
  Client client = Connect();
  client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  server_.reset();
  waiting_[0]({.body = "at last"});
  Turn();
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(http_metrics_.open.value(), 0);
}

TEST_F(HttpServerTest, ClosesWhatNobodyReads) {
  Listen();
  Client client = Connect();
  client.Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
  Turn();
  waiting_[0]({.body = std::string(64 << 20, 'x')});
  Turn();
  EXPECT_EQ(http_metrics_.open.value(), 1);
  Pass(limits_.write_ms);
  EXPECT_EQ(http_metrics_.open.value(), 0);
}

TEST_F(HttpServerTest, GivesTheLongestIdlePlaceToANewConnection) {
  Listen();
  std::vector<Client> idle;
  for (size_t i = 0; i < limits_.most_connections; ++i) {
    idle.push_back(Connect());
    Pass(1);
  }
  EXPECT_THAT(Ask("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("hello "));
  EXPECT_TRUE(idle[0].ended());
  EXPECT_FALSE(idle[1].ended());
}

TEST_F(HttpServerTest, ClosesANewConnectionWhenAllAreBeingAnswered) {
  Listen();
  std::vector<Client> busy;
  for (size_t i = 0; i < limits_.most_connections; ++i) {
    busy.push_back(Connect());
    busy.back().Send("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Turn();
  }
  Client late = Connect();
  EXPECT_TRUE(late.ended());
  EXPECT_EQ(http_metrics_.refused.value(), 1);
  for (Client& client : busy) EXPECT_FALSE(client.ended());
}

TEST_F(HttpServerTest, SaysWhenThePortIsTaken) {
  Listen();
  Result<std::unique_ptr<HttpServer>> second = HttpServer::Listen(loop_, server_->address(), {}, http_metrics_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kUsage);
  EXPECT_THAT(second.status().ToString(), HasSubstr("the port is taken"));
}

}  // namespace
}  // namespace kprof
