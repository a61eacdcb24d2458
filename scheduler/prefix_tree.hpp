#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/kv_group.hpp"
#include "scheduler/block_groups.hpp"

namespace glimmer {

/// A place in the prefix tree: all tokens from the start of a sequence to the end of one block.
using prefix_node = std::uint32_t;
inline constexpr prefix_node no_prefix = UINT32_MAX;

/// Which block holds which tokens. One tree per cache salt; each edge is one whole block of
/// tokens, each node may know the block that holds them, per group:
///
///     salt ── [t0 t1 t2 t3] ── [t4 t5 t6 t7] ── ...      full: 5    sliding: -
///                           └─ [t4 t5 t9 t9]             full: 8    sliding: 2
///
/// Tokens are compared one by one: the hash only finds candidates, so two prompts never share a
/// block by accident or by design. Knows nothing of users and ages; whoever evicts a block says
/// so with `forget`. A node without blocks and children disappears.
class prefix_tree {
 public:
  struct sizes {
    std::uint32_t block_size = 16;
    per_group<std::uint32_t> blocks{};
  };
  explicit prefix_tree(const sizes& s);

  /// The node behind `parent` (or the first one under `salt`, when parent is no_prefix) whose
  /// block has these tokens; no_prefix when there is none. tokens: [block_size].
  prefix_node find(prefix_node parent, const std::string& salt,
                   std::span<const token_id> tokens) const;
  /// As find, but makes the node when there is none. Give it a block before anything else.
  prefix_node reach(prefix_node parent, const std::string& salt, std::span<const token_id> tokens);

  std::optional<block_id> block(prefix_node node, kv_group group) const;
  void set_block(prefix_node node, kv_group group, block_id id);
  /// Whether a node knows this block.
  bool knows(kv_group group, block_id id) const;
  /// The contents of a block are lost.
  void forget(kv_group group, block_id id);

  std::size_t size() const { return nodes_.size() - unused_.size(); }

 private:
  static constexpr block_id no_block = -1;
  struct node {
    prefix_node parent = no_prefix;
    std::uint32_t root = 0;  // identity of the salt
    std::uint32_t children = 0;
    std::uint64_t hash = 0;
    per_group<block_id> blocks{no_block, no_block};
  };
  struct salt_root {
    std::uint32_t id = 0;
    std::uint32_t nodes = 0;
  };

  std::span<const token_id> tokens_of(prefix_node n) const;
  std::uint64_t hash_of(prefix_node parent, std::uint32_t root,
                        std::span<const token_id> tokens) const;
  prefix_node lookup(prefix_node parent, std::uint32_t root,
                     std::span<const token_id> tokens) const;
  prefix_node make(prefix_node parent, std::uint32_t root, std::span<const token_id> tokens);
  void remove_if_bare(prefix_node n);

  std::uint32_t block_size_;
  std::vector<node> nodes_;
  std::vector<token_id> tokens_;  // [nodes, block_size]
  std::vector<prefix_node> unused_;
  std::unordered_multimap<std::uint64_t, prefix_node> by_hash_;
  std::unordered_map<std::string, salt_root> roots_;
  std::unordered_map<std::uint32_t, std::string> salts_;  // by root id
  std::uint32_t next_root_ = 1;
  per_group<std::vector<prefix_node>> node_of_block_;
};

}  // namespace glimmer
