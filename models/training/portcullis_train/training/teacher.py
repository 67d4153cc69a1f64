"""A larger net to learn from: all-mpnet-base-v2 (12 layers, 768 wide) behind the interface of `Screener`.

It reads the student's token ids: both vocabularies are BERT's WordPiece, so an id is translated by its piece, and a piece that
the teacher lacks (other languages) is its `<unk>`. So teacher and student see the same windows, and the teacher's opinion of a
window is a target for the student. English only.
"""

import hashlib
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from .net import mean_of, peak_of

WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
FROZEN = 4
SPECIAL = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "[UNK]", "[MASK]": "<mask>"}


class Teacher(nn.Module):
    """Gives `logit` per text and `token_logits` per token, like `Screener`."""

    def __init__(self, folder: Path, tokenizer: Tokenizer, dropout: float = 0.1) -> None:
        super().__init__()
        from transformers import AutoModel

        weights = folder / "model.safetensors"
        if hashlib.sha256(weights.read_bytes()).hexdigest() != WEIGHTS_SHA256:
            raise ValueError(f"{weights} is not all-mpnet-base-v2: its sha256 differs from {WEIGHTS_SHA256}")
        self.encoder = AutoModel.from_pretrained(folder, attn_implementation="eager")
        for part in [self.encoder.embeddings, *self.encoder.encoder.layer[:FROZEN]]:
            part.requires_grad_(False)
        own = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
        self.unknown = own["[UNK]"]
        table = torch.full((tokenizer.get_vocab_size(),), self.unknown)
        for piece, number in tokenizer.get_vocab().items():
            table[number] = own.get(SPECIAL.get(piece, piece), self.unknown)
        self.register_buffer("table", table, persistent=False)
        width = self.encoder.config.hidden_size
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(2 * width, 1)
        self.token_head = nn.Linear(width, 1)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        x = self.encoder(input_ids=self.table[ids], attention_mask=mask).last_hidden_state.float()
        return self.head(self.dropout(torch.cat([mean_of(x, mask), peak_of(x, mask)], 1))).squeeze(1), self.token_head(self.dropout(x)).squeeze(2)
