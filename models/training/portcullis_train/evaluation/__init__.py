"""What a released model finds and blocks, and comparisons."""
