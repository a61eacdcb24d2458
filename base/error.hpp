#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glimmer {

/// Whose fault an error is. `protocol` turns the kind (and the code) into a status.
enum class error_kind : std::uint8_t {
  bad_request,  ///< what the client sent is wrong, and will be wrong again
  not_found,    ///< the thing named in the request does not exist
  overloaded,   ///< no room now; the same request may pass later
  unavailable,  ///< loading, draining or gone
  device,       ///< the device refused: out of memory, launch failure, lost
  bug,          ///< our own mistake
};

std::string_view to_string(error_kind kind);

/// One failure as a value. `text` is a sentence that names what is wrong and what is allowed; it
/// never carries addresses, paths of the server's internals or text of a prompt.
struct error {
  error_kind kind = error_kind::bug;
  std::string code;   ///< stable word for programs, e.g. "context_length_exceeded"; may be empty
  std::string param;  ///< path of the offending field, e.g. "messages[2].content"; may be empty
  std::string text;
};

/// A value of the wrong type, range or shape in a request.
error bad_value(std::string_view param, std::string text);

}  // namespace glimmer
