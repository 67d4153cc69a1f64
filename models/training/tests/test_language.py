"""Whether a window is English, and what its logit loses for it."""

from pathlib import Path

import numpy as np
import torch

from portcullis_train.text.encode import encode, load_tokenizer
from portcullis_train.training.language import ENGLISH, OFFSET, LanguageOffset, training_samples
from portcullis_train.training.net import Screener, padded
from portcullis_train.training.ngrams import HashedNgrams, fit

TOKENIZER = load_tokenizer(Path(__file__).resolve().parent.parent.parent / "portcullis-minilm-1" / "tokenizer.json")
ENGLISH_TEXT = "The meeting was moved to Tuesday because the room is being painted, so please tell the others. "
GERMAN_TEXT = "Die Besprechung wurde auf Dienstag verschoben, weil der Raum gestrichen wird; bitte sag den anderen Bescheid. "


def fitted() -> HashedNgrams:
    rows = [{"text": text * 3, "lang": lang} for text, lang in ((ENGLISH_TEXT, "en"), (GERMAN_TEXT, "de")) for _ in range(40)]
    model = HashedNgrams(1 << 12)
    fit(model, training_samples(rows, TOKENIZER, 1), 3, 0.2, 1)
    return model


def test_a_language_does_not_prevail_by_its_texts():
    rows = [{"text": GERMAN_TEXT, "lang": "de"}] * 1000 + [{"text": ENGLISH_TEXT, "lang": "en"}] * 500
    samples = training_samples(rows, TOKENIZER, 1)
    assert ENGLISH >= 500
    assert (sum(sample.label for sample in samples), sum(1 - sample.label for sample in samples)) == (800, 1000)


def test_the_offset_is_taken_from_texts_in_other_languages_alone():
    torch.manual_seed(3)
    net = Screener(TOKENIZER.get_vocab_size()).eval()
    texts = [encode(TOKENIZER, text) for text in (ENGLISH_TEXT, GERMAN_TEXT)]
    language = LanguageOffset(fitted())
    with torch.no_grad():
        plain = net(*padded(texts), torch.zeros(len(texts), dtype=torch.long))[0].numpy()
        net.language = language
        lost = plain - net(*padded(texts), torch.zeros(len(texts), dtype=torch.long))[0].numpy()
    assert lost[0] < 0.1 * OFFSET
    assert lost[1] > 0.9 * OFFSET
    assert np.all(lost <= OFFSET + 1e-6)
