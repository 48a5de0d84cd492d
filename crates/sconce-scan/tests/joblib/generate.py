#!/usr/bin/env python3
"""Writes the files of joblib beside this script. Needs joblib and numpy; scikit-learn is not needed.

    python3 generate.py
"""
import os

import joblib
import numpy

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Call:
    def __reduce__(self):
        return os.getcwd, ()


def main():
    numbers = {"weights": numpy.arange(12.0).reshape(3, 4), "counts": numpy.asfortranarray(numpy.eye(3, dtype="i4")),
               "names": numpy.array(["a", "bcd"]), "after": [1, 2]}
    nodes = numpy.zeros(3, dtype=[("left", "<i8"), ("value", "<f8", (2,))])
    objects = numpy.array([{"a": 1}, None], dtype=object)
    for name, value, options in [
        ("numbers", numbers, {}),
        ("packed", numbers, {"compress": 3}),
        ("fields", {"nodes": nodes, "after": "x"}, {}),
        ("objects", [objects, numpy.ones(2)], {}),
        ("call_in_objects", [numpy.array([Call(), 1], dtype=object), numpy.ones(2)], {}),
        ("call_behind", [numpy.ones(2), Call()], {}),
    ]:
        joblib.dump(value, os.path.join(FOLDER, name + ".joblib"), **options)


if __name__ == "__main__":
    main()
