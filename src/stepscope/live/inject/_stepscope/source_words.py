"""What the text around a line of a training program says that it is: part of an evaluation, or of a save.

Hand-written loops often have neither in a function. What encloses the line speaks for itself all the same: a loop over
the validation loader, a loop without gradients, `with timer("checkpoint")`, a `with` in which something is saved, `if
step % save_interval == 0`, the call of a package's `evaluate` or `savez`, the next round of a loop that draws batches.
Only the text is read, nothing of it is run; the innermost construct that says something counts, up to the function
around it.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

# Longer files are none that somebody wrote by hand, and reading them takes a while.
_MOST_BYTES = 500_000
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_EVALUATION = re.compile(r"(eval|evaluat\w*|val|valid|validat\w*|test|testing|heldout)(set|loader|dl|ds|data|iter)?$")
_CHECKPOINT = re.compile(r"(save|saves|saving|checkpoint\w*|ckpt|ckpts|snapshot)$")
# Functions that save.
SAVES = re.compile(
    r"_*(async_|maybe_|do_)?(save(?!_(for_backward|hyperparam|fig|image|plot|metric|log|graph|args|sample|predict|stat))"
    r"(_|$)|savez|(dump|write|store|export)_(checkpoint|ckpt|snapshot|weights))"
)
# Calls of packages that evaluate, by the name of a function or of a method.
_EVALUATES = re.compile(r"(evaluate|validate|eval_\w+|evaluate_\w+|validate_\w+|cross_val_\w+)$")
_SCORES = re.compile(r"(score|predict|predict_proba|test)$")
# Methods that hand out a batch, of what is named for holding them.
_HANDS_OUT, _HOLDERS = {"get", "next", "sample", "pop"}, re.compile(r"(\w*loader|queue|iterator|prefetcher|stream)$")
# A name with one of these is about evaluations or saves and is none; or makes something without gradients.
_ABOUT = re.compile(
    r"(load\w*|\w*loader|data|dataset|set|split|config|args|batch|build|make|create|init|setup|prepare|parse|is|has|should"
    r"|log|plot|update|on|from|resume|restore|find|get|latest|read|path|name|dir|list|delete|remove)$"
)
_OUTPUT = re.compile(r"(sampl(e|es|ing)|generat(e|ion)|visuali[sz]e|plot|draw|render|preview)$")
_ENVIRONMENT = re.compile(r"env(s|ironment|ironments)?\.step$")
_NO_GRADIENTS = ("no_grad", "inference_mode")
# Of writers of any object, those with which models are written.
_PICKLES = ("pickle", "cloudpickle", "dill", "joblib")
# Calls that test a model with one batch, and those that train it.
_TESTS, _TRAINS = {"test_on_batch", "predict_on_batch"}, {"train_on_batch", "backward", "fit", "train_step"}
_OUTCOMES = (4, 5)  # what a step of an environment gives back
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def kind_at(file: str, line: int, *, conditions: bool = True) -> str | None:
    """ "evaluation", "checkpoint" or "data" where the text around a line says so, else None.

    conditions
        Whether `if step % save_interval == 0` says it as well: what such a block holds may be more than that.
    """
    tree = _parsed(file)
    return _kind(tree, line, conditions=conditions) if tree is not None else None


@functools.lru_cache(maxsize=64)
def _parsed(file: str) -> ast.Module | None:
    try:
        with open(file, "rb") as source:
            data = source.read(_MOST_BYTES + 1)
        return ast.parse(data) if len(data) <= _MOST_BYTES else None
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None  # gone, no text of Python, or one that our own version cannot read


def _kind(tree: ast.Module, line: int, *, conditions: bool) -> str | None:
    around = list(_enclosing(tree, line))
    inner = max((place for place, node in enumerate(around) if isinstance(node, _FUNCTIONS)), default=0)
    makes_output = _makes_output(around[inner])
    called = _called(around[-1], line)
    if called is not None and called != "data":
        return called
    is_now_and_then = any(_is_now_and_then(node, line) for node in around[inner:])
    for node in reversed(around[inner:]):
        found = _said(node, line, conditions=conditions)
        if found is None and is_now_and_then and isinstance(node, _LOOPS) and _plays(node):
            found = "evaluation"
        if found is not None:
            return None if makes_output and found == "evaluation" else found
    return called


def _makes_output(node: ast.AST) -> bool:
    """Whether a function makes samples or pictures: it has no gradients either, and is no evaluation."""
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    return is_function and any(_OUTPUT.match(word.lower()) for word in _WORDS.findall(getattr(node, "name", "")))


def kind_of_name(name: str) -> str | None:
    """What the words in the name of a function of the program's own say: `compute_val_loss`, `snapshot`."""
    words = [word.lower() for word in _WORDS.findall(name)]
    is_decided = bool(words) and words[0] == "save"  # `SAVES` knows what is saved
    return None if is_decided or any(_ABOUT.match(word) for word in words) else _kind_of(name)


def _called(node: ast.AST, line: int) -> str | None:
    """What a statement calls: a package's way to evaluate, to save, or to hand out the next batch."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return ("evaluation" if _evaluates(node) else "data") if line < node.body[0].lineno else None
    if not isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)):
        return None
    for call in _calls(node):
        owner, _, name = ast.unparse(call.func).rpartition(".")
        if _is_save(call):
            return "checkpoint"
        if _EVALUATES.match(name) or (owner and _SCORES.match(name)):
            return "evaluation"
        if (name == "next" and not owner) or (name in _HANDS_OUT and _HOLDERS.match(owner.rpartition(".")[2].lower())):
            return "data"
    return "evaluation" if any(_kind_of(text) == "evaluation" for text in _comprehended(node)) else None


def _comprehended(node: ast.AST) -> Iterator[str]:
    """What the comprehensions of a statement go over."""
    return (ast.unparse(child.iter) for child in ast.walk(node) if isinstance(child, ast.comprehension))


def _enclosing(node: ast.AST, line: int) -> Iterator[ast.AST]:
    """The constructs around a line, from the outermost to the innermost."""
    while True:
        yield node
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt) and child.lineno <= line <= (child.end_lineno or child.lineno):
                node = child
                break
        else:
            return


def _said(node: ast.AST, line: int, *, conditions: bool) -> str | None:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        text = " ".join(ast.unparse(item.context_expr) for item in node.items)
        found = _kind_of(text) or ("evaluation" if _is_without_gradients(text) and _tries(node) else None)
        return found or ("checkpoint" if _has_saved(node, line) else None)
    if isinstance(node, (ast.For, ast.AsyncFor)) and _is_in(node.body, line):
        return "evaluation" if _evaluates(node) else None
    if conditions and _is_now_and_then(node, line) and isinstance(node, ast.If):
        return _kind_of(ast.unparse(node.test))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        text = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
        return "evaluation" if _is_without_gradients(text) and _tries(node) else None
    return None


def _kind_of(text: str) -> str | None:
    """The kind whose words a text has; None for both and for neither."""
    words = [word.lower() for word in _WORDS.findall(text)]
    evaluates = any(_EVALUATION.match(word) for word in words)
    saves = any(_CHECKPOINT.match(word) for word in words)
    if evaluates == saves:
        return None
    return "evaluation" if evaluates else "checkpoint"


def _is_without_gradients(text: str) -> bool:
    return any(word in text for word in _NO_GRADIENTS)


def _has_saved(node: ast.With | ast.AsyncWith, line: int) -> bool:
    """Whether a block, of statements without a loop, saves something at this line or has done so before it."""
    if _has_loop(node):
        return False
    return any(own.lineno <= line and any(_is_save(call) for call in _calls(own)) for own in node.body)


def _is_save(call: ast.Call) -> bool:
    owner, _, name = ast.unparse(call.func).rpartition(".")
    return bool(SAVES.match(name)) or (name == "dump" and owner.rpartition(".")[2] in _PICKLES)


def _evaluates(node: ast.For | ast.AsyncFor) -> bool:
    return _kind_of(ast.unparse(node.iter)) == "evaluation" or _tests_batches(node) or _tries_batches(node)


def _tries_batches(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop goes through its batches without gradients, and trains with none of them."""
    blocks = [own for own in node.body if isinstance(own, ast.With)]
    if not any(_is_without_gradients(ast.unparse(item.context_expr)) for own in blocks for item in own.items):
        return False
    names = {ast.unparse(call.func).rpartition(".")[2] for call in _calls(node)}
    return not names & {*_TRAINS, "step"}


def _tests_batches(node: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop tests its batches and trains with none of them."""
    names = {ast.unparse(call.func).rpartition(".")[2] for call in _calls(node)}
    return bool(names & _TESTS) and not names & _TRAINS


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (child for child in ast.walk(node) if isinstance(child, ast.Call))


def _has_loop(node: ast.AST) -> bool:
    """Over batches: a single action or a step of an average takes no loop."""
    return any(isinstance(child, _LOOPS) for child in ast.walk(node))


def _tries(node: ast.AST) -> bool:
    """Whether what has no gradients goes over batches, and does not act in an environment to learn from that."""
    return _has_loop(node) and not any(_ENVIRONMENT.search(ast.unparse(call.func)) for call in _calls(node))


def _plays(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether a loop acts in an environment without gradients and trains nothing: to learn from that it is done always,
    and what is done now and then is an evaluation.
    """
    names = {ast.unparse(call.func).rpartition(".")[2] for call in _calls(node)}
    blocks = (child for child in ast.walk(node) if isinstance(child, ast.With))
    has_block = any(_is_without_gradients(ast.unparse(item.context_expr)) for own in blocks for item in own.items)
    return has_block and not names & _TRAINS and any(_is_move(child) for child in ast.walk(node))


def _is_move(node: ast.AST) -> bool:
    """`observation, reward, done, info = env.step(action)`, whatever they are called."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    target, call = node.targets[0], node.value
    is_step = isinstance(call.func, ast.Attribute) and call.func.attr == "step" and bool(call.args)
    return is_step and isinstance(target, ast.Tuple) and len(target.elts) in _OUTCOMES


def _is_now_and_then(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.If) and _is_in(node.body, line) and _has_remainder(node.test)


def _has_remainder(test: ast.expr) -> bool:
    """`step % interval`: a condition that holds now and then, not a mode of the program."""
    return any(isinstance(child, ast.BinOp) and isinstance(child.op, ast.Mod) for child in ast.walk(test))


def _is_in(body: list[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)
