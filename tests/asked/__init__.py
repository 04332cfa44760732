"""Questions that people asked with a piece of a log, and what a good answer to each says."""
