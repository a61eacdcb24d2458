#pragma once

#include "base/result.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// Whatever turns a plan into a result: the executor, or a fake of it in tests.
class stepper {
 public:
  virtual ~stepper() = default;

  /// Runs one step and returns when its tokens are known. Fails when the device failed: then no
  /// sequence of the plan got a token and the contents of all KV blocks are lost.
  virtual result<step_result> run(const step_plan& plan) = 0;
};

}  // namespace glimmer
