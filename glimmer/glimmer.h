/* Glimmer's C interface: the whole server inside a C program. All calls are safe from any thread.
 *
 *     char why[256];
 *     const char* flags[] = {"models/glimmer", "--max-num-seqs", "8"};
 *     glimmer_engine* engine = glimmer_load(3, flags, why, sizeof why);
 *     if (engine && glimmer_wait_ready(engine) == 0)
 *       glimmer_submit(engine, "{\"messages\": [...], \"stream\": true}", on_part, my_state);
 */
#ifndef GLIMMER_H
#define GLIMMER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GLIMMER_EXPORT __attribute__((visibility("default")))

typedef struct glimmer_engine glimmer_engine;

/* A piece of an answer: the body bytes that HTTP would carry. `status` is the HTTP status, `bytes`
 * is valid during the call only, `last` is 1 exactly once per request. Called from a thread of the
 * engine: return soon. */
typedef void (*glimmer_on_part)(void* user, int status, const char* bytes, size_t size, int last);

/* Loads a model; `flags` are those of glimmerd's command line, without its name. NULL on failure,
 * then `why` holds one sentence (cut to `why_size`, always terminated). */
GLIMMER_EXPORT glimmer_engine* glimmer_load(int count, const char* const* flags, char* why,
                                            size_t why_size);

/* Waits until requests are served: 0. Or until the engine has ended: its exit code. */
GLIMMER_EXPORT int glimmer_wait_ready(glimmer_engine* engine);

/* Starts one chat request, the body of POST /v1/chat/completions. Returns its number. */
GLIMMER_EXPORT uint64_t glimmer_submit(glimmer_engine* engine, const char* chat_request,
                                       glimmer_on_part on_part, void* user);

/* The answer is not wanted any more: its last part comes soon. Any number of times. */
GLIMMER_EXPORT void glimmer_cancel(glimmer_engine* engine, uint64_t request);

/* New requests are refused, open ones end. A second call cuts them. */
GLIMMER_EXPORT void glimmer_drain(glimmer_engine* engine);

/* Waits until the engine has ended after glimmer_drain (0), was cut (1) or failed (above 1). */
GLIMMER_EXPORT int glimmer_wait_end(glimmer_engine* engine);

/* Frees everything; open requests are cut. NULL is allowed. */
GLIMMER_EXPORT void glimmer_free(glimmer_engine* engine);

/* "0.1.0" */
GLIMMER_EXPORT const char* glimmer_version_text(void);

#ifdef __cplusplus
}
#endif

#endif
