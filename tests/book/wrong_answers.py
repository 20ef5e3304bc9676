"""Wrong answers to an exercise: its own solution, with one thing changed."""

import ast
import copy
from collections.abc import Iterator

SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.Gt,
    ast.LtE: ast.Lt,
    ast.BitAnd: ast.BitOr,
}


def change(node: ast.AST) -> bool:
    """Change this one piece of code, if there is a way that readers err."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        node.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        node.ops[0] = SWAPPED[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node.op = ast.UAdd()
    elif isinstance(node, ast.Call) and len(node.keywords) > 1:
        node.keywords.pop()
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        node.args[:2] = node.args[1::-1]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value += 1
    else:
        return False
    return True


def wrong_answers(solution: str) -> Iterator[str]:
    """The solution with one thing changed, then with its result of another kind."""
    tree = ast.parse(solution)
    for place in range(sum(1 for _ in ast.walk(tree))):
        other = copy.deepcopy(tree)
        node = next(n for k, n in enumerate(ast.walk(other)) if k == place)
        if change(node):
            yield ast.unparse(other)
    for result in ("jax.tree.map(lambda y: y[None], {})", "({}, 0)", "str({})"):
        other = copy.deepcopy(tree)
        for node in ast.walk(other):
            if isinstance(node, ast.Return) and node.value:
                text = result.format(ast.unparse(node.value))
                node.value = ast.parse(text, mode="eval").body
        yield ast.unparse(other)
