// The root helper's CallerGrants: shows it a connection of the caller's, one with the groups of that which asked. Of a
// remote caller there is none to show: for those the helper has a list of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "daemon/process/caller_grants.h"
#include "daemon/process/helper_link.h"
#include "storage/base/unique_fd.h"

namespace kprof {

class HelperGrants final : public CallerGrants {
 public:
  // A copy of the nth connection (from 0, newest first) that this uid has open with exactly these groups; none where
  // there are not as many.
  using ConnectionOf = std::function<UniqueFd(uint32_t uid, const std::vector<uint32_t>& groups, size_t nth)>;

  HelperGrants(IoLoop& loop, HelperLink& link, ConnectionOf connection_of)
      : loop_(loop), link_(link), connection_of_(std::move(connection_of)) {}

  void Register(const std::string& run_id, const Asker& asker, const std::string& digest,
                std::function<void(Status)> done) override;
  void Forget(const std::string& run_id) override;

 private:
  // One of several processes of a user may hang up while the helper looks at its connection: then another is shown.
  static constexpr size_t kMostShown = 8;
  void Show(const std::string& run_id, const Asker& asker, const std::string& digest, size_t nth,
            std::function<void(Status)> done);

  IoLoop& loop_;
  HelperLink& link_;
  const ConnectionOf connection_of_;
};

}  // namespace kprof
