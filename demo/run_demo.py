# SPDX-License-Identifier: Apache-2.0
"""The demonstration: image filters on photographs, and a small network on handwritten digits.

Every operator is a comprehension compiled by tensorc; results are compared with NumPy.
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_sample_image
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from tensorc import Tensorc

HERE = pathlib.Path(__file__).resolve().parent


def image_chain_reference(image, g):
    """The same filters in float64 NumPy."""
    gray = image.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
    k = len(g)
    padded = np.pad(gray, ((0, 0), (k // 2, k // 2)), mode="edge")
    horizontal = sum(padded[:, i : i + gray.shape[1]] * g[i] for i in range(k))
    padded = np.pad(horizontal, ((k // 2, k // 2), (0, 0)), mode="edge")
    blurred = sum(padded[i : i + gray.shape[0]] * g[i] for i in range(k))
    sharp = np.clip(gray + 1.5 * (gray - blurred), 0, 1)
    s = sharp
    dx = s[:-2, 2:] - s[:-2, :-2] + 2 * (s[1:-1, 2:] - s[1:-1, :-2]) + s[2:, 2:] - s[2:, :-2]
    dy = s[2:, :-2] - s[:-2, :-2] + 2 * (s[2:, 1:-1] - s[:-2, 1:-1]) + s[2:, 2:] - s[:-2, 2:]
    return {"gray": gray, "blurred": blurred, "sharp": sharp, "edges": np.hypot(dx, dy)}


def warm_us(call, repetitions=9):
    """Median time of a call that was made before, in microseconds."""
    spent = []
    for _ in range(repetitions):
        start = time.perf_counter()
        call()
        spent.append((time.perf_counter() - start) * 1e6)
    return statistics.median(spent)


def times(report):
    """What the first call of a program takes beyond a warm one is its compilation, unless the cache has it."""
    made = {"miss": "compiled", "disk": "loaded from the cache", "memory": "kept in memory"}[report["cache"]]
    count = report["kernels"]
    return f"{count} kernel{'' if count == 1 else 's'}, {made} in {report['compile_ms']:.0f} ms, then {report['call_us']:.0f} us a warm call"


def run_images(tensorc, folder):
    offsets = np.arange(7) - 3
    g = np.exp(-0.5 * (offsets / 1.5) ** 2)
    g = (g / g.sum()).astype(np.float32)
    print("image filters (grey, blur, unsharp mask, Sobel), float32")
    for name in ("china.jpg", "flower.jpg"):
        image = load_sample_image(name).astype(np.float32) / 255
        reference = image_chain_reference(image, g)
        numpy_us = warm_us(lambda: image_chain_reference(image, g))
        outputs, report = tensorc.run(HERE / "image_chain.tc", "image_chain", {"image": image, "g": g}, list(reference))
        error = max(float(np.abs(outputs[key] - reference[key]).max()) for key in reference)
        print(
            f"  {name}: {image.shape[0]}x{image.shape[1]}  {times(report)}; NumPy in float64 {numpy_us:.0f} us a warm call;"
            f" largest difference {error:.1e}"
        )
        if not error < 1e-4:
            raise SystemExit(f"{name}: the result differs from the reference")
        edges = np.clip(outputs["edges"] * 255, 0, 255).astype(np.uint8)
        Image.fromarray(edges).save(folder / name.replace(".jpg", "_edges.png"))
    print(f"  edge images are in {folder}")


def run_network(tensorc):
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)
    filters = np.random.default_rng(0).normal(size=(16, 3, 3)).astype(np.float32)
    pooled, _ = tensorc.run(HERE / "network.tc", "features", {"image": images, "filter": filters}, ["pooled"], verify=True)
    flat = pooled["pooled"].reshape(len(images), -1)
    train, test, train_label, test_label = train_test_split(np.arange(len(images)), digits.target, test_size=0.25, random_state=0)
    # Trained until the loss stops falling.
    model = MLPClassifier((64,), max_iter=2000, random_state=0).fit(flat[train], train_label)
    (w1, w2), (b1, b2) = (
        [part.astype(np.float32) for part in model.coefs_],
        [part.astype(np.float32) for part in model.intercepts_],
    )
    weights = {"filter": filters, "W1": w1.reshape(*pooled["pooled"].shape[1:], -1), "b1": b1, "W2": w2, "b2": b2}
    outputs, report = tensorc.run(
        HERE / "network.tc", "network", {"image": images[test], **weights}, ["probability", "prediction"], verify=True
    )
    accuracy = float((outputs["prediction"] == test_label).mean())
    reference = model.predict_proba(flat[test])
    error = float(np.abs(outputs["probability"] - reference).max())
    print("network on handwritten digits (convolution, ReLU, pooling, two layers, softmax, argmax), float32")
    print(
        f"  {len(test)} test images  {times(report)}; accuracy {100 * accuracy:.1f}%;"
        f" largest difference to scikit-learn {error:.1e}; verified against the interpreter: {'yes' if report['verify']['ok'] else 'no'}"
    )
    if accuracy < 0.95 or not error < 1e-3:
        raise SystemExit("the network's result is not right")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tensorc", default="build/bin/tensorc")
    parser.add_argument("--out", default="build/demo", help="folder for the pictures")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    tensorc = Tensorc(arguments.tensorc)
    run_images(tensorc, folder)
    run_network(tensorc)
    return 0


if __name__ == "__main__":
    sys.exit(main())
