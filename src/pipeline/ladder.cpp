#include "pipeline/ladder.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/instr.h"
#include "flow/cfg.h"
#include "flow/resumed.h"
#include "flow/straighten.h"
#include "lift/lifted.h"
#include "pipeline/comments.h"
#include "pipeline/front.h"
#include "pipeline/reading.h"
#include "rewrite/rebuilt.h"
#include "rewrite/rewrite.h"
#include "simplify/simplify.h"
#include "structure/parts.h"
#include "structure/structure.h"
#include "support/error.h"

namespace depyf {

namespace {

constexpr const char* kLastRung = "the last rung of the ladder was asked for";

/// Which instructions are read: those of the code object, or what straighten() makes of them.
enum class Order : std::uint8_t { Given, Straightened };

class Ladder {
 public:
  Ladder(Ast& ast, CodeId code, const DecompileOptions& options, std::uint32_t indentation)
      : ast_(ast),
        module_(*ast.module),
        code_(code),
        options_(options),
        indentation_(indentation),
        rung_(options.ladder),
        dynamo_(is_dynamos(module_, code, options)),
        noted_(ast.diagnostics.size()) {
    if (code.index < options.fallbacks.size()) {
      const Fallback& fallback = options.fallbacks[code.index];
      if (fallback.rung > rung_) {
        rung_ = fallback.rung;
        reason_ = fallback.reason;
        no_loop_ = code == module_.root && rung_ >= 6;
      }
    }
    // Where this fails, each reading fails with the same words.
    failure_of([&] { list_ = decode(module_, code_); });
    junk_ = !dynamo_ && !list_.instrs.empty() && has_junk(module_, list_);
  }

  void descend() {
    go_down();
    if (swallowing_left_out_)
      place_comment(ast_, code_,
                    "Left out: what torch's own beginning does where a context manager swallows an "
                    "exception.\nPython's stack is not as deep there as torch takes it to be.");
  }

  bool is_straightened() const { return order_ == Order::Straightened; }

 private:
  bool is_torchs() const { return dynamo_ || swallowing_left_out_; }

  void go_down() {
    if (rung_ < 5 &&
        (in_either_order({}) || (sound_ && !is_torchs() && (with_loops_once() || around_parts()))))
      return;
    if ((rung_ >= 5 || sound_) && as_dispatch()) {
      if (!no_loop_) return;
      forget();
    }
    if (!sound_ && !swallowing_left_out_ && drop_swallowing(module_, code_, list_)) {
      swallowing_left_out_ = true;
      reason_.clear();
      return go_down();
    }
    swallowing_left_out_ = false;
    last_resort();
  }

  /// A form of the whole body: plain statements or, where `unstructured` says why there are none, a
  /// dispatch loop. Code with junk tells nothing by where it stands, and may be wrong of it.
  bool in_either_order(const std::string& unstructured) {
    if (junk_ && read(Order::Straightened, unstructured)) return true;
    if (read(Order::Given, unstructured)) return true;
    return !is_torchs() && !junk_ && read(Order::Straightened, unstructured);
  }

  /// The plain readings, with loops that never come around where only their `break` expresses a
  /// jump: of such a loop the bytecode has nothing but the jump.
  bool with_loops_once() {
    if (!lacks_loops_) return false;
    const std::string reason = reason_;
    makes_loops_ = true;
    const bool made = in_either_order({});
    makes_loops_ = false;
    reason_ = reason;
    return made;
  }

  /// make_body(), again for each loop that is found to be missing. The failure.
  std::string attempt(Reading& reading, const std::string& unstructured) {
    loops_.clear();
    while (true) {
      const std::size_t made = loops_.size();
      const std::string failure = failure_of([&] { make_body(reading, unstructured); });
      if (failure.empty() || loops_.size() == made) return failure;
      lacks_loops_ = true;
      if (!makes_loops_) return failure;
      forget();
    }
  }

  /// All readings of the instructions in one order, until one of them is a body.
  bool read(Order order, const std::string& unstructured) {
    order_ = order;
    const bool given = order == Order::Given, plain = unstructured.empty();
    // What is straightened may be sound where junk hides what a stage looks for.
    const bool was_sound = !given && sound_;
    Reading reading;
    reading.straightened = !given;
    reading.keep(kLayout, given);
    reading.keep(kUnreached, plain && !dynamo_ && given);
    std::string failure, first_failure;
    for (bool more = true; more;) {
      failure = attempt(reading, unstructured);
      if (failure.empty()) {
        if (plain && !reading.is_first())
          ast_.diagnostics.push_back(
              {Diagnostic::Note, kOtherReading, code_, 0, "read " + reading.text()});
        return true;
      }
      forget();
      if (!plain) break;
      if (reading.decided) failure = first_failure;
      if (sound_ && !reading.decided && !reading.has(kUnreached) && !dynamo_) {
        first_failure = failure;
        reading.decided = true;
      } else {
        reading.decided = false;
        more = reading.drop_hint(sound_);
      }
    }
    order_ = Order::Given;
    sound_ |= was_sound;
    // Where the plain form was given up for a reason, nobody asked.
    if (given && (reason_.empty() || failure != kLastRung))
      reason_ += (reason_.empty() ? "" : "; ") + failure;
    return false;
  }

  /// One reading, through all stages up to final statements. Throws Error where a stage does.
  void make_body(Reading& reading, const std::string& unstructured) {
    if (list_.instrs.empty()) list_ = decode(module_, code_);
    Lifted lifted = lift_body(module_, code_, list_, sound_, reading);
    // A rebuilt module would hide everything in it.
    if (rung_ == kRebuildsModule || (rung_ > 5 && (options_.function || code_ != module_.root)))
      throw UnusualCode(kLastRung);
    if (dynamo_) simplify(lifted, module_, simplify_options(dynamo_, options_));
    // No compiler makes them, and where they are in the way nobody wrote them.
    if (reading.decided && !take_decided_branches(lifted, module_))
      throw Error("no branch on constants is in the way");
    StructureOptions structuring = structure_options(dynamo_, options_);
    structuring.layout_tells = reading.has(kLayout);
    structuring.joins_ends = reading.has(kCopies);
    structuring.loops = &loops_;
    structuring.makes_loops = makes_loops_;
    if (unstructured.empty())
      structure(lifted, ast_, structuring);
    else
      structure_as_dispatch(lifted, ast_, structuring, unstructured);
    finish();
  }

  /// Plain structure around dispatch loops for those parts of the body that have none.
  bool around_parts() {
    for (const Order order : {Order::Straightened, Order::Given}) {
      order_ = order;
      if (!around_parts_of(order)) continue;
      place_comment(ast_, code_,
                    "depyf found no statements for parts of this code, which are loops "
                    "over their blocks:\n" +
                        reason_);
      return true;
    }
    return false;
  }

  bool around_parts_of(Order order) {
    const bool given = order == Order::Given;
    InstrList instrs = list_;
    if (!given && !failure_of([&] { instrs = straightened_list(module_, list_); }).empty())
      return false;
    const auto lift_again = [&] {
      Cfg cfg = build_cfg(module_, code_, instrs, false);
      if (!given) forget_layout(cfg);
      Lifted lifted = lift(module_, code_, cfg);
      lifted.elses.clear();
      return lifted;
    };
    StructureOptions structuring = structure_options(dynamo_, options_);
    const auto with = [&](std::span<const Part> parts) {
      for (const bool layout : {true, false}) {
        forget();
        structuring.layout_tells = structuring.joins_ends = layout;
        const std::string failure = failure_of([&] {
          structure_around(parts, lift_again, ast_, structuring, reason_);
          finish();
        });
        if (failure.empty()) return true;
      }
      return false;
    };
    std::vector<Part> parts;
    const std::string failure = failure_of([&] {
      Lifted lifted = lift_again();
      parts = find_parts(lifted, module_, with);
    });
    if (failure.empty() && !parts.empty() && with(parts)) return true;
    forget();
    return false;
  }

  bool as_dispatch() {
    const std::string why = reason_.empty() ? "the dispatch loop was asked for" : reason_;
    if (!in_either_order(why)) return false;
    if (!dynamo_)
      place_comment(ast_, code_,
                    "depyf found no statements for this code and writes it as a loop over its "
                    "blocks:\n" +
                        why);
    return true;
  }

  /// The body rebuilt from its bytes. Damaged bytecode must not run: a body that raises takes its
  /// place.
  void last_resort() {
    Diagnostic diagnostic;
    diagnostic.code = code_;
    const std::string broken = sound_ ? failure_of([&] {
      try {
        rebuild(ast_, code_, reason_);
      } catch (const UnusualCode&) {
        diagnostic.level = 6;
        throw;
      }
    })
                                      : "the bytecode is damaged";
    if (broken.empty()) {
      diagnostic.kind = Diagnostic::Ladder;
      diagnostic.level = 6;
      diagnostic.message = reason_;
    } else {
      const std::string both = sound_ ? reason_ + "; " + broken : reason_;
      if (options_.strict && diagnostic.level == 0)
        throw Error(code_path(module_, code_) + ": " + both);
      diagnostic.kind = Diagnostic::BrokenCode;
      diagnostic.message = both;
      place_failure(ast_, code_, both);
    }
    ast_.diagnostics.push_back(std::move(diagnostic));
  }

  void finish() {
    check_nesting(ast_, code_, indentation_);
    rewrite(ast_, code_);
  }

  void forget() { take_back(ast_, code_, noted_); }

  Ast& ast_;
  Module& module_;
  const CodeId code_;
  const DecompileOptions& options_;
  const std::uint32_t indentation_;
  std::uint8_t rung_;  // the first one that is tried
  const bool dynamo_;
  const std::size_t noted_;  // so many diagnostics are those of other code objects
  InstrList list_;
  bool junk_ = false;
  bool no_loop_ = false;              // of a module whose dispatch loop does not compile
  bool sound_ = false;                // CPython can run the bytecode
  bool swallowing_left_out_ = false;  // drop_swallowing() changed the instructions
  std::string reason_;                // why the rungs above were given up
  Order order_ = Order::Given;
  std::vector<LoopOnce> loops_;  // StructureOptions::loops
  bool lacks_loops_ = false, makes_loops_ = false;
};

}  // namespace

bool decompile_code(Ast& ast, CodeId code, const DecompileOptions& options,
                    std::uint32_t indentation) {
  Ladder ladder(ast, code, options, indentation);
  ladder.descend();
  return ladder.is_straightened();
}

}  // namespace depyf
