// The root helper's CallerGrants: shows it a connection of the caller's.
#pragma once

#include <functional>
#include <string>

#include "daemon/process/caller_grants.h"
#include "daemon/process/helper_link.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class HelperGrants final : public CallerGrants {
 public:
  // A copy of a connection that this uid has open; none where it has none (caller_connections.h).
  using ConnectionOf = std::function<UniqueFd(uint32_t uid)>;

  HelperGrants(IoLoop& loop, HelperLink& link, ConnectionOf connection_of)
      : loop_(loop), link_(link), connection_of_(std::move(connection_of)) {}

  void Register(const std::string& run_id, uint32_t uid, const std::string& digest,
                std::function<void(Status)> done) override;
  void Forget(const std::string& run_id) override;

 private:
  IoLoop& loop_;
  HelperLink& link_;
  const ConnectionOf connection_of_;
};

}  // namespace kprof
