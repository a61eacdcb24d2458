/* The same in C: waits until the engine is ready, streams an answer, cancels another in the middle,
 * submits a bad request, drains.
 *
 *     embed_c MODEL [flags of glimmerd]
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "glimmer/glimmer.h"

#define STREAM(max_tokens)                                                            \
  "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello there\"}], \"stream\": " \
  "true, \"seed\": 7, \"ignore_eos\": true, \"max_tokens\": " max_tokens "}"

/* One answer as it comes; the engine's thread writes, the main thread waits. */
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int status;
  int parts;
  int last;
  char bytes[1 << 16];
  size_t size;
} answer;

static void begin(answer* to) {
  memset(to, 0, sizeof *to);
  pthread_mutex_init(&to->mutex, NULL);
  pthread_cond_init(&to->changed, NULL);
}

static void on_part(void* user, int status, const char* bytes, size_t size, int last) {
  answer* to = user;
  pthread_mutex_lock(&to->mutex);
  const size_t room = sizeof to->bytes - 1 - to->size;
  const size_t kept = size < room ? size : room;
  memcpy(to->bytes + to->size, bytes, kept);
  to->size += kept;
  to->status = status;
  to->parts += 1;
  to->last += last;
  pthread_cond_signal(&to->changed);
  pthread_mutex_unlock(&to->mutex);
}

/* Until the answer has so many parts or its end. */
static void wait_parts(answer* from, int parts) {
  pthread_mutex_lock(&from->mutex);
  while (from->parts < parts && !from->last) pthread_cond_wait(&from->changed, &from->mutex);
  pthread_mutex_unlock(&from->mutex);
}

static void wait_last(answer* from) {
  pthread_mutex_lock(&from->mutex);
  while (!from->last) pthread_cond_wait(&from->changed, &from->mutex);
  pthread_mutex_unlock(&from->mutex);
}

static void expect(int truth, const char* what) {
  if (truth) return;
  fprintf(stderr, "embed_c: %s\n", what);
  exit(1);
}

static answer first, unwanted, bad;

int main(int argc, char** argv) {
  char why[256];
  const char* wrong[] = {"--no-such-flag"};
  expect(glimmer_load(1, wrong, why, sizeof why) == NULL, "a wrong flag is refused");
  expect(strstr(why, "--no-such-flag") != NULL, "a refusal says why");

  glimmer_engine* engine = glimmer_load(argc - 1, (const char* const*)(argv + 1), why, sizeof why);
  expect(engine != NULL, why);
  expect(glimmer_wait_ready(engine) == 0, "the engine becomes ready");

  begin(&first);
  glimmer_submit(engine, STREAM("24"), on_part, &first);
  wait_last(&first);
  expect(first.status == 200, "a chat is answered with 200");
  expect(strncmp(first.bytes, "data: {", 7) == 0, "an answer begins with an event");
  expect(strstr(first.bytes, "data: [DONE]\n\n") != NULL, "an answer ends whole");

  begin(&unwanted);
  const uint64_t request = glimmer_submit(engine, STREAM("4000"), on_part, &unwanted);
  wait_parts(&unwanted, 3);
  glimmer_cancel(engine, request);
  wait_last(&unwanted);
  expect(strstr(unwanted.bytes, "[DONE]") == NULL, "a cancelled answer ends early");

  begin(&bad);
  glimmer_submit(engine, "{\"messages\": [], \"temperature\": \"warm\"}", on_part, &bad);
  wait_last(&bad);
  expect(bad.status == 400, "a bad request is refused");
  expect(strstr(bad.bytes, "temperature") != NULL, "a refusal names the field");

  glimmer_drain(engine);
  const int exit_code = glimmer_wait_end(engine);
  glimmer_free(engine);
  expect(first.last == 1 && unwanted.last == 1 && bad.last == 1, "every answer has one end");
  printf("glimmer %s ended with %d\n", glimmer_version_text(), exit_code);
  return exit_code;
}
