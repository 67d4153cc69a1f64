"""Recall on attacks that are attacks on their face."""

import hashlib

import pytest

from portcullis_train.evaluation.faces import FACES, read_faces, recall_on_face


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_sample_of_found_attacks_stands_for_all_of_them() -> None:
    rows = [{"text": text, "label": "injection", "source": "s"} for text in ("a", "b", "c", "d", "e", "f")]
    rows.append({"text": "g", "label": "benign", "source": "s"})
    # Four found, two of them read: one attack, one unclear. Two missed: one attack, one none.
    faces = {key("a"): "attack", key("b"): "unclear", key("e"): "attack", key("f"): "none"}
    found = recall_on_face(rows, [True, True, True, True, False, False, True], faces)
    assert found["s"] == (pytest.approx(4 / 6), pytest.approx(2 / 3))


def test_the_record_names_each_text_once() -> None:
    faces = read_faces(FACES)
    assert len(faces) == len(FACES.read_text().splitlines())
    assert set(faces.values()) == {"attack", "unclear", "none"}
