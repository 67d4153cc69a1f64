"""Text as the tokenizer and the model take it."""
