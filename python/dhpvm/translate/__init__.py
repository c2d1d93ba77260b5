# SPDX-License-Identifier: Apache-2.0
"""Functions of Python translated into the language, as text with a map of lines.

`unit.translate(function, types)` is the way in. types.py has what Python and NumPy say about types, scopes.py which
variables belong to an iteration of a parallel loop, expressions.py, calls.py and statements.py with assignments.py and
loops.py the translation itself. Arrays: views.py has their elements under other indices, elementwise.py the expressions
of whole arrays, kernels.py the functions with loops that compute them, whole.py and products.py which there are.
parameters.py and records.py take apart what the language does not have. library.py knows the functions of NumPy that
array_functions.py and number_functions.py have in Python.
"""
