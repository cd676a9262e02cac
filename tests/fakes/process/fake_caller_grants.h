// CallerGrants that notes what it was asked, and answers as it is told to.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/process/helper_client/caller_grants.h"

namespace kprof {

class FakeCallerGrants final : public CallerGrants {
 public:
  struct Grant {
    uint32_t uid = 0;
    std::string digest;
  };

  explicit FakeCallerGrants(IoLoop& loop) : loop_(loop) {}

  void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                std::function<void(Status)> done) override {
    if (answer.ok()) grants[run_id] = {asker.uid, digest};
    loop_.Post([answer = answer, done = std::move(done)] { done(answer); });
  }
  void Forget(const std::string& run_id) override { grants.erase(run_id); }

  Status answer;
  std::map<std::string, Grant> grants;  // by run id

 private:
  IoLoop& loop_;
};

}  // namespace kprof
