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

constexpr auto no_rank = merge_rule::no_rank;
// Up to here a scan of all pairs per merge beats a queue.
constexpr std::size_t short_piece = 48;

constexpr int token_bits = 22;
constexpr int rank_bits = 20;
constexpr std::uint64_t rank_mask = (1 << rank_bits) - 1;
constexpr std::size_t tokens_max = (1 << token_bits) - 1;  // so that no pair looks like a free slot
constexpr std::size_t merges_max = 1 << rank_bits;
constexpr std::uint64_t free_slot = ~std::uint64_t{0};

std::uint64_t pair_of(token_id left, token_id right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << token_bits |
         static_cast<std::uint32_t>(right);
}

std::uint64_t hash_of(std::uint64_t pair) {
  pair *= 0x9e3779b97f4a7c15;
  return pair ^ pair >> 32;
}

/// A pair that may be merged: rank << 32 | place, so that the lowest rank comes first and then the
/// leftmost.
using candidate = std::uint64_t;
struct ranked_place {
  std::uint32_t rank = 0;
  std::uint32_t place = 0;
};
candidate candidate_of(ranked_place at) {
  return std::uint64_t{at.rank} << 32 | at.place;
}

/// Candidates, lowest first out. Those that come in rising order, as they do where a text repeats
/// itself, wait in a few lanes; the rest in a heap.
class candidate_queue {
 public:
  void push(candidate c) {
    lowest_ = std::min(lowest_, c);
    for (auto& lane : lanes_) {
      if (!lane.waiting.empty() && c < lane.waiting.back()) continue;
      return lane.waiting.push_back(c);
    }
    heap_.push(c);
  }
  /// `none` when nothing waits.
  candidate lowest() const { return lowest_; }
  void pop() {
    const auto from = std::ranges::find(lanes_, lowest_, &lane::front);
    from != lanes_.end() ? void(++from->gone) : heap_.pop();
    lowest_ = heap_.empty() ? none : heap_.top();
    for (const auto& lane : lanes_) lowest_ = std::min(lowest_, lane.front());
  }

  static constexpr candidate none = ~candidate{0};

 private:
  struct lane {
    std::vector<candidate> waiting;
    std::size_t gone = 0;
    candidate front() const { return gone < waiting.size() ? waiting[gone] : none; }
  };
  std::array<lane, 3> lanes_;
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> heap_;
  candidate lowest_ = none;
};

/// Sorts candidates that stand in order of their places: by digits of the rank, the lowest first.
void sort_by_rank(std::vector<candidate>& candidates) {
  constexpr std::size_t few = 256;  // for which counting digits costs more
  constexpr int digit_bits = 9;
  if (candidates.size() < few) {
    std::ranges::sort(candidates);
    return;
  }
  candidate all = 0;
  for (const auto c : candidates) all |= c;
  std::vector<candidate> sorted(candidates.size());
  for (int shift = 32; shift < 64 && all >> shift != 0; shift += digit_bits) {
    std::array<std::uint32_t, (1 << digit_bits) + 1> begin{};
    const auto digit = [&](candidate c) { return c >> shift & ((1 << digit_bits) - 1); };
    for (const auto c : candidates) ++begin[digit(c) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const auto c : candidates) sorted[begin[digit(c)]++] = c;
    candidates.swap(sorted);
  }
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
  out.look_up_byte_pairs();
  return out;
}

result<void> bpe::read_merges(const json& merges, const vocabulary& words) {
  if (words.size() > tokens_max || merges.size() > merges_max) {
    return fail(unsupported_tokenizer(
        "model", fmt::format("The tokenizer has {} tokens and {} merges; at most {} and {} are "
                             "served.",
                             words.size(), merges.size(), tokens_max, merges_max)));
  }
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
    insert(pair_of(*left, *right), rank);
    products_.push_back(*product);
  }
  return {};
}

void bpe::reserve(std::size_t count) {
  slots_.assign(std::bit_ceil(count * 2 + 2), free_slot);
  filter_.assign(std::bit_ceil(count / 8 + 1), 0);  // 8 bits a pair: one in ten passes unmeant
  products_.reserve(count);
}

void bpe::insert(std::uint64_t pair, std::uint32_t rank) {
  const std::uint64_t hash = hash_of(pair);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  while (slots_[i] != free_slot && slots_[i] >> rank_bits != pair) i = (i + 1) & mask;
  slots_[i] = pair << rank_bits | rank;
  filter_[hash >> 38 & (filter_.size() - 1)] |= std::uint64_t{1} << (hash >> 32 & 63);
}

void bpe::look_up_byte_pairs() {
  rank_of_bytes_.resize(1 << 16);
  for (std::size_t i = 0; i < rank_of_bytes_.size(); ++i) {
    rank_of_bytes_[i] = rank_of(byte_ids_[i >> 8], byte_ids_[i & 255]);
  }
}

std::uint32_t bpe::rank_of(token_id left, token_id right) const {
  if (slots_.empty()) return no_rank;
  const std::uint64_t pair = pair_of(left, right);
  const std::uint64_t hash = hash_of(pair);
  // Most pairs are never merged. The filter fits into a near cache, the slots do not.
  const std::uint64_t bits = filter_[hash >> 38 & (filter_.size() - 1)];
  if ((bits >> (hash >> 32 & 63) & 1) == 0) return no_rank;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    if (slots_[i] >> rank_bits == pair) return static_cast<std::uint32_t>(slots_[i] & rank_mask);
    if (slots_[i] == free_slot) return no_rank;
  }
}

merge_rule bpe::rule_of(token_id left, token_id right) const {
  const auto rank = rank_of(left, right);
  return rank == no_rank ? merge_rule{} : merge_rule{rank, products_[rank]};
}

/// Of the pair of bytes that begins at `at`.
std::uint32_t bpe::rank_of_bytes(std::string_view piece, std::size_t at) const {
  if (at + 1 >= piece.size()) return no_rank;
  const auto left = static_cast<unsigned char>(piece[at]);
  const auto right = static_cast<unsigned char>(piece[at + 1]);
  return rank_of_bytes_[static_cast<std::size_t>(left << 8 | right)];
}

void bpe::encode(const hashed_bytes& piece, const vocabulary& words, repeated_pieces& before,
                 std::vector<token_id>& out) const {
  const auto bytes = piece.bytes;
  if (ignore_merges_ || bytes.size() == 1) {
    if (const auto whole = words.find(piece)) {
      out.push_back(*whole);
      return;
    }
  }
  if (before.copy(piece, out)) return;
  const auto begin = out.size();
  bytes.size() <= short_piece ? merge_short(bytes, out) : merge_long(bytes, out);
  before.remember(piece, begin, out);
}

// Quadratic, but within a cache line or two.
void bpe::merge_short(std::string_view piece, std::vector<token_id>& out) const {
  std::array<token_id, short_piece> tokens;
  std::array<std::uint32_t, short_piece> ranks;  // of the pair that begins here
  std::size_t count = piece.size();
  for (std::size_t i = 0; i < count; ++i) {
    tokens[i] = byte_ids_[static_cast<unsigned char>(piece[i])];
    ranks[i] = rank_of_bytes(piece, i);
  }
  const auto renew = [&](std::size_t i) {
    ranks[i] = i + 1 < count ? rank_of(tokens[i], tokens[i + 1]) : no_rank;
  };
  while (count > 1) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + count - 1);
    if (*best == no_rank) break;
    const auto i = static_cast<std::size_t>(best - ranks.begin());
    tokens[i] = products_[*best];
    const auto close_up = [&](auto& list) {
      std::copy(list.begin() + i + 2, list.begin() + count, list.begin() + i + 1);
    };
    close_up(tokens);
    close_up(ranks);
    --count;
    renew(i);
    if (i > 0) renew(i - 1);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + count);
}

// A linked list of tokens. The pairs of bytes are sorted once, what comes to be later waits in a
// queue. Candidates are never removed: one whose rank is no longer that of its place is out of
// date and skipped.
void bpe::merge_long(std::string_view piece, std::vector<token_id>& out) const {
  struct link {
    token_id token;
    std::uint32_t before;
    std::uint32_t after;
    std::uint32_t rank;  // of the pair with the token after it
  };
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  const auto count = static_cast<std::uint32_t>(piece.size());
  std::vector<link> links(count);
  std::vector<candidate> sorted;
  for (std::uint32_t i = 0; i < count; ++i) {
    links[i] = {byte_ids_[static_cast<unsigned char>(piece[i])], i == 0 ? none : i - 1,
                i + 1 == count ? none : i + 1, rank_of_bytes(piece, i)};
    if (links[i].rank != no_rank) sorted.push_back(candidate_of({links[i].rank, i}));
  }
  sort_by_rank(sorted);
  candidate_queue queue;

  const auto renew = [&](std::uint32_t i) {
    link& l = links[i];
    l.rank = l.after == none ? no_rank : rank_of(l.token, links[l.after].token);
    if (l.rank != no_rank) queue.push(candidate_of({l.rank, i}));
  };
  const auto merge = [&](candidate top) {
    const auto i = static_cast<std::uint32_t>(top);
    link& left = links[i];
    if (left.rank != top >> 32) return;
    link& right = links[left.after];
    left.token = products_[left.rank];
    right.rank = no_rank;
    left.after = right.after;
    if (left.after != none) links[left.after].before = i;
    renew(i);
    if (left.before != none) renew(left.before);
  };
  sorted.push_back(candidate_queue::none);
  for (auto next = sorted.begin();;) {
    const candidate lowest = std::min(*next, queue.lowest());
    if (lowest == candidate_queue::none) break;
    lowest == *next ? void(++next) : queue.pop();
    merge(lowest);
  }
  for (std::uint32_t i = 0; i != none; i = links[i].after) out.push_back(links[i].token);
}

}  // namespace glimmer
