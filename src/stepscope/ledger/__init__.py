"""Where the time went: Run → Ledger. `attribute.py` adds up; its neighbours each answer one question for it."""
