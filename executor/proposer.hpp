#pragma once

#include "base/result.hpp"
#include "scheduler/draft.hpp"

namespace glimmer {

/// Whatever proposes tokens between two steps: the draft head, or a test's oracle. Never runs at
/// the same time as a step; the thread may be another one.
class proposer {
 public:
  virtual ~proposer() = default;

  /// Writes context rows and proposes. Fails when the device failed; text never depends on it.
  virtual result<draft_result> run(const draft_plan& plan) = 0;
};

}  // namespace glimmer
