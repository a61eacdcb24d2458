#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/channel.hpp"
#include "parsers/tool_catalog.hpp"

namespace glimmer {

/// One complete call as written.
struct raw_invoke {
  struct parameter {
    std::string key;
    std::string value;
  };
  std::string name;                       ///< resolved if anything declared fits
  const tool_definition* tool = nullptr;  ///< null when undeclared
  std::vector<parameter> parameters;      ///< in order, repeated keys included
};

/// What a tool message holds.
struct scanned_body {
  std::vector<raw_invoke> invokes;
  bool has_opener = false;     ///< an invoke was begun, complete or not
  std::size_t block_end = 0;   ///< behind the last closer of a block
  std::size_t rest_begin = 0;  ///< behind the last complete call and its block's closer
  std::size_t rest_end = 0;    ///< where a broken call begins, else the end
};

/// Who a body is addressed to and how it ended.
struct body_context {
  const tool_catalog* tools = nullptr;
  std::string_view recipient;  ///< empty when untagged
  body_end end = body_end::closed;
};

/// Finds the calls of a body. A closer inside a value counts only if a legal continuation follows;
/// an unclosed parameter ends the scan. Linear in the body.
scanned_body scan_invokes(const tool_body& body, const body_context& context);

/// There is a call, and every call is to a declared tool.
bool holds_declared_calls(const scanned_body& found);

/// The first `bytes` of `body` end behind a block's closer that is no part of a value.
bool ends_with_block(const tool_body& body, std::size_t bytes, const body_context& context);

}  // namespace glimmer
