#!/usr/bin/env python3
"""Shows that the simulation can fail: plants one fault at a time and expects worlds and houses to
complain. Usage: mutations.py SOURCE_ROOT BUILD_FOLDER [NAME]

BUILD_FOLDER holds a built test_simulation; only the faulty file is compiled anew. Not part of the
tests, because each fault costs a compilation. Prints one line per fault and ends with the number
that nobody noticed.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

# name, file (of scheduler/ where no folder is named), the honest text, the planted fault
FAULTS = [
    ("blocks of an ended sequence are kept", "scheduler.cpp",
     "  blocks_.release_all(s.blocks);\n  if (s.on_executor) dropped_.push_back(s.id);\n  sequences_",
     "  if (s.on_executor) dropped_.push_back(s.id);\n  sequences_"),
    ("a block is freed while others use it", "block_pool.cpp",
     "if (--self.references > 0) return;", "self.references = 0;"),
    ("a fork shares blocks without counting", "block_manager.cpp",
     "      mine.blocks.push_back(theirs.blocks[block - theirs.first_block]);\n"
     "      pools_[index_of(group)].share(mine.blocks.back());",
     "      mine.blocks.push_back(theirs.blocks[block - theirs.first_block]);"),
    ("a shared block is written without a copy", "block_manager.cpp",
     "references(held.blocks[block - held.first_block]) > 1;",
     "references(held.blocks[block - held.first_block]) > 1000;"),
    ("the copy is not told to the executor", "block_manager.cpp",
     "      copies.push_back({.group = group, .from = entry, .to = own});\n", ""),
    ("the window is one position too short", "block_manager.cpp",
     "(position - config_.window + 1) / config_.block_size",
     "(position - config_.window + 2) / config_.block_size"),
    ("the window is one position too long", "block_manager.cpp",
     "(position - config_.window + 1) / config_.block_size",
     "(position - config_.window) / config_.block_size"),
    ("a cancel during a step is lost", "scheduler.cpp",
     "  auto* s = find(id);\n  if (!s) return 0;",
     "  auto* s = find(id);\n  if (!s || s->in_step) return 0;"),
    ("an ending is told twice", "scheduler.cpp",
     "  queues_.leave(s);\n  if (!s.in_step && !s.in_draft) retire(s);",
     "  queues_.leave(s);\n  if (s.in_step) finished_.push_back(finished_.back());\n"
     "  if (!s.in_step && !s.in_draft) retire(s);"),
    ("blocks of a step in flight are freed at once", "scheduler.cpp",
     "  if (!s.in_step && !s.in_draft) retire(s);",
     "  if (s.in_step) blocks_.release_all(s.blocks);\n  else if (!s.in_draft) retire(s);"),
    ("a preempted sequence keeps its count of computed tokens", "scheduler.cpp",
     "  blocks_.release_all(s.blocks);\n  s.computed = 0;", "  blocks_.release_all(s.blocks);"),
    ("the executor is not told of a dropped sampler", "scheduler.cpp",
     "  if (s.on_executor) dropped_.push_back(s.id);\n  s.on_executor = false;",
     "  s.on_executor = false;"),
    ("a parked sequence is never cancelled", "scheduler.cpp",
     "while (!queues_.parked().empty() &&", "while (false && !queues_.parked().empty() &&"),
    ("deadlines are ignored", "scheduler.cpp",
     "while (!deadlines_.empty() &&", "while (false && !deadlines_.empty() &&"),
    ("a full window does not park", "scheduler_commit.cpp",
     "if (s.window == 0) queues_.park(s, now);", ""),
    ("a grant does not wake", "scheduler.cpp",
     "if (s->state == sequence_state::parked) queues_.wait(*s);", ""),
    ("stop strings bill one token too many", "scheduler.cpp",
     "std::min(have, output_index + 1)", "std::min(have, output_index + 2)"),
    ("min_tokens is off by one", "stop.cpp",
     "output_index >= rules.params->min_tokens", "output_index + 1 >= rules.params->min_tokens"),
    ("max_tokens is off by one", "stop.cpp",
     "output_index + 1 >= rules.output_max", "output_index >= rules.output_max"),
    ("followers are forgotten when their leader ends", "scheduler.cpp",
     "  hand_over(s);\n", ""),
    ("a follower skips the last prompt token", "scheduler.cpp",
     "  const auto shared = s.prompt_size() - 1;", "  const auto shared = s.prompt_size();"),
    ("nobody yields when blocks run out", "scheduler_plan.cpp",
     "auto* victim = queues_.victim_for(s);", "sequence* victim = nullptr;"),
    ("an evicted block is still known", "block_manager.cpp",
     "if (taken.evicted) tree_.forget(group, taken.id);", ""),
    ("a prefix is used without its sliding window", "block_manager.cpp",
     "if (windowed < block + 1 - first) continue;", ""),
    ("a hit covers the whole prompt", "block_manager.cpp",
     "(tokens.size() - 1) / size", "tokens.size() / size"),
    ("blocks are known before they are computed", "scheduler_commit.cpp",
     "std::min(s.computed, s.total())", "s.total()"),
    ("a used block is evicted", "block_pool.cpp",
     "  if (self.where == place::cached) {\n    unlink(index(id));\n    self.where = place::used;\n  }\n"
     "  ++self.references;", "  ++self.references;"),
    ("a restarted executor is trusted with its old contents", "scheduler_commit.cpp",
     "  blocks_.forget_unused();\n", ""),
    ("prompt logprobs are told twice", "scheduler_commit.cpp",
     "if (token < s.prompt_told ||", "if ("),
    ("a step has more rows than it may", "step_budget.cpp",
     "const auto more = std::min(demand.tokens - demand.granted, left);",
     "const auto more = demand.tokens - demand.granted;"),
    ("more sequences run than there are slots", "scheduler_plan.cpp",
     "queues_.running().size() < config_.max_num_seqs;",
     "queues_.running().size() <= config_.max_num_seqs;"),
    ("context rows of rejected drafts are written", "scheduler_draft.cpp",
     "const auto end = std::min(s.computed, rows.position + rows.count);",
     "const auto end = rows.position + rows.count;"),
    ("head rows are believed that were never written", "scheduler_draft.cpp",
     "  ++counters_.drafting.plans_given_up;\n  settle_draft();",
     "  for (auto& r : drafted_) blocks_.note_head_rows(r.owner->blocks, {r.position, r.position + "
     "r.count});\n  settle_draft();"),
    ("a block keeps the head rows of its last user", "block_manager.cpp",
     "if (group == kv_group::sliding) head_rows_.clear(taken.id);", ""),
    ("a copied block forgets what its copy lacks", "scheduler_draft.cpp",
     "       .valid_from = valid_from,", "       .valid_from = window_begin,"),
    ("blocks pass before the drafter has seen them", "scheduler_commit.cpp",
     "if (!s.in_draft) blocks_.release_passed", "blocks_.release_passed"),
    ("drafts outlive a preemption", "scheduler.cpp", "  s.drafts.clear();\n", ""),
    ("one draft too many is verified", "scheduler_draft.cpp",
     "left - 1, s.window - 1", "left, s.window"),
    ("drafts follow a prompt that others share", "scheduler_draft.cpp",
     "if (s.output.empty() || ", "if ("),
    ("absurd proposals are verified", "scheduler_draft.cpp",
     "return token < 0 || token >= config_.drafting.vocab_size;", "return token < -1;"),
    ("queued tokens are not given back", "scheduler.cpp",
     "      queue_.tokens -= s.queued_tokens;\n", ""),
    # ---- beyond the scheduler ------------------------------------------------------------------
    ("a cancel that came too early is not repeated", "engine/front_desk.cpp",
     "      cancel(piece.request, asked, asked.ends.value_or(cancel_reason::gone));\n", ""),
    ("tokens for a client that has gone are not given back", "engine/front_desk.cpp",
     "    windows_.insert(windows_.end(), piece.stands_for.begin(), piece.stands_for.end());\n"
     "    if (piece.last)", "    if (piece.last)"),
    ("a request that ended keeps its credit", "engine/front_desk.cpp",
     "if (requests_.erase(request) > 0) free_credit();", "requests_.erase(request);"),
    ("tokens are given back each time something is written", "engine/front_desk.cpp",
     "  marks.erase(marks.begin(), open);\n", ""),
    ("only the first who waits at the gate is served", "engine/front_desk_control.cpp",
     "while (!gates_.empty() && (credits_.idle()", "if (!gates_.empty() && (credits_.idle()"),
    ("what the pool said once is believed for ever", "engine/front_desk_control.cpp",
     " && now - *pool_empty_at_ < word_of_pool_holds", ""),
    ("a client that leaves at the gate keeps its credit", "engine/front_desk.cpp",
     "  release_credit(at);\n  if (!at.request) return;", "  if (!at.request) return;"),
    ("credits that were returned are kept too", "engine/credit_pool.cpp",
     "  held_ -= back;\n", ""),
    ("held tokens keep their window", "engine/answer_desk.cpp",
     "    mail_.windows.insert(mail_.windows.end(), at.stands_for.begin(), at.stands_for.end());\n"
     "    at.stands_for.clear();", "    at.stands_for.clear();"),
    ("tokens behind the end that was found are shown", "engine/answer_desk.cpp",
     "if (one.found_end || at.failed) return;", "if (at.failed) return;"),
    ("an answer ends when its first choice does", "engine/answer_desk.cpp",
     "  if (at.left > 0) {\n", "  if (at.left > 8) {\n"),
    ("a body that comes in pieces loses one", "protocol/http_connection.cpp",
     "if (phase_ == phase::body) body_ += parser_.data();",
     "if (phase_ == phase::body && body_read_ != 77) body_ += parser_.data();"),
]

COMPILE = ["g++", "-std=c++23", "-O1", "-DBOOST_TEST_DYN_LINK", "-Wno-unused", "-I."]


def link_command(build):
    """How the honest program is linked."""
    told = subprocess.run(["ninja", "-C", build, "-t", "commands", "tests/simulation/test_simulation"],
                          capture_output=True, text=True, check=True).stdout
    return shlex.split(next(line for line in reversed(told.splitlines())
                            if "-o tests/simulation/test_simulation" in line))


def notices(root, build, link, fault, work):
    """Whether the simulation complains; None when the honest text is not there."""
    _, file, old, new = fault
    path = root / (file if "/" in file else f"scheduler/{file}")
    text = path.read_text()
    if text.count(old) != 1:
        return None
    planted = work / f"planted_{path.name}"
    planted.write_text(text.replace(old, new))
    subprocess.run(COMPILE + ["-c", planted, "-o", work / "planted.o"], cwd=root, check=True)
    command = [str(work / "worlds") if word == "tests/simulation/test_simulation" else word
               for word in link]
    command.insert(1, str(work / "planted.o"))  # before the library that holds the honest one
    subprocess.run(command, cwd=build, check=True)
    try:
        return subprocess.run([work / "worlds"], capture_output=True, timeout=100,
                              env=dict(os.environ, GLIMMER_SEEDS="300")).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    link = link_command(build)
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        for fault in FAULTS:
            if only not in fault[0]:
                continue
            found = notices(root, build, link, fault, pathlib.Path(folder))
            word = "STALE" if found is None else "noticed" if found else "UNNOTICED"
            print(f"{word:10} {fault[0]}", flush=True)
            unnoticed += not found
    print(f"{unnoticed} unnoticed")
    sys.exit(unnoticed > 0)


main()
