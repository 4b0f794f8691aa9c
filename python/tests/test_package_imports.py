# SPDX-License-Identifier: BSD-3-Clause
"""Modules of the packages import each other without a circle, also within functions and for type annotations."""

import ast
import pathlib
import unittest

import plumbline


def imports(file, modules):
    """Of a module, those of its own package."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level == 1 or node.module == file.parent.name):
            names = [node.module] if node.level and node.module else [alias.name for alias in node.names]
            yield from (name for name in names if name in modules)


def circle(edges):
    """A path that ends where it begins, or None."""
    done = set()

    def walk(module, path):
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        found = next(filter(None, (walk(one, [*path, module]) for one in edges[module])), None)
        done.add(module)
        return found

    return next(filter(None, (walk(module, []) for module in edges)), None)


class ImportsTest(unittest.TestCase):
    def test_no_module_imports_itself_by_way_of_others(self):
        package = pathlib.Path(plumbline.__file__).parent
        for folder in (package, package.with_name("plumbline_witness")):
            if folder.is_dir():  # the wheel has the first alone
                files = {file.stem: file for file in folder.glob("*.py")}
                edges = {name: sorted(imports(file, files)) for name, file in files.items()}
                self.assertGreater(sum(map(len, edges.values())), len(files) // 2)
                self.assertIsNone(circle(edges))

    def test_a_circle_is_found(self):
        self.assertEqual(circle({"a": ["b", "c"], "b": [], "c": ["d"], "d": ["c"]}), ["c", "d", "c"])


if __name__ == "__main__":
    unittest.main()
