"""Record batches, format 2."""
