// A run or a session as it is now: from the io loop, which has what is open, else from the catalog. Between the two it
// can hide twice: it has ended since the catalog was read, and its end is there now; or it has been committed, and the
// loop is about to hear of it. The writer answers in order: when it answers a job that was given to it after the look,
// the loop has heard of all that was seen.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "daemon/rpc/service_context.h"
#include "storage/base/status.h"

namespace kprof {

template <typename Row>
struct CurrentRow {
  const ServiceContext& parts;
  std::string act;                                             // begins the message of a full pool
  std::function<Result<Row>(const std::string& name)> read;    // from the catalog; on a worker
  std::function<const Row*(const std::string& id)> find_open;  // null: none; on the loop
  std::function<bool(const Row& row)> is_over;
  std::function<void(Result<Row>)> then;  // called once, on the loop, later
};

template <typename Row>
class CurrentRowSearch : public std::enable_shared_from_this<CurrentRowSearch<Row>> {
 public:
  explicit CurrentRowSearch(CurrentRow<Row> look) : look_(std::move(look)) {}

  void Begin(const std::string& name) {
    Read(name, [this](Result<Row> row) {
      if (!row.ok() || look_.is_over(*row)) return look_.then(std::move(row));
      if (const Row* open = look_.find_open(row->id)) return look_.then(*open);
      look_.parts.catalog.writer().Submit([](Db&) { return OkStatus(); },
                                          [self = this->shared_from_this(), id = row->id](const Status&) {
                                            self->look_.parts.loop.Post([self, id] { self->LookAgain(id); });
                                          });
    });
  }

 private:
  void LookAgain(const std::string& id) {
    if (const Row* open = look_.find_open(id)) return look_.then(*open);
    Read(id, [this](Result<Row> row) { look_.then(std::move(row)); });
  }

  // `then` is called on the loop, and may use this.
  template <typename Then>
  void Read(const std::string& name, Then then) {
    auto job = [self = this->shared_from_this(), name, then] {
      self->look_.parts.loop.Post([self, row = self->look_.read(name), then] { then(row); });
    };
    Status submitted = look_.parts.workers.Submit(std::move(job));
    if (submitted.ok()) return;
    look_.parts.loop.Post(
        [self = this->shared_from_this(), refused = submitted.In(look_.act)] { self->look_.then(refused); });
  }

  const CurrentRow<Row> look_;
};

// Any thread; never blocks.
template <typename Row>
void FindCurrentRow(CurrentRow<Row> look, const std::string& name) {
  std::make_shared<CurrentRowSearch<Row>>(std::move(look))->Begin(name);
}

}  // namespace kprof
