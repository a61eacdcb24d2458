#include "protocol/openai/models_list.hpp"

#include "base/json.hpp"

namespace glimmer {

std::string models_body(std::span<const model_entry> models) {
  std::string out;
  json_writer w{out};
  w.begin_object().key("object").string("list").key("data").begin_array();
  for (const auto& model : models) {
    w.begin_object().key("id").string(model.id).key("object").string("model");
    w.key("created").integer(model.created).key("owned_by").string("glimmer");
    w.key("root").string(model.root).key("parent").null();
    w.key("max_model_len").unsigned_integer(model.context_tokens);
    w.key("permission").begin_array().end_array().end_object();
  }
  w.end_array().end_object();
  return out;
}

std::string version_body(std::string_view version) {
  std::string out;
  json_writer{out}.begin_object().key("version").string(version).end_object();
  return out;
}

}  // namespace glimmer
