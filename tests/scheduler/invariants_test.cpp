#include <boost/test/unit_test.hpp>

#include "scheduler/invariants.hpp"
#include "tests/scheduler/stage.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(invariants_test)

namespace {

// A sequence with 9 computed positions, and its books.
struct small_books {
  small_books() {
    s.prompt = prompt_of(10);
    s.output_max = 4;
    s.window = 8;
    s.computed = 9;
    std::vector<kv_block_copy> copies;
    blocks.extend(s.blocks, 0, 9, copies);
  }
  std::optional<std::string> broken() {
    const std::vector<const sequence*> all = {&s};
    if (auto found = broken_sequence(s)) return found;
    return broken_block_book(blocks, all);
  }
  block_manager blocks{{.block_size = 4, .window = 8, .blocks = {8, 8}}};
  sequence s;
};

}  // namespace

BOOST_AUTO_TEST_CASE(honest_books_pass) {
  BOOST_TEST(!small_books{}.broken());
}

BOOST_AUTO_TEST_CASE(a_block_that_nobody_names_is_a_leak) {
  small_books books;
  books.s.blocks.groups[0].blocks.pop_back();
  BOOST_TEST(books.broken().has_value());
}

BOOST_AUTO_TEST_CASE(a_block_named_twice_is_noticed) {
  small_books books;
  books.s.blocks.groups[0].blocks[1] = books.s.blocks.groups[0].blocks[0];
  BOOST_TEST(books.broken().has_value());
}

BOOST_AUTO_TEST_CASE(a_table_that_ends_too_early_is_noticed) {
  small_books books;
  books.s.prompt = prompt_of(20);
  books.s.computed = 13;
  BOOST_TEST(books.broken().has_value());
}

BOOST_AUTO_TEST_CASE(a_sliding_block_behind_the_window_is_noticed) {
  small_books books;
  books.s.prompt = prompt_of(20);
  books.s.computed = 12;
  BOOST_TEST(books.broken().has_value());
  books.blocks.release_passed(books.s.blocks, 12);
  BOOST_TEST(!books.broken());
}

BOOST_AUTO_TEST_CASE(states_and_lengths_that_contradict_each_other_are_noticed) {
  const auto broken = [](auto change) {
    small_books books;
    change(books.s);
    return broken_sequence(books.s).has_value();
  };
  BOOST_TEST(broken([](sequence& s) { s.computed = 11; }));
  BOOST_TEST(broken([](sequence& s) { s.computed = 10; }));
  BOOST_TEST(broken([](sequence& s) { s.output.resize(5); }));
  BOOST_TEST(broken([](sequence& s) { s.window = 0; }));
  BOOST_TEST(broken([](sequence& s) { s.in_step = true; }));
  BOOST_TEST(broken([](sequence& s) { s.state = sequence_state::ended; }));
  BOOST_TEST(broken([](sequence& s) { s.state = sequence_state::following; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
