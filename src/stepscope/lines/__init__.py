"""What a log format is made of and what a single line can be; `formats/` holds the formats themselves."""
