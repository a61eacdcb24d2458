#include <boost/test/unit_test.hpp>
#include <map>
#include <string>
#include <vector>

#include "scheduler/prefix_tree.hpp"
#include "tests/simulation/dice.hpp"

namespace glimmer {

BOOST_AUTO_TEST_SUITE(prefix_tree_test)

namespace {

using tokens = std::vector<token_id>;

prefix_tree small_tree() {
  return prefix_tree{{.block_size = 2, .blocks = {16, 16}}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_prefix_is_found_by_its_tokens_from_the_start) {
  auto tree = small_tree();
  const auto first = tree.reach(no_prefix, "", tokens{1, 2});
  tree.set_block(first, kv_group::full, 5);
  const auto second = tree.reach(first, "", tokens{3, 4});
  tree.set_block(second, kv_group::full, 6);
  BOOST_TEST(tree.find(no_prefix, "", tokens{1, 2}) == first);
  BOOST_TEST(tree.find(first, "", tokens{3, 4}) == second);
  BOOST_TEST(tree.find(no_prefix, "", tokens{3, 4}) == no_prefix);
  BOOST_TEST(tree.find(first, "", tokens{3, 5}) == no_prefix);
  BOOST_TEST(*tree.block(second, kv_group::full) == 6);
  BOOST_TEST(!tree.block(second, kv_group::sliding));
}

BOOST_AUTO_TEST_CASE(prefixes_under_different_salts_never_meet) {
  auto tree = small_tree();
  const auto mine = tree.reach(no_prefix, "mine", tokens{1, 2});
  tree.set_block(mine, kv_group::full, 0);
  BOOST_TEST(tree.find(no_prefix, "yours", tokens{1, 2}) == no_prefix);
  BOOST_TEST(tree.find(no_prefix, "", tokens{1, 2}) == no_prefix);
}

BOOST_AUTO_TEST_CASE(a_node_goes_with_its_last_block_and_child) {
  auto tree = small_tree();
  const auto first = tree.reach(no_prefix, "salt", tokens{1, 2});
  tree.set_block(first, kv_group::full, 0);
  tree.set_block(first, kv_group::sliding, 0);
  const auto second = tree.reach(first, "salt", tokens{3, 4});
  tree.set_block(second, kv_group::sliding, 1);
  tree.forget(kv_group::full, 0);
  tree.forget(kv_group::sliding, 0);
  BOOST_TEST(tree.size() == 2u);  // the child still hangs there
  tree.forget(kv_group::sliding, 1);
  BOOST_TEST(tree.size() == 0u);
  BOOST_TEST(tree.find(no_prefix, "salt", tokens{1, 2}) == no_prefix);
}

BOOST_AUTO_TEST_CASE(the_tree_agrees_with_a_map_of_whole_prefixes) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      dice chance{seed};
      prefix_tree tree{{.block_size = 2, .blocks = {64, 64}}};
      std::map<std::pair<std::string, tokens>, block_id> model;
      std::vector<block_id> unused;
      for (block_id id = 0; id < 64; ++id) unused.push_back(id);
      for (int round = 0; round < 60 && !unused.empty(); ++round) {
        const std::string salt = chance.percent(50) ? "a" : "b";
        tokens prefix;
        auto node = no_prefix;
        for (auto depth = chance.in({1, 4}); depth > 0 && !unused.empty(); --depth) {
          const tokens block = {static_cast<token_id>(chance.in({0, 1})), 7};
          prefix.insert(prefix.end(), block.begin(), block.end());
          node = tree.reach(node, salt, block);
          if (tree.block(node, kv_group::full)) {
            BOOST_REQUIRE_EQUAL(*tree.block(node, kv_group::full), model.at({salt, prefix}));
          } else {
            BOOST_REQUIRE(!model.contains({salt, prefix}));
            tree.set_block(node, kv_group::full, unused.back());
            model[{salt, prefix}] = unused.back();
            unused.pop_back();
          }
        }
      }
      BOOST_REQUIRE_EQUAL(tree.size(), model.size());
      for (const auto& [prefix, id] : model) tree.forget(kv_group::full, id);
      BOOST_REQUIRE_EQUAL(tree.size(), 0u);
    }
  }
}

// A client may send any salt; none may be kept longer than its blocks.
BOOST_AUTO_TEST_CASE(a_flood_of_salts_leaves_nothing_behind) {
  auto tree = small_tree();
  for (int i = 0; i < 10'000; ++i) {
    const auto node = tree.reach(no_prefix, std::to_string(i), tokens{1, 2});
    tree.set_block(node, kv_group::full, i % 16);
    tree.forget(kv_group::full, i % 16);
  }
  BOOST_TEST(tree.size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
