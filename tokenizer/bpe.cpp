#include "tokenizer/bpe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <queue>
#include <string>

namespace glimmer {

namespace {

constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();
// Up to here a scan of all pairs per merge beats a queue.
constexpr std::size_t short_piece = 48;

std::uint64_t pair_of(token_id left, token_id right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::size_t hash_of(std::uint64_t pair) {
  pair *= 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(pair ^ pair >> 32);
}

bool is_set(const json& model, std::string_view key) {
  const auto member = model.find(key);
  return member && !member->is_null() && !(member->is_string() && member->string().empty());
}

struct word_pair {
  std::string left;
  std::string right;
};

/// Both halves of one entry of `merges`, as raw bytes.
std::optional<word_pair> read_pair(const json& entry) {
  std::string_view left, right;
  if (entry.is_string()) {
    const std::string_view both = entry.string();
    const std::size_t blank = both.find(' ');
    if (blank == both.npos) return {};
    left = both.substr(0, blank);
    right = both.substr(blank + 1);
  } else if (entry.is_array() && entry.size() == 2) {
    const json first = entry.at(0), second = entry.at(1);
    if (!first.is_string() || !second.is_string()) return {};
    left = first.string();
    right = second.string();
  }
  auto left_bytes = decode_byte_level(left);
  auto right_bytes = decode_byte_level(right);
  if (!left_bytes || !right_bytes) return {};
  return word_pair{std::move(*left_bytes), std::move(*right_bytes)};
}

}  // namespace

result<bpe> bpe::from_tokenizer_json(const json& root, const vocabulary& words) {
  const auto model = root.find("model");
  const auto type = model ? model->find("type") : std::nullopt;
  if (!type || !type->is_string() || type->string() != "BPE") {
    return fail(unsupported_tokenizer("model.type", "The tokenizer's model is not BPE."));
  }
  for (const std::string_view key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    if (is_set(*model, key)) {
      return fail(unsupported_tokenizer(
          "model", fmt::format("The tokenizer's model sets {}, which is not supported.", key)));
    }
  }
  bpe out;
  const auto ignore = model->find("ignore_merges");
  out.ignore_merges_ = ignore && ignore->is_boolean() && ignore->boolean();
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    const auto id = words.find({&raw, 1});
    if (!id) {
      return fail(unsupported_tokenizer(
          "model.vocab", fmt::format("The vocabulary has no token for byte {}.", byte)));
    }
    out.byte_ids_[byte] = *id;
  }
  const auto merges = model->find("merges");
  if (merges && merges->is_array()) {
    if (auto done = out.read_merges(*merges, words); !done) return fail(std::move(done.error()));
  }
  return out;
}

result<void> bpe::read_merges(const json& merges, const vocabulary& words) {
  reserve(merges.size());
  std::uint32_t rank = 0;
  for (auto entry = merges.first(); entry; entry = entry->next(), ++rank) {
    const auto pair = read_pair(*entry);
    const auto left = pair ? words.find(pair->left) : std::nullopt;
    const auto right = pair ? words.find(pair->right) : std::nullopt;
    const auto product = pair ? words.find(pair->left + pair->right) : std::nullopt;
    if (!left || !right || !product) {
      return fail(unsupported_tokenizer(
          "model.merges", fmt::format("Merge {} does not join two tokens to a third.", rank)));
    }
    insert(pair_of(*left, *right), {rank, *product});
  }
  return {};
}

void bpe::reserve(std::size_t count) {
  slots_.assign(std::bit_ceil(count * 2 + 2), {});
}

void bpe::insert(std::uint64_t pair, merge_rule rule) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash_of(pair) & mask;
  while (slots_[i].pair != no_pair && slots_[i].pair != pair) i = (i + 1) & mask;
  slots_[i] = {pair, rule};
}

const merge_rule* bpe::find(token_id left, token_id right) const {
  if (slots_.empty()) return nullptr;
  const std::uint64_t pair = pair_of(left, right);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash_of(pair) & mask;; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return &slots_[i].rule;
    if (slots_[i].pair == no_pair) return nullptr;
  }
}

std::uint32_t bpe::rank_of(token_id left, token_id right) const {
  const merge_rule* rule = find(left, right);
  return rule != nullptr ? rule->rank : no_rank;
}

void bpe::encode(std::string_view piece, const vocabulary& words,
                 std::vector<token_id>& out) const {
  if (ignore_merges_ || piece.size() == 1) {
    if (const auto whole = words.find(piece)) {
      out.push_back(*whole);
      return;
    }
  }
  const std::size_t first = out.size();
  for (const char c : piece) out.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  if (piece.size() <= short_piece) {
    merge_short(out, first);
  } else {
    merge_long(out, first);
  }
}

// Quadratic, but within a cache line or two.
void bpe::merge_short(std::vector<token_id>& tokens, std::size_t first) const {
  token_id* const t = tokens.data() + first;
  std::size_t count = tokens.size() - first;
  std::array<std::uint32_t, short_piece + 1> ranks;  // of the pair that begins here
  const auto rank_at = [&](std::size_t i) {
    return i + 1 < count ? rank_of(t[i], t[i + 1]) : no_rank;
  };
  for (std::size_t i = 0; i < count; ++i) ranks[i] = rank_at(i);

  while (count > 1) {
    const auto* best = std::min_element(ranks.data(), ranks.data() + count - 1);
    if (*best == no_rank) break;
    const auto i = static_cast<std::size_t>(best - ranks.data());
    t[i] = find(t[i], t[i + 1])->product;
    std::copy(t + i + 2, t + count, t + i + 1);
    std::copy(ranks.data() + i + 2, ranks.data() + count, ranks.data() + i + 1);
    --count;
    ranks[i] = rank_at(i);
    if (i > 0) ranks[i - 1] = rank_at(i - 1);
  }
  tokens.resize(first + count);
}

// A queue of candidate pairs over a linked list of tokens. Candidates are never removed: one whose
// rank is no longer that of its place is out of date and skipped.
void bpe::merge_long(std::vector<token_id>& tokens, std::size_t first) const {
  struct link {
    token_id token;
    std::uint32_t before;
    std::uint32_t after;
    std::uint32_t rank;  // of the pair with the token after it
  };
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  const auto count = static_cast<std::uint32_t>(tokens.size() - first);
  std::vector<link> links(count);
  using candidate = std::uint64_t;  // rank << 32 | place: lowest rank first, then leftmost
  std::vector<candidate> initial;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_last = i + 1 == count;
    const token_id* const t = tokens.data() + first + i;
    links[i] = {t[0], i == 0 ? none : i - 1, is_last ? none : i + 1,
                is_last ? no_rank : rank_of(t[0], t[1])};
    if (links[i].rank != no_rank) initial.push_back(std::uint64_t{links[i].rank} << 32 | i);
  }
  std::priority_queue queue{std::greater<candidate>{}, std::move(initial)};

  const auto renew = [&](std::uint32_t i) {
    link& l = links[i];
    l.rank = l.after == none ? no_rank : rank_of(l.token, links[l.after].token);
    if (l.rank != no_rank) queue.push(std::uint64_t{l.rank} << 32 | i);
  };
  while (!queue.empty()) {
    const candidate top = queue.top();
    queue.pop();
    const auto i = static_cast<std::uint32_t>(top);
    if (links[i].rank != top >> 32) continue;
    link& left = links[i];
    link& right = links[left.after];
    left.token = find(left.token, right.token)->product;
    right.rank = no_rank;
    left.after = right.after;
    if (left.after != none) links[left.after].before = i;
    renew(i);
    if (left.before != none) renew(left.before);
  }

  tokens.resize(first);
  for (std::uint32_t i = 0; i != none; i = links[i].after) tokens.push_back(links[i].token);
}

}  // namespace glimmer
