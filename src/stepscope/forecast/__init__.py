"""When it will be done: a time and an interval, or the reason there is none."""
