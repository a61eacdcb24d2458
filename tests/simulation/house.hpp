#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/answer_desk.hpp"
#include "engine/credit_pool.hpp"
#include "engine/front_desk.hpp"
#include "engine/request_intake.hpp"
#include "scheduler/scheduler.hpp"
#include "tests/simulation/fake_executor.hpp"
#include "tests/simulation/guest.hpp"
#include "tests/simulation/post_office.hpp"

namespace glimmer {

struct house_options {
  std::uint32_t guests = 20;
  bool faults = true;      ///< steps fail, logits are not finite
  bool long_call = false;  ///< one guest, whose tool call has ten thousand tokens
};

/// A whole server without threads and sockets: the real cores of every actor, joined by the real
/// messages, in any order that actors may see them; guests with sockets who send bytes cut
/// anywhere, read slowly or not at all, leave, and abort. After each event the books are checked;
/// each answer must be the one that its request gets alone.
class house {
 public:
  house(std::uint64_t seed, house_options options);

  /// Lives until every guest has gone and all is idle. Returns the first complaint, or nothing.
  std::string live();

  std::uint64_t events() const { return events_; }
  /// Of everything that every guest heard: the same seed hears the same.
  std::uint64_t digest() const;
  /// Answers that were checked against those of a server with one guest.
  std::uint64_t compared() const { return compared_; }
  std::size_t deepest_mail() const { return mail_.deepest(); }

 private:
  struct work {          ///< what is known of a request in the engine
    std::size_t of = 0;  ///< guest
    std::vector<std::uint32_t> output_max;
    bool failed = false;                             ///< a fault was planted into it
    std::map<sequence_id, std::int64_t> on_the_way;  ///< tokens made and not given back
    std::uint64_t tokens_unwanted = 0;               ///< made since its guest left
  };

  // drawing
  scheduler_config draw_config();
  limits draw_bounds();
  answer_desk new_parlour() const;

  // guests and sockets
  void act(guest& g);
  void come(guest& g);
  void leave(guest& g);
  void hear(guest& g);
  void fill(guest& g);
  void call_abort(guest& g);
  guest* at_socket(std::uint32_t frontend, std::uint64_t connection);
  void verify(const guest& g);
  void verify_answer(const guest& g, const http_answer& got);
  told_answer alone(const guest& g) const;

  // actors
  void deliver(post_office::delivery one);
  void at_frontend(std::uint32_t index, letter& what);
  void at_tokenizer(std::uint32_t index, const message::prepare_request& asked);
  void at_parser(std::uint32_t index, letter& what);
  void at_scheduler(address from, letter& what);
  void at_executor(const message::run_step& step);
  void at_supervisor(address from, letter& what);
  void carry_out(std::uint32_t frontend);
  void carry_out(std::uint32_t frontend, const desk_order& order);
  void write(guest& g, const std::string& bytes);
  void send_mail(std::uint32_t parser);
  void submit(std::uint32_t parser, const message::submit_sequence& asked);
  void go_on();
  void tell_parsers(committed step);
  void count_windows(const message::window_returned& back);
  void tick();

  void complain(const std::string& what);
  void event();
  void check_end();

  dice chance_;
  house_options options_;
  scheduler_config config_;
  limits bounds_;
  voice says_;
  std::shared_ptr<const tokenizer> tokens_;
  request_intake intake_;
  scheduler scheduler_;
  fake_executor executor_;
  credit_pool pool_;
  std::vector<front_desk> desks_;
  std::vector<answer_desk> parlours_;
  std::uint32_t tokenizers_ = 1;
  post_office mail_;
  engine_phase phase_ = engine_phase::serving;
  bool drains_ = false;

  std::vector<guest> guests_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> sockets_;
  std::unordered_map<request_id, work> works_;
  std::uint64_t connections_ = 0;
  time_point now_{std::chrono::seconds{1000}};
  std::uint64_t events_ = 0;
  std::uint64_t compared_ = 0;
  std::string complaint_;
};

}  // namespace glimmer
