#pragma once

#include <uv.h>

namespace glimmer::detail {

/// The only way a handle of this room ends: it leaves its owner, is closed once, and is freed by
/// the loop after its close callback. `State` has the handle as member `handle`, whose `data`
/// points back.
template <class State>
void close_and_free(State* state) {
  uv_close(reinterpret_cast<uv_handle_t*>(&state->handle),
           [](uv_handle_t* closed) { delete static_cast<State*>(closed->data); });
}

}  // namespace glimmer::detail
