#include "scheduler/prefix_tree.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {

prefix_tree::prefix_tree(const sizes& s) : block_size_{s.block_size} {
  for (const auto group : all_kv_groups) {
    node_of_block_[index_of(group)].assign(s.blocks[index_of(group)], no_prefix);
  }
}

std::span<const token_id> prefix_tree::tokens_of(prefix_node n) const {
  return std::span{tokens_}.subspan(std::size_t{n} * block_size_, block_size_);
}

// FNV-1a over 32-bit words. Only speed hangs on it.
std::uint64_t prefix_tree::hash_of(prefix_node parent, std::uint32_t root,
                                   std::span<const token_id> tokens) const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](std::uint32_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  add(parent);
  add(root);
  for (const auto token : tokens) add(static_cast<std::uint32_t>(token));
  return hash ^ (hash >> 29);
}

prefix_node prefix_tree::lookup(prefix_node parent, std::uint32_t root,
                                std::span<const token_id> tokens) const {
  auto [at, end] = by_hash_.equal_range(hash_of(parent, root, tokens));
  for (; at != end; ++at) {
    const auto& n = nodes_[at->second];
    if (n.parent == parent && n.root == root && std::ranges::equal(tokens_of(at->second), tokens)) {
      return at->second;
    }
  }
  return no_prefix;
}

prefix_node prefix_tree::find(prefix_node parent, const std::string& salt,
                              std::span<const token_id> tokens) const {
  if (parent != no_prefix) return lookup(parent, nodes_[parent].root, tokens);
  const auto root = roots_.find(salt);
  return root == roots_.end() ? no_prefix : lookup(no_prefix, root->second.id, tokens);
}

prefix_node prefix_tree::reach(prefix_node parent, const std::string& salt,
                               std::span<const token_id> tokens) {
  GLIMMER_ASSERT(tokens.size() == block_size_, "an edge is one whole block");
  if (const auto found = find(parent, salt, tokens); found != no_prefix) return found;
  if (parent != no_prefix) return make(parent, nodes_[parent].root, tokens);
  auto [root, is_new] = roots_.try_emplace(salt, salt_root{.id = next_root_});
  if (is_new) salts_.emplace(next_root_++, salt);
  return make(no_prefix, root->second.id, tokens);
}

prefix_node prefix_tree::make(prefix_node parent, std::uint32_t root,
                              std::span<const token_id> tokens) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<prefix_node>(nodes_.size()));
    nodes_.emplace_back();
    tokens_.resize(tokens_.size() + block_size_);
  }
  const auto self = unused_.back();
  unused_.pop_back();
  const auto hash = hash_of(parent, root, tokens);
  nodes_[self] = {.parent = parent, .root = root, .hash = hash};
  std::ranges::copy(tokens, tokens_.begin() + static_cast<std::ptrdiff_t>(self) * block_size_);
  by_hash_.emplace(hash, self);
  if (parent != no_prefix) ++nodes_[parent].children;
  ++roots_.at(salts_.at(root)).nodes;
  return self;
}

std::optional<block_id> prefix_tree::block(prefix_node node, kv_group group) const {
  const auto id = nodes_[node].blocks[index_of(group)];
  return id == no_block ? std::nullopt : std::optional{id};
}

void prefix_tree::set_block(prefix_node node, kv_group group, block_id id) {
  auto& owner = node_of_block_[index_of(group)][static_cast<std::size_t>(id)];
  GLIMMER_ASSERT(owner == no_prefix, "a block holds the tokens of one node");
  GLIMMER_ASSERT(!block(node, group), "a node knows one block per group");
  owner = node;
  nodes_[node].blocks[index_of(group)] = id;
}

bool prefix_tree::knows(kv_group group, block_id id) const {
  return node_of_block_[index_of(group)][static_cast<std::size_t>(id)] != no_prefix;
}

void prefix_tree::forget(kv_group group, block_id id) {
  const auto n =
      std::exchange(node_of_block_[index_of(group)][static_cast<std::size_t>(id)], no_prefix);
  GLIMMER_ASSERT(n != no_prefix, "only a known block can be forgotten");
  nodes_[n].blocks[index_of(group)] = no_block;
  remove_if_bare(n);
}

void prefix_tree::remove_if_bare(prefix_node n) {
  while (n != no_prefix) {
    const auto& self = nodes_[n];
    const bool bare = self.children == 0 && self.blocks == per_group<block_id>{no_block, no_block};
    if (!bare) return;
    auto [at, end] = by_hash_.equal_range(self.hash);
    while (at != end && at->second != n) ++at;
    by_hash_.erase(at);
    const auto salt = salts_.find(self.root);
    if (const auto root = roots_.find(salt->second); --root->second.nodes == 0) {
      roots_.erase(root);
      salts_.erase(salt);
    }
    unused_.push_back(n);
    n = self.parent;
    if (n != no_prefix) --nodes_[n].children;
  }
}

}  // namespace glimmer
