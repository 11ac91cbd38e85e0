# SPDX-License-Identifier: Apache-2.0
"""Text in, text out through the command line. Parameters: tensorc, filecheck, exec_root (see CMakeLists.txt)."""

import os
import platform

import lit.formats

config.name = "tensor_comprehensions"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tc", ".tile", ".kernel", ".sched"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]
# A named architecture, so that every machine chooses the same vectors, tiles and tasks.
config.substitutions += [
    ("%compile", f"{lit_config.params['tensorc']} compile --arch x86-64-v3"),
    ("%gpu", f"{lit_config.params['tensorc']} compile --arch sm_90a"),
    ("%check", f"{lit_config.params['filecheck']} --dump-input=fail"),
]
config.environment["TC_CACHE"] = "off"
# Machine code is made for the processor family that LLVM was built for.
if platform.machine() in ("x86_64", "AMD64"):
    config.available_features.add("x86")
