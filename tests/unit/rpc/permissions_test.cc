#include "daemon/access/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "kprof/v1/analyses.pb.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/queries.pb.h"
#include "kprof/v1/runs.pb.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof {
namespace {

using testing::HasSubstr;
using testing::Not;

void AddMethods(const google::protobuf::FileDescriptor& file, std::set<std::string>& methods) {
  for (int s = 0; s < file.service_count(); ++s) {
    const google::protobuf::ServiceDescriptor& service = *file.service(s);
    for (int m = 0; m < service.method_count(); ++m) {
      methods.insert(service.full_name() + "/" + service.method(m)->name());
    }
  }
}

TEST(AccessRules, HaveARowForEveryMethodOnTheWire) {
  std::set<std::string> served;
  AddMethods(*v1::GetStatusRequest::descriptor()->file(), served);
  AddMethods(*v1::QueryRequest::descriptor()->file(), served);
  AddMethods(*v1::AnalyzeRequest::descriptor()->file(), served);
  AddMethods(*v1::SubmitRunRequest::descriptor()->file(), served);
  AddMethods(*v1::OpenSessionRequest::descriptor()->file(), served);
  AddMethods(*grpc::health::v1::HealthCheckRequest::descriptor()->file(), served);
  AddMethods(*grpc::reflection::v1::ServerReflectionRequest::descriptor()->file(), served);
  AddMethods(*grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file(), served);
  std::set<std::string> ruled;
  for (const AccessRule& rule : AccessRules()) ruled.insert(rule.method);
  EXPECT_EQ(ruled, served);
}

TEST(AccessRules, NobodyWithoutARoleMayCallAnything) {
  for (const AccessRule& rule : AccessRules()) {
    const Status refused = AuthorizeCall(Caller{1000, Role::kNone, true, {}}, rule.rpc);
    EXPECT_EQ(refused.code(), ErrorCode::kNotPermitted) << rule.method;
    EXPECT_THAT(refused.ToString(), HasSubstr("[access]"));
  }
}

TEST(AccessRules, WhoIsNoUserStartsNothing) {
  const Caller remote{kNoUid, Role::kAdmin, false, "ci"};
  for (const AccessRule& rule : AccessRules()) {
    EXPECT_EQ(AuthorizeCall(remote, rule.rpc).code(), rule.starts ? ErrorCode::kNotPermitted : ErrorCode::kOk)
        << rule.method;
  }
  EXPECT_THAT(AuthorizeCall(remote, Rpc::kSubmitRun).ToString(), HasSubstr("certificate ci"));
}

TEST(AccessRules, SayWhyALocalCallerStartsNothing) {
  const std::string root = AuthorizeCall(Caller{0, Role::kViewer, false, {}}, Rpc::kSubmitRun).ToString();
  EXPECT_THAT(root, HasSubstr("root may look, but starts nothing unless [access]"));
  EXPECT_THAT(root, Not(HasSubstr("certificate")));
  const std::string nobody = AuthorizeCall(Caller{65534, Role::kViewer, false, {}}, Rpc::kSubmitRun).ToString();
  EXPECT_THAT(nobody, HasSubstr("uid 65534 is no person on this node"));
  EXPECT_THAT(nobody, Not(HasSubstr("certificate")));
}

TEST(AccessRules, WhoIsNoUserOwnsNothing) {
  const OwnedObject nobodys{kNoUid, false, "run"};
  const Caller remote{kNoUid, Role::kViewer, false, "ci"};
  EXPECT_EQ(AuthorizeObject(remote, Rpc::kGetRun, nobodys, "show run x").code(), ErrorCode::kNotFound);
}

TEST(AccessRules, SayWhoMay) {
  const OwnedObject others{1000, true, "run"};
  const Caller viewer{2000, Role::kViewer, true, {}};
  const Caller operator_{2000, Role::kOperator, true, {}};
  EXPECT_EQ(AuthorizeObject(viewer, Rpc::kCancelRun, others, "cancel run x").ToString(),
            "cancel run x: it belongs to uid 1000; ask its owner, or an operator of this node");
  EXPECT_EQ(AuthorizeObject(operator_, Rpc::kDeleteRun, others, "delete run x").ToString(),
            "delete run x: it belongs to uid 1000; ask its owner, or an admin of this node");
  const OwnedObject session{1000, false, "session"};
  const Caller admin{2000, Role::kAdmin, true, {}};
  EXPECT_EQ(AuthorizeObject(admin, Rpc::kSubmitToSession, session, "submit run to session x").ToString(),
            "submit run to session x: it belongs to uid 1000; do it with a session of your own");
}

TEST(AccessRules, OnlyOperatorsGoBeforeOthers) {
  for (Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    const Caller caller{1000, role, true, {}};
    EXPECT_TRUE(AuthorizePriority(caller, 0, "submit run").ok());
    EXPECT_EQ(AuthorizePriority(caller, 1, "submit run").code(),
              role == Role::kViewer ? ErrorCode::kNotPermitted : ErrorCode::kOk);
  }
}

TEST(AccessRules, RolesHaveNamesButForNone) {
  for (Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) EXPECT_EQ(RoleByName(RoleName(role)), role);
  EXPECT_FALSE(RoleByName("none"));
  EXPECT_FALSE(RoleByName("Admin"));
}

}  // namespace
}  // namespace kprof
