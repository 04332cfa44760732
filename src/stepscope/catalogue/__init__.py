"""Which format wrote a file: the formats there are, their order, those that a user or another package adds."""
