# SPDX-License-Identifier: Apache-2.0
"""Functions of Python translated into the language, as text with a map of lines.

`unit.translate(function, types)` is the way in. types.py has what Python and NumPy say about types, scopes.py which
variables belong to an iteration of a parallel loop, expressions.py, calls.py and statements.py with assignments.py and
loops.py the translation itself. Arrays: views.py has their elements under other indices, elementwise.py the expressions
of whole arrays, kernels.py the functions with loops that compute them, whole.py and products.py which there are,
reductions.py the calls that combine elements. parameters.py and records.py take apart what the language does not have.
functions.py calls compiled functions, among them those of NumPy that library.py names, and array_functions.py,
number_functions.py, scalar_functions.py, sample_functions.py and turning_functions.py have in Python.

Imports run one way: a module that another one imports, inside of a function as well, does not import that one.
"""
