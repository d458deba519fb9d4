"""Writes the README's examples to a folder: example.c, example.cpp, example.py."""

import pathlib
import re
import sys

readme, folder = map(pathlib.Path, sys.argv[1:])
suffix = {"c": ".c", "cpp": ".cpp", "python": ".py"}
for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", readme.read_text(), re.M | re.S):
    if language in suffix:
        (folder / ("example" + suffix[language])).write_text(text)
