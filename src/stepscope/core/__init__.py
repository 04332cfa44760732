"""What every stage uses: errors, messages, units, settings, the clock. Imports nothing of ours and no NumPy."""
