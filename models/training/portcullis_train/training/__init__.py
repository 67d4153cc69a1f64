"""What is learnt: the encoder and the linear models beside it."""
