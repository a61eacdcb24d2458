#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace glimmer {

/// An integer that cannot be mistaken for another kind of id.
template <class Tag, class Rep = std::uint64_t>
struct strong_id {
  Rep value{};
  friend constexpr auto operator<=>(strong_id, strong_id) = default;
};

/// What a client asked; given by the frontend, unique in the process. It has one sequence per
/// choice.
using request_id = strong_id<struct request_tag>;
/// One token stream with KV; given by the scheduler's caller, unique per engine epoch.
using sequence_id = strong_id<struct sequence_tag>;
/// One executor step; counts up from 1.
using step_id = strong_id<struct step_tag>;
/// Changes when an executor, drafter or scheduler is replaced; late messages are known by it.
using engine_epoch = strong_id<struct epoch_tag, std::uint32_t>;

/// Index into the vocabulary. Plain, because it travels in bulk and to devices.
using token_id = std::int32_t;
/// Index of a block within the pool of one KV group. Plain for the same reason.
using block_id = std::int32_t;

}  // namespace glimmer

template <class Tag, class Rep>
struct std::hash<glimmer::strong_id<Tag, Rep>> {
  std::size_t operator()(glimmer::strong_id<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
