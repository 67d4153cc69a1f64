"""What is read: sources, labelled rows, the vocabulary, and the archive that training reads."""
